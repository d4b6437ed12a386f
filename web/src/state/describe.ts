/** How terminals are called and what they do, in words. Pure. */
import type { Terminal } from '../api/types';
import { t } from '../i18n';
import { seen } from '../ui/unseen';

/** The name that a person gave, else what runs or where it is. */
export function nameOf(terminal: Terminal): string {
  return terminal.name === null ? `${terminal.shell} ${terminal.number}` : seen(terminal.name);
}

/** Makes a directory short for people: the home as `~`, and the last parts of a long one. */
export function shortPath(path: string | null, longest = 32): string {
  if (path === null) return '';
  const home = seen(path).replace(/^\/(?:home\/[^/]+|root|Users\/[^/]+)(?=\/|$)/, '~');
  if (home.length <= longest) return home;
  const parts = home.split('/');
  let short = parts.pop() ?? '';
  while (parts.length > 0) {
    const longer = `${parts[parts.length - 1] ?? ''}/${short}`;
    if (longer.length > longest - 2) break;
    short = longer;
    parts.pop();
  }
  return `…/${short}`;
}

export type Status =
  | { kind: 'running'; since: number; command: string | null }
  | { kind: 'input'; command: string | null }
  | { kind: 'idle' }
  | { kind: 'failed'; code: number }
  | { kind: 'exited' };

export function statusOf(terminal: Terminal, isWaiting: boolean): Status {
  if (terminal.state === 'exited') return { kind: 'exited' };
  if (terminal.command !== null) {
    if (isWaiting) return { kind: 'input', command: terminal.command.command };
    return { kind: 'running', since: terminal.command.started_at, command: terminal.command.command };
  }
  const code = terminal.last?.exit_code ?? 0;
  return code === 0 ? { kind: 'idle' } : { kind: 'failed', code };
}

export function statusWords(status: Status): string {
  switch (status.kind) {
    case 'running':
      return t.running;
    case 'input':
      return t.needsInput;
    case 'idle':
      return t.idle;
    case 'failed':
      return t.lastFailed(status.code);
    case 'exited':
      return t.exited;
  }
}

/** Writes a duration as a clock: 0:07, 12:30, 1:02:03. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const pad = (value: number) => String(value).padStart(2, '0');
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`;
}
