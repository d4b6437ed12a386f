/** What the views ask the server for. */
import { request } from '../../api/client';
import type { Question, Scope } from '../../api/types';

export interface Verdict {
  question: Question;
  outcome: string;
  scope: string;
  by: string;
  at: number;
  note: string;
}

export interface Part {
  start: number;
  end: number;
  verdict: string;
  level: string;
}

export interface Rule {
  id: string;
  decision: 'allow' | 'ask' | 'deny';
  command: string[];
  layer: string;
  origin: string;
  reason: string;
  expires_at: number | null;
  rule: Record<string, unknown>;
}

/** A command that runs, or ran lately. */
export interface LiveCommand {
  id: string;
  command: string;
  terminal: string | null;
  session: string | null;
  workspace: string | null;
  source: 'agent' | 'user';
  state: string;
  exit_code: number | null;
  started_at: number;
  duration_s: number;
}

export interface HistoryEntry {
  command_id: string;
  command: string;
  source: string;
  started_at: number;
  state: string;
  duration_s: number | null;
  exit_code: number | null;
  signal: string | null;
  session: string | null;
  workspace: string | null;
  terminal: string | null;
  shell: string | null;
  cwd: string | null;
  decision: string | null;
  output_bytes: number;
  artifact: string | null;
}

export interface HistoryPage {
  entries: HistoryEntry[];
  next: string | null;
  missing: number;
}

export interface CommandResult {
  id: string;
  command: string;
  session: string | null;
  terminal: string | null;
  state: string;
  exit_code: number | null;
  signal: string | null;
  text: string;
  truncated: boolean;
  total_bytes: number;
  artifact: string | null;
  cwd: string | null;
  duration_s: number;
}

export interface ArtifactPage {
  offset: number;
  text: string;
  line: number;
  starts_inside: boolean;
  next: number | null;
  size: number;
}

export interface ArtifactMatches {
  matches: { line: number; offset: number; text: string }[];
  literal: boolean;
  problem: string | null;
  stopped: string | null;
  next: number | null;
  size: number;
}

export interface Setting {
  name: string;
  value: unknown;
  default: unknown;
  origin: string;
  origin_kind: string;
  explanation: string;
  allowed: string;
  type: 'boolean' | 'integer' | 'number' | 'string' | 'list' | 'table';
  optional: boolean;
  choices: string[] | null;
  least: number | null;
  most: number | null;
  can_change: boolean;
}

export interface Settings {
  config_file: string | null;
  settings: Setting[];
  warnings: string[];
}

export interface Stats {
  uptime_s: number;
  terminals: number;
  running: number;
  viewers: number;
  streams: number;
  sessions: number;
  commands: number;
  commands_per_minute: number[];
  approvals: { pending: number; answered: number };
  memory_bytes: number | null;
  requests: number;
  errors: number;
}

export interface Recording {
  terminal: string;
  title: string | null;
  started_at: number;
  duration_s: number;
  bytes: number;
  cut: boolean;
  is_live: boolean;
}

export interface Token {
  id: string;
  name: string;
  scopes: Scope[];
  created_at: number;
  expires_at: number | null;
}

export interface Session {
  id: string;
  cwd: string | null;
  terminals: number;
  running: number;
}

type Query = Record<string, string | number | boolean | null | undefined>;

/** Writes a query; what is null or undefined is left out. Pure. */
export function queryOf(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

const id = encodeURIComponent;

export const ask = {
  verdicts: async () =>
    (await request<{ history: Verdict[] | null }>('GET', '/api/approvals?history=true')).history ?? [],
  answer: (question: string, body: { answer: string; scope?: string; typed?: string; note?: string }) =>
    request<Verdict>('POST', `/api/approvals/${id(question)}`, { body }),
  parts: async (question: Question) =>
    (
      await request<{ parts: Part[] }>('POST', '/api/check', {
        body: { command: question.line, cwd: question.cwd, shell: question.shell, session: question.session },
      })
    ).parts,
  rules: (query: { session?: string; workspace?: string } = {}) =>
    request<{ rules: Rule[]; problems: string[] }>('GET', `/api/rules${queryOf(query)}`),
  removeRule: (rule: string, query: { session?: string; workspace?: string }) =>
    request<void>('DELETE', `/api/rules/${id(rule)}${queryOf(query)}`),
  sessions: async () => (await request<{ sessions: Session[] }>('GET', '/api/sessions')).sessions,
  commands: async (limit = 200) =>
    (await request<{ commands: LiveCommand[] }>('GET', `/api/commands${queryOf({ limit })}`)).commands,
  command: (command: string) => request<CommandResult>('GET', `/api/commands/${id(command)}`),
  history: (query: Query) => request<HistoryPage>('GET', `/api/history${queryOf(query)}`),
  stop: (command: string, how: 'interrupt' | 'kill') =>
    request<CommandResult>('POST', `/api/commands/${id(command)}/${how}`, { body: { wait_s: 1 } }),
  run: (body: Query) => request<CommandResult>('POST', '/api/run', { body }),
  runIn: (terminal: string, body: Query) =>
    request<CommandResult>('POST', `/api/terminals/${id(terminal)}/commands`, { body }),
  lines: (artifact: string, first: number, count: number) =>
    request<ArtifactPage>('GET', `/api/artifacts/${id(artifact)}/lines${queryOf({ first, count })}`),
  page: (artifact: string, offset: number) =>
    request<ArtifactPage>('GET', `/api/artifacts/${id(artifact)}${queryOf({ offset })}`),
  find: (artifact: string, search: string, offset: number) =>
    request<ArtifactMatches>('GET', `/api/artifacts/${id(artifact)}${queryOf({ search, offset: offset || null })}`),
  settings: () => request<Settings>('GET', '/api/settings'),
  change: (name: string, value: unknown) => request<Settings>('PUT', '/api/settings', { body: { [name]: value } }),
  reset: (name: string) => request<Settings>('DELETE', `/api/settings/${id(name)}`),
  stats: () => request<Stats>('GET', '/api/stats'),
  recordings: async () => (await request<{ recordings: Recording[] }>('GET', '/api/recordings')).recordings,
  tokens: async () => (await request<{ tokens: Token[] }>('GET', '/api/tokens')).tokens,
  newToken: (name: string, scopes: Scope[], expires_in_s: number | null) =>
    request<Token & { token: string }>('POST', '/api/tokens', { body: { name, scopes, expires_in_s } }),
  removeToken: (token: string) => request<void>('DELETE', `/api/tokens/${id(token)}`),
};

export const castUrl = (terminal: string, version: number): string =>
  `/api/recordings/${id(terminal)}.cast${queryOf({ version })}`;

export const rawUrl = (artifact: string, offset: number, limit: number): string =>
  `/api/artifacts/${id(artifact)}${queryOf({ format: 'raw', offset, limit })}`;
