/** A text that holds JSON, read; nothing where it holds none. */
export function parsed<T>(text: string | undefined): T | undefined {
  if (!text) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}
