/** Keeps the state up to date: the event stream, and everything anew when something was missed. */
import { api } from '../api/client';
import type { ServerEvent } from '../api/types';
import { Signal } from '../ui/signal';
import { apply, EMPTY, type State } from './store';

export type Stream = 'connecting' | 'open' | 'lost';

const EVENTS = [
  'terminal_opened',
  'terminal_changed',
  'terminal_ended',
  'no_shell_integration',
  'cwd_changed',
  'command_started',
  'command_finished',
  'command_silent',
  'input_wanted',
  'approval_asked',
  'approval_answered',
  'session_ended',
  'workspace_changed',
  'settings_changed',
  'rules_changed',
  'reset',
  'shutdown',
] as const;

const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 15_000];

export class Live {
  readonly state = new Signal<State>(EMPTY);
  readonly stream = new Signal<Stream>('connecting');
  private readonly listeners = new Set<(event: ServerEvent) => void>();
  private source: EventSource | null = null;
  private lastId: string | null = null;
  private pending: ServerEvent[] | null = null;
  private again = false;
  private tries = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Fills the state for the first time, then follows the events. */
  async start(): Promise<void> {
    this.connect();
    window.addEventListener('online', () => this.hurry());
    window.addEventListener('pageshow', () => this.hurry());
    document.addEventListener('visibilitychange', () => this.hurry());
    await this.load();
  }

  /** Calls back with every event, after the state has taken it. Returns how to stop that. */
  onEvent(listener: (event: ServerEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Asks for everything anew. Events that come meanwhile are applied on top. */
  async load(): Promise<void> {
    if (this.pending !== null) {
      this.again = true;
      return;
    }
    this.pending = [];
    try {
      const [info, terminals, questions, workspaces] = await Promise.all([
        api.info(),
        api.terminals(),
        api.approvals().catch(() => []),
        api.workspaces(),
      ]);
      this.state.set({
        info,
        terminals: new Map(terminals.map((each) => [each.id, each])),
        questions: new Map(questions.map((each) => [each.id, each])),
        workspaces,
        waiting: this.state.value.waiting,
      });
    } finally {
      const events = this.pending;
      this.pending = null;
      for (const event of events) this.take(event);
    }
    if (this.again) {
      this.again = false;
      await this.load();
    }
  }

  private connect(): void {
    clearTimeout(this.timer);
    this.source?.close();
    const since = this.lastId === null ? '' : `?since=${encodeURIComponent(this.lastId)}`;
    const source = new EventSource(`/api/events${since}`);
    this.source = source;
    source.onopen = () => {
      this.tries = 0;
      this.stream.set('open');
    };
    source.onerror = () => {
      this.stream.set('lost');
      // The browser tries again by itself after a lost connection, but not after an answer that is an error.
      if (source.readyState === EventSource.CLOSED) {
        const wait = RETRY_MS[Math.min(this.tries, RETRY_MS.length - 1)] ?? 15_000;
        this.tries += 1;
        this.timer = setTimeout(() => this.connect(), wait);
      }
    };
    for (const name of EVENTS) source.addEventListener(name, (event) => this.hear(event as MessageEvent<string>));
  }

  private hurry(): void {
    if (document.visibilityState === 'visible' && this.stream.value === 'lost') this.connect();
  }

  private hear(message: MessageEvent<string>): void {
    if (message.lastEventId !== '') this.lastId = message.lastEventId;
    const event = JSON.parse(message.data) as ServerEvent;
    if (event.type === 'reset' || event.type === 'workspace_changed') void this.load().catch(() => undefined);
    if (this.pending !== null) this.pending.push(event);
    else this.take(event);
  }

  private take(event: ServerEvent): void {
    this.state.set(apply(this.state.value, event));
    for (const listener of [...this.listeners]) listener(event);
  }
}
