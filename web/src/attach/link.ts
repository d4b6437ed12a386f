/** The WebSocket of one terminal: connects, connects again, and feeds the session. */
import type { ClientMessage, ServerMessage } from './messages';
import { afterClose, Retry } from './retry';
import { AttachSession, type Step } from './session';

export type LinkState = 'connecting' | 'open' | 'waiting' | 'gave-up' | 'over' | 'refused';

/** What shows the output. `then` is called when everything before is on the screen. */
export interface Screen {
  write(data: Uint8Array, then: () => void): void;
  paint(data: Uint8Array, then: () => void): void;
  resize(cols: number, rows: number): void;
  mark(then: () => void): void;
}

export interface LinkEvents {
  state(state: LinkState): void;
  /** A message. What came before it may not be on the screen yet. */
  message(message: ServerMessage): void;
  /** So many bytes were typed or pasted without a connection, too many to be kept. Nothing of them is sent. */
  notKept(bytes: number): void;
  /** The terminal does not exist. */
  missing(): void;
  /** The server wants to know who this is. */
  login(): void;
}

const PING_MS = 25_000;
const PONG_MS = 8_000;
/** A connection on which nobody says hello for so long leads nowhere. */
const HELLO_MS = 10_000;
/** One that has been tried for so long is tried anew when the network or the page is back. */
const STALE_MS = 2_000;
/** The server takes messages of at most 1 MB; long pastes go in pieces. */
const PIECE_BYTES = 64 * 1024;

export class Link {
  readonly session = new AttachSession();
  private socket: WebSocket | null = null;
  private readonly retry = new Retry();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pinging: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;
  /** Whether nothing is left to try: the terminal is gone, or the server does not want us. */
  private isDone = false;
  private hasHeard = false;
  private triedAt = 0;
  private readonly wake = () => this.hurry();
  /** A browser may keep a page that was left, with its sockets: nobody watches there, and it must not hold a size. */
  private readonly leave = () => this.drop();
  private readonly seen = () => {
    if (document.visibilityState === 'visible') this.hurry();
  };

  constructor(
    private readonly terminal: string,
    private readonly screen: Screen,
    private readonly events: LinkEvents,
  ) {
    window.addEventListener('online', this.wake);
    window.addEventListener('pageshow', this.wake);
    window.addEventListener('pagehide', this.leave);
    document.addEventListener('visibilitychange', this.seen);
    this.connect();
  }

  /** Lets go of the terminal, which goes on. */
  close(): void {
    this.isClosed = true;
    window.removeEventListener('online', this.wake);
    window.removeEventListener('pageshow', this.wake);
    window.removeEventListener('pagehide', this.leave);
    document.removeEventListener('visibilitychange', this.seen);
    this.drop();
  }

  /** Sends what somebody typed, if the terminal takes it. */
  type(data: Uint8Array): void {
    this.run(this.session.type(data));
  }

  send(message: ClientMessage): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private sendTyped(data: Uint8Array): void {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    for (let at = 0; at < data.length; at += PIECE_BYTES) {
      this.socket.send(data.subarray(at, at + PIECE_BYTES) as Uint8Array<ArrayBuffer>);
    }
  }

  /** Tries again now, from the first step of the delays. */
  tryAgain(): void {
    this.isDone = false;
    this.retry.succeeded();
    this.drop();
    this.connect();
  }

  /** The network or the page is back: connect at once, or make sure that the connection still lives. */
  private hurry(): void {
    if (this.isClosed || this.isDone) return;
    if (this.socket === null) this.tryAgain();
    else if (this.socket.readyState === WebSocket.OPEN) this.ping();
    else if (performance.now() - this.triedAt > STALE_MS) this.tryAgain();
  }

  private connect(): void {
    if (this.isClosed) return;
    clearTimeout(this.timer);
    this.events.state('connecting');
    const socket = new WebSocket(address(this.terminal, this.session.since));
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.triedAt = performance.now();
    this.pinging = setTimeout(() => this.lost(1006), HELLO_MS);
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      this.hasHeard = true;
      if (typeof event.data === 'string') this.run(this.session.text(event.data));
      else this.run(this.session.binary(new Uint8Array(event.data)));
    };
    socket.onclose = (event) => this.lost(event.code);
  }

  private lost(code: number): void {
    this.drop();
    const after = afterClose(code, this.session.isOver);
    this.isDone = after !== 'retry';
    switch (after) {
      case 'retry': {
        const wait = this.retry.next();
        if (wait === null) {
          this.session.forget();
          this.events.state('gave-up');
        } else {
          this.events.state('waiting');
          this.timer = setTimeout(() => this.connect(), wait);
        }
        return;
      }
      case 'login':
        return this.events.login();
      case 'replace':
        return this.events.missing();
      case 'refused':
        return this.events.state('refused');
      case 'over':
        return this.events.state('over');
    }
  }

  /** Forgets the socket without waiting: closing one whose network is gone can take minutes. */
  private drop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.pinging);
    const socket = this.socket;
    this.socket = null;
    this.session.closed();
    if (socket !== null) {
      socket.onmessage = socket.onclose = null;
      socket.close();
    }
  }

  private ping(): void {
    clearTimeout(this.pinging);
    this.hasHeard = false;
    this.send({ type: 'ping' });
    // A server that sends much may not come to answer: whatever it says tells that it is there.
    this.pinging = setTimeout(() => (this.hasHeard ? this.alive() : this.lost(1006)), PONG_MS);
  }

  private alive(): void {
    clearTimeout(this.pinging);
    this.pinging = setTimeout(() => this.ping(), PING_MS);
  }

  private run(steps: Step[]): void {
    const socket = this.socket;
    // What is done later may find another connection: acknowledgements and what was held are for this one only.
    const later = (then: () => Step[]) => () => {
      if (this.socket === socket) this.run(then());
    };
    for (const step of steps) {
      switch (step.do) {
        case 'write':
          this.screen.write(step.data, later(() => this.session.shown(step.until)));
          break;
        case 'paint':
          this.screen.paint(step.data, later(() => this.session.painted()));
          break;
        case 'resize':
          this.screen.resize(step.cols, step.rows);
          break;
        case 'mark':
          this.screen.mark(later(() => this.session.caughtUp()));
          break;
        case 'type':
          this.sendTyped(step.data);
          break;
        case 'refuse':
          this.events.notKept(step.bytes);
          break;
        case 'send':
          this.send(step.message);
          break;
        case 'tell':
          this.tell(step.message);
          break;
      }
    }
  }

  private tell(message: ServerMessage): void {
    if (message.type === 'hello') {
      this.retry.succeeded();
      this.events.state('open');
      this.alive();
    }
    if (message.type === 'pong') this.alive();
    else this.events.message(message);
  }
}

function address(terminal: string, since: number | null): string {
  const url = new URL(`/ws/terminal/${encodeURIComponent(terminal)}`, location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.searchParams.set('marks', '1');
  if (since !== null) url.searchParams.set('since', String(since));
  return url.href;
}
