/**
 * Which blocks of lines can be seen. Pure.
 *
 * Blocks that were drawn have their true height; others count as lines of one row. Browsers draw nothing beyond some
 * ten million pixels, so of a very long output only a window of blocks is laid out, which moves when somebody goes
 * to a line outside of it.
 */

export const MOST_BLOCKS = 5_000;

export class Heights {
  private readonly measured = new Map<number, number>();
  base = 0;

  constructor(
    public count: number,
    public perBlock: number,
  ) {}

  get end(): number {
    return Math.min(this.count, this.base + MOST_BLOCKS);
  }

  heightOf(block: number): number {
    return this.measured.get(block) ?? this.perBlock;
  }

  measure(block: number, height: number): number {
    const change = height - this.heightOf(block);
    this.measured.set(block, height);
    return change;
  }

  forget(): void {
    this.measured.clear();
  }

  topOf(block: number): number {
    let top = 0;
    for (let index = this.base; index < block; index += 1) top += this.heightOf(index);
    return top;
  }

  get total(): number {
    return this.topOf(this.end);
  }

  /** Returns the blocks that a window of so many pixels shows, and those beside it. */
  within(top: number, height: number): { first: number; last: number } {
    let at = 0;
    let first = this.base;
    while (first < this.end - 1 && at + this.heightOf(first) <= top) at += this.heightOf(first++);
    let last = first;
    while (last < this.end - 1 && at + this.heightOf(last) < top + height) at += this.heightOf(last++);
    return { first: Math.max(this.base, first - 1), last: Math.min(this.end - 1, last + 1) };
  }

  /** Moves the window so that a block is in it. */
  include(block: number): void {
    if (block >= this.base && block < this.end) return;
    this.base = Math.max(0, Math.min(block - MOST_BLOCKS / 2, this.count - MOST_BLOCKS));
  }
}
