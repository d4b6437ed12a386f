/**
 * What the server has: terminals, questions, workspaces. Filled from the API and kept up to date by its events.
 *
 * Events carry whole terminals, so applying one twice, or one that the first answer knew already, changes nothing.
 */
import type { Info, Question, ServerEvent, Terminal, Workspace } from '../api/types';

export interface State {
  info: Info | null;
  terminals: ReadonlyMap<string, Terminal>;
  questions: ReadonlyMap<string, Question>;
  workspaces: readonly Workspace[];
  /** Commands that wait for somebody to type, by terminal. */
  waiting: ReadonlySet<string>;
}

export const EMPTY: State = {
  info: null,
  terminals: new Map(),
  questions: new Map(),
  workspaces: [],
  waiting: new Set(),
};

/** Terminals and questions without a workspace belong to this one. */
export const DEFAULT_WORKSPACE = 'default';

export function workspaceOf(of: { workspace: string | null }): string {
  return of.workspace ?? DEFAULT_WORKSPACE;
}

/** Returns the state after an event. Pure. */
export function apply(state: State, event: ServerEvent): State {
  switch (event.type) {
    case 'terminal_opened':
    case 'terminal_changed':
    case 'cwd_changed':
    case 'no_shell_integration':
      return withTerminal(state, event.terminal);
    case 'command_started':
      return withTerminal(state, event.terminal, (terminal) => started(terminal, event));
    case 'command_finished':
      return withTerminal(notWaiting(state, event.terminal?.id), event.terminal, (terminal) => finished(terminal, event));
    case 'input_wanted':
      return event.terminal === undefined
        ? state
        : { ...state, waiting: new Set([...state.waiting, event.terminal.id]) };
    case 'terminal_ended': {
      const terminals = new Map(state.terminals);
      if (event.terminal !== undefined) terminals.delete(event.terminal.id);
      return { ...notWaiting(state, event.terminal?.id), terminals };
    }
    case 'approval_asked': {
      if (event.approval === undefined || !('command' in event.approval)) return state;
      return { ...state, questions: new Map(state.questions).set(event.approval.id, event.approval) };
    }
    case 'approval_answered': {
      const questions = new Map(state.questions);
      if (event.approval !== undefined) questions.delete(event.approval.id);
      return { ...state, questions };
    }
    default:
      return state;
  }
}

function withTerminal(
  state: State,
  found: ServerEvent['terminal'],
  change: (terminal: Terminal) => Terminal = (terminal) => terminal,
): State {
  if (found === undefined) return state;
  const terminal = 'shell' in found ? found : state.terminals.get(found.id);
  if (terminal === undefined) return state;
  return { ...state, terminals: new Map(state.terminals).set(terminal.id, change(terminal)) };
}

function notWaiting(state: State, id: string | undefined): State {
  if (id === undefined || !state.waiting.has(id)) return state;
  return { ...state, waiting: new Set([...state.waiting].filter((each) => each !== id)) };
}

// Events are told in the midst of the server's work: the terminal in them may be of a moment before.

function started(terminal: Terminal, event: ServerEvent): Terminal {
  if (terminal.command !== null || event.command === undefined) return terminal;
  const { id, command, source } = event.command;
  const running = { id, command, source: source === 'user' ? ('user' as const) : ('agent' as const), started_at: event.at };
  return { ...terminal, state: 'running', command: running };
}

function finished(terminal: Terminal, event: ServerEvent): Terminal {
  if (event.command === undefined) return terminal;
  const { id, command } = event.command;
  const isRunning = terminal.command !== null && terminal.command.id !== id;
  return {
    ...terminal,
    state: isRunning ? 'running' : 'idle',
    command: isRunning ? terminal.command : null,
    last:
      terminal.last?.id === id
        ? terminal.last
        : { id, command, exit_code: event.command.exit_code ?? null, state: 'done', duration_s: 0 },
  };
}
