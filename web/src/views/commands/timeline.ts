/** The commands of the list: those that run and those of the past, each once. Pure. */
import type { HistoryEntry, LiveCommand } from '../shared/api';

export interface Entry {
  id: string;
  command: string;
  source: 'agent' | 'user';
  state: string;
  isRunning: boolean;
  exitCode: number | null;
  signal: string | null;
  startedAt: number;
  durationS: number | null;
  session: string | null;
  terminal: string | null;
  workspace: string | null;
  shell: string | null;
  cwd: string | null;
  decision: string | null;
  outputBytes: number | null;
  artifact: string | null;
}

export interface Wanted {
  show: 'all' | 'failed' | 'running';
  session: string;
  terminal: string;
  text: string;
}

const RUNNING = new Set(['running', 'needs_input', 'starting']);

export function ofLive(command: LiveCommand): Entry {
  return {
    id: command.id,
    command: command.command,
    source: command.source,
    state: command.state,
    isRunning: RUNNING.has(command.state),
    exitCode: command.exit_code,
    signal: null,
    startedAt: command.started_at,
    durationS: command.duration_s,
    session: command.session,
    terminal: command.terminal,
    workspace: command.workspace,
    shell: null,
    cwd: null,
    decision: null,
    outputBytes: null,
    artifact: null,
  };
}

export function ofHistory(entry: HistoryEntry): Entry {
  return {
    id: entry.command_id,
    command: entry.command,
    source: entry.source === 'user' ? 'user' : 'agent',
    state: entry.state,
    isRunning: RUNNING.has(entry.state),
    exitCode: entry.exit_code,
    signal: entry.signal,
    startedAt: entry.started_at,
    durationS: entry.duration_s,
    session: entry.session,
    terminal: entry.terminal,
    workspace: entry.workspace,
    shell: entry.shell,
    cwd: entry.cwd,
    decision: entry.decision,
    outputBytes: entry.output_bytes,
    artifact: entry.artifact,
  };
}

export function hasFailed(entry: Entry): boolean {
  return !entry.isRunning && ((entry.exitCode ?? 0) !== 0 || entry.signal !== null || entry.state !== 'done');
}

/** Puts what runs and what ran into one list, the newest first. What the past knows of a command that is over counts. */
export function merged(live: readonly LiveCommand[], past: readonly HistoryEntry[], wanted: Wanted): Entry[] {
  const entries = new Map<string, Entry>();
  for (const each of past) entries.set(each.command_id, ofHistory(each));
  const oldest = past.length === 0 ? -Infinity : Math.min(...past.map((each) => each.started_at));
  for (const each of live) {
    const entry = ofLive(each);
    const known = entries.get(each.id);
    // The past may have more pages: what is older than this one belongs to those.
    if (entry.isRunning) entries.set(each.id, { ...(known ?? entry), state: entry.state, isRunning: true, durationS: null });
    else if (known === undefined && each.started_at >= oldest) entries.set(each.id, entry);
  }
  return [...entries.values()].filter((each) => fits(each, wanted)).sort((a, b) => b.startedAt - a.startedAt);
}

export function fits(entry: Entry, wanted: Wanted): boolean {
  const text = wanted.text.trim().toLowerCase();
  return (
    (wanted.show === 'all' || (wanted.show === 'failed' ? hasFailed(entry) : entry.isRunning)) &&
    (wanted.session === '' || entry.session === wanted.session) &&
    (wanted.terminal === '' || entry.terminal === wanted.terminal) &&
    (text === '' || entry.command.toLowerCase().includes(text))
  );
}

/** The last lines of an output, for a preview. */
export function tail(text: string, most: number): { text: string; isCut: boolean } {
  const lines = text.replace(/\n+$/, '').split('\n');
  return { text: lines.slice(-most).join('\n'), isCut: lines.length > most };
}
