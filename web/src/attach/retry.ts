/** When to connect again: after 1 s, doubling up to 15 s, at most 10 times; from the start after a success. */

export const MOST_TRIES = 10;
const FIRST_MS = 1_000;
const LONGEST_MS = 15_000;

export class Retry {
  /** How often it was tried since the last success. */
  tries = 0;

  /** Returns how long to wait before the next try; null when it is enough. */
  next(): number | null {
    if (this.tries >= MOST_TRIES) return null;
    const wait = Math.min(FIRST_MS * 2 ** this.tries, LONGEST_MS);
    this.tries += 1;
    return wait;
  }

  succeeded(): void {
    this.tries = 0;
  }
}

/** What a close code asks for. */
export type AfterClose = 'retry' | 'login' | 'replace' | 'over' | 'refused';

export function afterClose(code: number, isOver: boolean): AfterClose {
  if (code === 4001) return 'login';
  if (code === 4004) return isOver ? 'over' : 'replace';
  if (code === 4003) return 'refused';
  return isOver ? 'over' : 'retry';
}
