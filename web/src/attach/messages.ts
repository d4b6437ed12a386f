/** The control messages of the attach protocol, and how they are read. */

export type ServerMessage =
  | {
      type: 'hello';
      terminal: string;
      offset: number;
      cols: number;
      rows: number;
      replay: 'bytes' | 'snapshot' | 'none';
      viewer?: number;
      may_type?: boolean;
    }
  | { type: 'reset'; offset: number }
  | { type: 'snapshot'; bytes: number }
  | { type: 'resize'; cols: number; rows: number; by?: string | null }
  | CommandNotice
  | CommandMark
  | { type: 'cwd'; cwd: string }
  | { type: 'title'; title: string }
  | { type: 'viewers'; count: number }
  | { type: 'typist'; name: string; viewer?: number }
  | { type: 'lock'; locked: boolean; by?: string | null }
  | { type: 'paused'; by?: string | null }
  | { type: 'exit'; reason?: string; exit_code?: number | null }
  | { type: 'error'; code: string; message: string }
  | { type: 'pong' };

export interface CommandNotice {
  type: 'command';
  event: 'started' | 'ended';
  id: string;
  command: string | null;
  source: string;
  offset: number;
  exit_code?: number | null;
}

/** A command in what a snapshot has painted: its output starts and ends so many rows above that of the cursor. */
export interface CommandMark {
  type: 'mark';
  id: string;
  command: string | null;
  source: string;
  above: number;
  column: number;
  running: boolean;
  exit_code?: number | null;
  end_above?: number | null;
  end_column?: number;
}

export type ClientMessage =
  | { type: 'resize'; cols: number; rows: number }
  | { type: 'ack'; offset: number }
  | { type: 'ping' }
  | { type: 'lock'; locked: boolean }
  | { type: 'visible'; visible: boolean };

/** What a message must have to be understood. Fields that are not listed may be missing. */
type Kind = 'string' | 'number' | 'boolean' | readonly string[];
const REQUIRED: { [K in ServerMessage['type']]: Record<string, Kind> } = {
  hello: { terminal: 'string', offset: 'number', cols: 'number', rows: 'number', replay: ['bytes', 'snapshot', 'none'] },
  reset: { offset: 'number' },
  snapshot: { bytes: 'number' },
  resize: { cols: 'number', rows: 'number' },
  command: { event: ['started', 'ended'], id: 'string', offset: 'number' },
  mark: { id: 'string', above: 'number', column: 'number', running: 'boolean' },
  cwd: { cwd: 'string' },
  title: { title: 'string' },
  viewers: { count: 'number' },
  typist: { name: 'string' },
  lock: { locked: 'boolean' },
  paused: {},
  exit: {},
  error: { code: 'string', message: 'string' },
  pong: {},
};

/** Reads a control message; null for one that is not known or not whole, which is to be ignored. */
export function parseServer(text: string): ServerMessage | null {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return null;
  const message = found as Record<string, unknown>;
  const type = message['type'];
  if (typeof type !== 'string' || !Object.hasOwn(REQUIRED, type)) return null;
  const required = REQUIRED[type as ServerMessage['type']];
  for (const [name, kind] of Object.entries(required)) {
    const value = message[name];
    if (typeof kind === 'string' ? typeof value !== kind : !kind.includes(value as string)) return null;
  }
  return message as ServerMessage;
}
