import { request, save } from './request';
import type { Cluster, Event, Host, ImageState, InfraEnv, LoginMethods, Machine, Me, NewMachine, Validation } from './types';

/** Most events that are read at once. */
const MOST_EVENTS = 5000;

const post = { method: 'POST' };

/** The operations that the UI's own pages use. */
export const api = {
  clusters: (signal?: AbortSignal) => request<Cluster[]>('/v2/clusters', { signal }),
  cluster: (id: string, signal?: AbortSignal) => request<Cluster>(`/v2/clusters/${id}`, { signal }),
  cancel: (id: string) => request<Cluster>(`/v2/clusters/${id}/actions/cancel`, post),
  reset: (id: string) => request<Cluster>(`/v2/clusters/${id}/actions/reset`, post),
  clusterValidations: (id: string, signal?: AbortSignal) =>
    request<Validation[]>(`/v2/clusters/${id}/validations`, { signal }),
  hostValidations: ({ id, infra_env_id }: Host, signal?: AbortSignal) =>
    request<Validation[]>(`/v2/infra-envs/${infra_env_id}/hosts/${id}/validations`, { signal }),
  events: (clusterId: string, signal?: AbortSignal) =>
    request<Event[]>(`/v2/events?cluster_id=${clusterId}&order=descending&limit=${MOST_EVENTS}`, { signal }),
  saveLogs: (id: string) => save(`/v2/clusters/${id}/logs?logs_type=all`, 'logs.tar.gz'),
  saveKubeconfig: (id: string) =>
    save(`/v2/clusters/${id}/downloads/credentials?file_name=kubeconfig`, 'kubeconfig'),
  infraEnvs: (signal?: AbortSignal) => request<InfraEnv[]>('/v2/infra-envs', { signal }),
  imageUrl: (id: string) => request<{ url: string }>(`/v2/infra-envs/${id}/downloads/image-url`),
  imageState: (id: string, signal?: AbortSignal) =>
    request<ImageState>(`/v2/infra-envs/${id}/downloads/image-state`, { signal }),

  machines: (signal?: AbortSignal) => request<Machine[]>('/v2/machines', { signal }),
  machine: (id: string, signal?: AbortSignal) => request<Machine>(`/v2/machines/${id}`, { signal }),
  addMachine: (body: NewMachine) => request<Machine>('/v2/machines', { ...post, body }),
  removeMachine: (id: string) => request<void>(`/v2/machines/${id}`, { method: 'DELETE' }),
  switchMachine: (id: string, power: 'on' | 'off' | 'reset') =>
    request<Machine>(`/v2/machines/${id}/actions/power`, { ...post, body: { power } }),
  bootMachine: (id: string, infraEnv: string) =>
    request<Machine>(`/v2/machines/${id}/actions/boot`, { ...post, body: { infra_env_id: infraEnv } }),

  loginMethods: () => request<LoginMethods>('/auth/methods', { isLogin: true }),
  me: () => request<Me>('/auth/me', { isLogin: true }),
  login: (name: string, password: string) =>
    request<unknown>('/auth/login', { ...post, body: { name, password, cookie: true }, isLogin: true }),
  setUp: (code: string, name: string, password: string) =>
    request<unknown>('/auth/setup', { ...post, body: { code, name, password, cookie: true }, isLogin: true }),
  logout: () => request<void>('/auth/logout', { ...post, isLogin: true }),
};

/** Where a browser goes to log in by the identity provider. */
export const PROVIDER_LOGIN = '/api/assisted-install/auth/oidc/login';
