/** Where the lines of an output come from: the server, block by block, or a text that is there already. */
import { ApiError } from '../../api/client';
import { ask, type ArtifactMatches } from '../shared/api';

/** Lines are asked for in blocks of this many; the last block may have fewer. */
export const BLOCK = 100;
/** A block is not read further than this: lines may be endless. */
const MOST_PAGES = 6;

export interface Block {
  lines: string[];
  /** The last line goes on; what follows was not read. */
  isCut: boolean;
}

export interface Lines {
  /** How many lines there are, as far as it is known. */
  readonly total: number;
  readonly isExact: boolean;
  readonly bytes: number;
  block(index: number): Promise<Block>;
  find(search: string, offset: number): Promise<ArtifactMatches>;
}

export class TextLines implements Lines {
  private readonly lines: string[];
  readonly isExact = true;
  readonly bytes: number;

  constructor(text: string) {
    this.lines = text.replace(/\n$/, '').split('\n');
    if (text === '') this.lines = [];
    this.bytes = new TextEncoder().encode(text).length;
  }

  get total(): number {
    return this.lines.length;
  }

  block(index: number): Promise<Block> {
    return Promise.resolve({ lines: this.lines.slice(index * BLOCK, (index + 1) * BLOCK), isCut: false });
  }

  find(search: string): Promise<ArtifactMatches> {
    let pattern: RegExp;
    let literal = false;
    try {
      pattern = new RegExp(search, 'i');
    } catch {
      pattern = new RegExp(search.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
      literal = true;
    }
    const matches = this.lines.flatMap((text, index) => (pattern.test(text) ? [{ line: index + 1, offset: 0, text }] : []));
    return Promise.resolve({ matches, literal, problem: null, stopped: null, next: null, size: this.bytes });
  }
}

export class ArtifactLines implements Lines {
  total = 1;
  isExact = false;
  bytes = 0;
  private readonly blocks = new Map<number, Promise<Block>>();

  constructor(private readonly id: string) {}

  block(index: number): Promise<Block> {
    const known = this.blocks.get(index);
    if (known !== undefined) return known;
    const asked = this.read(index);
    this.blocks.set(index, asked);
    asked.catch(() => this.blocks.delete(index));
    // What is far away can be asked for again.
    if (this.blocks.size > 200) this.blocks.delete(this.blocks.keys().next().value ?? -1);
    return asked;
  }

  find(search: string, offset: number): Promise<ArtifactMatches> {
    return ask.find(this.id, search, offset);
  }

  private async read(index: number): Promise<Block> {
    const first = index * BLOCK + 1;
    let page;
    try {
      page = await ask.lines(this.id, first, BLOCK);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'invalid_offset') {
        const last = /to (\d+)/.exec(error.message)?.[1];
        if (last !== undefined) this.known(Number(last));
        return { lines: [], isCut: false };
      }
      throw error;
    }
    this.bytes = page.size;
    let text = page.text;
    let pages = 1;
    while (page.next !== null && endings(text) < BLOCK && pages < MOST_PAGES) {
      page = await ask.page(this.id, page.next);
      text += page.text;
      pages += 1;
    }
    const lines = text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    const isCut = page.next !== null && lines.length < BLOCK;
    lines.length = Math.min(lines.length, BLOCK);
    if (page.next === null && endings(text) <= BLOCK) this.known(first - 1 + lines.length);
    else if (!this.isExact) this.known((await ask.page(this.id, page.size - 1)).line);
    return { lines, isCut };
  }

  private known(last: number): void {
    this.total = last;
    this.isExact = true;
  }
}

function endings(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
