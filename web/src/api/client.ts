/** Requests to the server. The cookie says who we are; without one the page asks for the token. */
import type { Cluster, ClusterNode, Info, OpenTerminal, Question, Terminal, Workspace } from './types';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Called when the server does not know us (any more). */
let onLogin: () => void = () => undefined;

export function whenLoggedOut(callback: () => void): void {
  onLogin = callback;
}

interface RequestOptions {
  body?: unknown;
  /** Goes on when the page is closed. */
  keepalive?: boolean;
  signal?: AbortSignal;
}

/** Sends a request and reads the JSON of its answer; undefined for an answer without one. */
export async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const response = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: options.body === undefined ? {} : { 'Content-Type': 'application/json' },
    body: options.body === undefined ? null : JSON.stringify(options.body),
    keepalive: options.keepalive ?? false,
    signal: options.signal ?? null,
  });
  if (response.status === 401) onLogin();
  if (!response.ok) throw await errorOf(response);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

async function errorOf(response: Response): Promise<ApiError> {
  try {
    const body = (await response.json()) as { error?: { code?: string; message?: string } };
    const error = body.error ?? {};
    return new ApiError(response.status, error.code ?? 'unknown', error.message ?? response.statusText);
  } catch {
    return new ApiError(response.status, 'unknown', response.statusText);
  }
}

const at = (id: string) => `/api/terminals/${encodeURIComponent(id)}`;
const layoutOf = (workspace: string) => `/api/workspaces/${encodeURIComponent(workspace)}/layout`;

const until = (signal: AbortSignal | undefined): RequestOptions => (signal === undefined ? {} : { signal });

export const api = {
  info: (signal?: AbortSignal) => request<Info>('GET', '/api/info', until(signal)),
  terminals: async (signal?: AbortSignal) =>
    (await request<{ terminals: Terminal[] }>('GET', '/api/terminals', until(signal))).terminals,
  terminal: (id: string) => request<Terminal>('GET', at(id)),
  open: (options: OpenTerminal) => request<Terminal>('POST', '/api/terminals', { body: options }),
  change: (id: string, change: { name?: string | null; paused?: boolean }) =>
    request<Terminal>('PATCH', at(id), { body: change }),
  destroy: (id: string, keepalive = false) => request<void>('DELETE', at(id), { keepalive }),
  workspaces: async (signal?: AbortSignal) =>
    (await request<{ workspaces: Workspace[] }>('GET', '/api/workspaces', until(signal))).workspaces,
  cluster: () => request<Cluster>('GET', '/api/cluster'),
  drainNode: (name: string, draining: boolean) =>
    request<ClusterNode>('POST', `/api/cluster/nodes/${encodeURIComponent(name)}/drain`, { body: { draining } }),
  approvals: async (signal?: AbortSignal) =>
    (await request<{ approvals: Question[] }>('GET', '/api/approvals', until(signal))).approvals,
  layout: async (workspace: string): Promise<unknown> => {
    try {
      return await request<unknown>('GET', layoutOf(workspace));
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  },
  saveLayout: (workspace: string, layout: unknown, keepalive = false) =>
    request<void>('PUT', layoutOf(workspace), { body: layout, keepalive }),
};
