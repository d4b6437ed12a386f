/**
 * What a viewer of a terminal has to do, as a pure state machine: fed with what a connection delivers, it returns what is
 * to be done with the terminal and what is to be sent. It knows no sockets, no clock and no screen.
 *
 * Output has absolute offsets. `offset` is that of the next byte; a new connection asks for everything from there on, so
 * each byte reaches the screen exactly once. Painted snapshots are no output and do not count.
 */
import { parseServer, type ClientMessage, type ServerMessage } from './messages';

/** The server sends so much before it waits for an acknowledgement; we acknowledge well before that. */
export const ACK_BYTES = 128 * 1024;
/** What is typed while the screen is not up to date yet is kept, up to here. */
export const HELD_BYTES = 64 * 1024;

export type Step =
  /** Show these bytes. When they are on the screen, call `shown` with `until`. */
  | { do: 'write'; data: Uint8Array; until: number }
  /** Forget everything that was shown, then paint this. When it is on the screen, call `painted`. */
  | { do: 'paint'; data: Uint8Array }
  /** The terminal has this size from here on. */
  | { do: 'resize'; cols: number; rows: number }
  /** Send bytes that somebody typed. */
  | { do: 'type'; data: Uint8Array }
  /** So many bytes that somebody typed or pasted are too many to be kept: tell so. Nothing of them is sent. */
  | { do: 'refuse'; bytes: number }
  | { do: 'send'; message: ClientMessage }
  /** Everything before this is shown: call `caughtUp`. */
  | { do: 'mark' }
  /** Tell whoever is interested, at this place of the output. */
  | { do: 'tell'; message: ServerMessage };

export class AttachSession {
  /** The offset of the next byte of output; null before the first hello. */
  offset: number | null = null;
  /** Whether the terminal has ended. */
  isOver = false;
  mayType = true;
  viewer = 0;

  private isOpen = false;
  private isReplaying = false;
  private isMarked = false;
  private acked = 0;
  private snapshotBytes: number | null = null;
  private held: Uint8Array[] = [];
  private heldBytes = 0;
  private isFull = false;

  /** What to ask for with the next connection. */
  get since(): number | null {
    return this.offset;
  }

  /** Whether what is typed goes out at once. */
  get isReady(): boolean {
    return this.isOpen && !this.isReplaying;
  }

  /** The connection is gone. What is typed is kept for the next one. */
  closed(): void {
    this.isOpen = false;
    this.isReplaying = false;
    this.isMarked = false;
    this.snapshotBytes = null;
  }

  /** Nobody connects again by itself: what was typed is not wanted any more. */
  forget(): void {
    this.held = [];
    this.heldBytes = 0;
    this.isFull = false;
  }

  /** Takes a text message. */
  text(text: string): Step[] {
    const message = parseServer(text);
    if (message === null) return [];
    switch (message.type) {
      case 'hello':
        return this.hello(message);
      case 'reset':
        this.offset = message.offset;
        this.acked = message.offset;
        return [];
      case 'snapshot':
        this.snapshotBytes = message.bytes;
        return [];
      case 'resize':
        return [{ do: 'resize', cols: message.cols, rows: message.rows }, { do: 'tell', message }];
      case 'exit':
        this.isOver = true;
        return [{ do: 'tell', message }];
      case 'viewers':
      case 'cwd':
      case 'title':
      case 'typist':
      case 'lock':
      case 'paused':
        return [...this.endOfReplay(), { do: 'tell', message }];
      case 'command':
      case 'mark':
      case 'error':
      case 'pong':
        return [{ do: 'tell', message }];
    }
  }

  /** Takes a binary message: output, or the snapshot that was announced. */
  binary(data: Uint8Array): Step[] {
    if (this.snapshotBytes !== null) {
      this.snapshotBytes = null;
      return [{ do: 'paint', data }];
    }
    if (this.offset === null) return []; // nothing may come before the hello
    this.offset += data.length;
    return [{ do: 'write', data, until: this.offset }];
  }

  /** Bytes up to an offset are on the screen. */
  shown(until: number): Step[] {
    if (!this.isOpen || until - this.acked < ACK_BYTES) return [];
    this.acked = until;
    return [{ do: 'send', message: { type: 'ack', offset: until } }];
  }

  /** The snapshot is on the screen. */
  painted(): Step[] {
    return this.release();
  }

  /** Everything before a mark is on the screen. */
  caughtUp(): Step[] {
    return this.isMarked ? this.release() : [];
  }

  /** Somebody types or pastes: all of it is taken or nothing. Returns nothing while it is held, or when it is not wanted. */
  type(data: Uint8Array): Step[] {
    if (!this.mayType || this.isOver) return [];
    if (this.isReady) return [{ do: 'type', data }];
    // Once something did not fit, nothing that follows may pass for it: a line with a hole is another command.
    if (this.isFull) return [];
    if (this.heldBytes + data.length > HELD_BYTES) {
      this.isFull = true;
      return [{ do: 'refuse', bytes: data.length }];
    }
    this.held.push(data);
    this.heldBytes += data.length;
    return [];
  }

  private hello(message: Extract<ServerMessage, { type: 'hello' }>): Step[] {
    this.isOpen = true;
    this.isReplaying = message.replay !== 'none';
    this.isMarked = false;
    this.snapshotBytes = null;
    this.mayType = message.may_type ?? true;
    this.viewer = message.viewer ?? 0;
    this.offset = message.offset;
    this.acked = message.offset;
    return [
      { do: 'resize', cols: message.cols, rows: message.rows },
      { do: 'tell', message },
      // The first one asks for flow control.
      { do: 'send', message: { type: 'ack', offset: message.offset } },
      ...(this.isReplaying ? [] : this.typeHeld()),
    ];
  }

  /** States are told to viewers that have everything: the first one ends a replay of bytes. */
  private endOfReplay(): Step[] {
    if (!this.isReplaying || this.isMarked || this.snapshotBytes !== null) return [];
    this.isMarked = true;
    return [{ do: 'mark' }];
  }

  private release(): Step[] {
    if (!this.isReplaying) return [];
    this.isReplaying = false;
    this.isMarked = false;
    return this.typeHeld();
  }

  private typeHeld(): Step[] {
    const held = this.held;
    this.forget();
    return this.mayType ? held.map((data) => ({ do: 'type', data })) : [];
  }
}
