/** Where the REST API is: always at the origin of the page. */
export const BASE = '/api/assisted-install';

const LIMIT_MS = 60_000;

/** What went wrong with a request. Status 0: there was no answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Address of a section that explains it, at the service. */
    readonly help?: string,
  ) {
    super(message);
  }
}

/** What went wrong, for a person: a text, and where it stands what to do. */
export interface Told {
  text: string;
  help?: string | undefined;
}

type SignedOut = () => void;
let signedOut: SignedOut = () => undefined;

/** Sets what is done when the service knows the person no longer. */
export function onSignedOut(action: SignedOut) {
  signedOut = action;
}

/** To be called for an answer with status 401, whoever has asked. */
export function tellSignedOut() {
  signedOut();
}

interface Options {
  method?: string;
  body?: unknown;
  signal?: AbortSignal;
  /** A refused log-in is no end of a session. */
  isLogin?: boolean;
}

async function send(path: string, { method = 'GET', body, signal, isLogin = false }: Options): Promise<Response> {
  const limit = AbortSignal.timeout(LIMIT_MS);
  let answer: Response;
  try {
    answer = await fetch(BASE + path, {
      method,
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      credentials: 'same-origin',
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'The service can not be reached.');
  }
  if (answer.ok) return answer;
  if (answer.status === 401 && !isLogin) tellSignedOut();
  throw new ApiError(answer.status, await reason(answer), helpOf(answer.headers.get('Link')));
}

/** Where an answer with this header `Link` is explained: at a page of the service itself, and nowhere else. */
export function helpOf(link: string | null | undefined): string | undefined {
  return /^<(\/docs\/[a-z]+#[a-z0-9-]+)>; rel="help"/.exec(link ?? '')?.[1];
}

/** The reason in an answer that is an error. */
async function reason(answer: Response): Promise<string> {
  const text = await answer.text().catch(() => '');
  try {
    const body = JSON.parse(text) as { reason?: string; message?: string };
    return body.reason ?? body.message ?? text;
  } catch {
    return text || `The service answers ${answer.status}.`;
  }
}

/** Asks the API; the answer's JSON, or nothing where the answer is empty. */
export async function request<T>(path: string, options: Options = {}): Promise<T> {
  const text = await (await send(path, options)).text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Saves a file of the API. What goes wrong is an error here, not a page of the browser's. */
export async function save(path: string, fallbackName: string) {
  const answer = await send(path, {});
  const named = /filename="([^"]+)"/.exec(answer.headers.get('Content-Disposition') ?? '');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await answer.blob());
  link.download = named?.[1] ?? fallbackName;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** What a person is told of whatever was thrown. */
export function toldOf(error: unknown): Told {
  return { text: textOf(error), help: error instanceof ApiError ? error.help : undefined };
}

/** The text for a person of whatever was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
