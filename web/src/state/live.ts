/** Keeps the state up to date: the event stream, and everything anew when something was missed. */
import { api, ApiError } from '../api/client';
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
  'alive',
] as const;

/** A stream that is not there after so long leads nowhere: browsers use connections again that are dead by now. */
const OPEN_MS = [2_000, 2_000, 4_000, 8_000, 15_000, 30_000];
/** How often a server says that it is alive, until it has told. */
const EVERY_MS = 15_000;
const LONGEST_EVERY_MS = 3_600_000;
/** Requests that take so long were sent into a connection that is dead. */
const LOAD_MS = 30_000;
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 15_000];

export class Live {
  readonly state = new Signal<State>(EMPTY);
  readonly stream = new Signal<Stream>('connecting');
  private readonly listeners = new Set<(event: ServerEvent) => void>();
  private source: EventSource | null = null;
  private lastId: string | null = null;
  /** What has come while everything is asked for. */
  private pending: ServerEvent[] | null = null;
  /** What has come before anything was known, not taken yet. */
  private readonly early: ServerEvent[] = [];
  private again = false;
  private tries = 0;
  private waits = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private watching: ReturnType<typeof setTimeout> | undefined;
  private refreshing: ReturnType<typeof setTimeout> | undefined;
  private every = EVERY_MS;
  private hasTold = false;
  private hasOpened = false;
  private heardAt = 0;

  /** Fills the state for the first time, then follows the events. */
  async start(): Promise<void> {
    this.connect();
    // What was open before the network went may be dead without a word.
    window.addEventListener('online', () => this.connect());
    window.addEventListener('pageshow', () => this.hurry());
    document.addEventListener('visibilitychange', () => this.hurry());
    await this.load();
  }

  /** Calls back with every event, after the state has taken it. Returns how to stop that. */
  onEvent(listener: (event: ServerEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Asks for everything anew. Events that come meanwhile are taken at once, and applied again on top. */
  async load(): Promise<void> {
    if (this.pending !== null) {
      this.again = true;
      return;
    }
    this.pending = [];
    const signal = AbortSignal.timeout(LOAD_MS);
    try {
      const [info, terminals, questions, workspaces] = await Promise.all([
        api.info(signal),
        api.terminals(signal),
        api.approvals(signal).catch(() => []),
        api.workspaces(signal),
      ]);
      const loaded: State = {
        info,
        terminals: new Map(terminals.map((each) => [each.id, each])),
        questions: new Map(questions.map((each) => [each.id, each])),
        workspaces,
        waiting: this.state.value.waiting,
      };
      this.state.set(this.early.length > 0 ? loaded : this.pending.reduce(apply, loaded));
    } finally {
      this.pending = null;
      for (const event of this.early.splice(0)) this.take(event);
    }
    if (this.again) {
      this.again = false;
      await this.load();
    }
  }

  /** Asks for everything anew until there is an answer. */
  private refresh(): void {
    clearTimeout(this.refreshing);
    this.load().catch((error: unknown) => {
      if (!(error instanceof ApiError)) this.refreshing = setTimeout(() => this.refresh(), RETRY_MS[1]);
    });
  }

  private connect(): void {
    clearTimeout(this.timer);
    this.source?.close();
    this.watchOpening();
    const since = this.lastId === null ? '' : `?since=${encodeURIComponent(this.lastId)}`;
    const source = new EventSource(`/api/events${since}`);
    this.source = source;
    source.onopen = () => {
      this.tries = 0;
      this.waits = 0;
      this.stream.set('open');
      // Without a place to go on from, nobody tells what happened meanwhile.
      if (this.hasOpened && this.lastId === null) this.refresh();
      this.hasOpened = true;
      this.watch(2 * this.every);
    };
    source.onerror = () => {
      this.stream.set('lost');
      this.watchOpening();
      // The browser tries again by itself after a lost connection, but not after an answer that is an error.
      if (source.readyState === EventSource.CLOSED) {
        clearTimeout(this.watching);
        // Whoever is not known any more is sent to log in; whoever finds no room for a stream sees what is new.
        void this.load().catch(() => undefined);
        const wait = RETRY_MS[Math.min(this.tries, RETRY_MS.length - 1)] ?? 15_000;
        this.tries += 1;
        this.timer = setTimeout(() => this.connect(), wait);
      }
    };
    for (const name of EVENTS) source.addEventListener(name, (event) => this.hear(event as MessageEvent<string>));
  }

  /** Connects again if nothing is heard for so long. */
  private watch(patience: number): void {
    this.heardAt = performance.now();
    clearTimeout(this.watching);
    this.watching = setTimeout(() => this.deaf(), Math.min(patience, 2 * LONGEST_EVERY_MS));
  }

  private watchOpening(): void {
    this.watch(OPEN_MS[Math.min(this.waits, OPEN_MS.length - 1)] ?? 30_000);
  }

  private deaf(): void {
    if (this.stream.value !== 'open') this.waits += 1;
    // A server may be set to speak rarely: that is found out by waiting longer each time.
    if (this.stream.value === 'open' && !this.hasTold) this.every = Math.min(2 * this.every, LONGEST_EVERY_MS);
    this.stream.set('lost');
    this.connect();
  }

  private hurry(): void {
    if (document.visibilityState !== 'visible') return;
    if (this.stream.value === 'lost' || performance.now() - this.heardAt > 1.2 * this.every) this.connect();
  }

  private hear(message: MessageEvent<string>): void {
    if (message.lastEventId !== '') this.lastId = message.lastEventId;
    const event = JSON.parse(message.data) as ServerEvent;
    if (event.type === 'alive' && typeof event.every_s === 'number') {
      this.hasTold = true;
      this.every = Math.max(1_000, event.every_s * 1_000);
    }
    this.watch(2 * this.every);
    if (event.type === 'alive') return;
    if (event.type === 'reset' || event.type === 'workspace_changed') this.refresh();
    this.pending?.push(event);
    if (this.pending !== null && this.state.value.info === null) this.early.push(event);
    else this.take(event);
  }

  private take(event: ServerEvent): void {
    this.state.set(apply(this.state.value, event));
    for (const listener of [...this.listeners]) listener(event);
  }
}
