/** Lines that scroll: only what can be seen is in the page. */
import { h, replace } from '../../ui/dom';
import { w } from '../words';
import { PLAIN, readLine, type Style } from './ansi';
import { BLOCK, type Lines } from './source';
import { Heights } from './viewport';

const LINE_PX = 18;

export class Pager {
  readonly element: HTMLElement;
  private readonly canvas = h('div', { class: 'lines-canvas' });
  private readonly drawn = new Map<number, HTMLElement>();
  private heights = new Heights(1, BLOCK * LINE_PX);
  private frame = 0;
  private marked: number | null = null;
  private matched = new Set<number>();
  private search: RegExp | null = null;
  isColoured = true;

  constructor(
    private readonly lines: Lines,
    private readonly counted: () => void,
  ) {
    this.element = h('div', { class: 'lines', tabindex: 0, role: 'document', 'aria-label': w.output, onscroll: () => this.soon() }, this.canvas);
    const observer = new ResizeObserver(() => {
      this.heights.forget();
      this.redraw();
    });
    observer.observe(this.element);
    this.dispose = () => observer.disconnect();
  }

  dispose: () => void;

  set wraps(isWrapping: boolean) {
    const top = this.firstLine();
    this.element.classList.toggle('wraps', isWrapping);
    this.heights.forget();
    this.redraw();
    this.scrollTo(top);
  }

  redraw(): void {
    for (const element of this.drawn.values()) element.remove();
    this.drawn.clear();
    this.soon();
  }

  /** Marks what a search found. */
  showMatches(lines: readonly number[], search: RegExp | null): void {
    this.matched = new Set(lines);
    this.search = search;
    this.redraw();
  }

  async goTo(line: number): Promise<void> {
    const index = Math.floor((line - 1) / BLOCK);
    await this.lines.block(index);
    this.marked = Math.min(line, this.lines.isExact ? this.lines.total : line);
    this.sized();
    this.heights.include(index);
    this.redraw();
    this.scrollTo(this.marked);
    await this.draw();
    this.scrollTo(this.marked);
    const element = this.canvas.querySelector<HTMLElement>(`[data-line="${this.marked}"]`);
    element?.scrollIntoView({ block: 'center' });
  }

  start(): Promise<void> {
    return this.draw();
  }

  private firstLine(): number {
    const { first } = this.heights.within(this.element.scrollTop, 1);
    return first * BLOCK + 1;
  }

  private scrollTo(line: number): void {
    const block = Math.floor((line - 1) / BLOCK);
    const inside = ((line - 1) % BLOCK) / BLOCK;
    this.element.scrollTop = Math.max(0, this.heights.topOf(block) + inside * this.heights.heightOf(block) - this.element.clientHeight / 2);
  }

  private soon(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      void this.draw();
    });
  }

  private sized(): void {
    const count = Math.max(1, Math.ceil(this.lines.total / BLOCK));
    this.heights.count = count;
    const left = this.lines.total - (this.heights.end - 1) * BLOCK;
    const spare = this.heights.end === count && left < BLOCK ? (BLOCK - left) * LINE_PX : 0;
    const isLastDrawn = this.drawn.has(this.heights.end - 1);
    this.canvas.style.height = `${this.heights.total - (isLastDrawn ? 0 : spare)}px`;
    this.canvas.style.setProperty('--digits', String(String(this.lines.total).length));
  }

  private async draw(): Promise<void> {
    this.sized();
    const { first, last } = this.heights.within(this.element.scrollTop, this.element.clientHeight);
    const wanted = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    for (const [index, element] of this.drawn) {
      if (index >= first && index <= last) continue;
      element.remove();
      this.drawn.delete(index);
    }
    await Promise.all(wanted.filter((index) => !this.drawn.has(index)).map((index) => this.drawBlock(index)));
    this.sized();
    this.counted();
  }

  private async drawBlock(index: number): Promise<void> {
    const element = h('div', { class: 'lines-block' });
    this.drawn.set(index, element);
    const { lines, isCut } = await this.lines.block(index).catch(() => ({ lines: [], isCut: false }));
    if (this.drawn.get(index) !== element) return;
    let style: Style = PLAIN;
    replace(
      element,
      lines.map((line, at) => {
        const read = readLine(line, style);
        style = read.style;
        return this.row(index * BLOCK + at + 1, read.runs);
      }),
      isCut && h('p', { class: 'soft' }, w.cutLine),
    );
    element.style.top = `${this.heights.topOf(index)}px`;
    this.canvas.append(element);
    const change = this.heights.measure(index, element.offsetHeight);
    if (change === 0) return;
    for (const [other, drawn] of this.drawn) drawn.style.top = `${this.heights.topOf(other)}px`;
    // What is above grew or shrank: what somebody reads stays where it is.
    if (this.heights.topOf(index) < this.element.scrollTop && index < this.heights.end - 1) this.element.scrollTop += change;
  }

  private row(line: number, runs: readonly { text: string; style: string }[]): HTMLElement {
    const classes = ['line', line === this.marked ? 'here' : '', this.matched.has(line) ? 'matched' : ''];
    const text = h('span', { class: 'line-text' });
    for (const run of runs) {
      const pieces = this.matched.has(line) && this.search !== null ? cut(run.text, this.search) : [run.text];
      pieces.forEach((piece, index) => {
        if (piece === '') return;
        const style = this.isColoured ? run.style : '';
        if (index % 2 === 1) text.append(h('mark', { class: style }, piece));
        else text.append(style === '' ? piece : h('span', { class: style }, piece));
      });
    }
    return h('div', { class: classes.join(' ').trim(), 'data-line': line }, h('span', { class: 'line-number', 'aria-hidden': 'true' }, String(line)), text);
  }
}

/** Cuts a text at matches: every second piece is one. */
export function cut(text: string, search: RegExp): string[] {
  const pieces: string[] = [];
  let at = 0;
  for (const found of text.matchAll(search)) {
    if (found[0] === '') continue;
    pieces.push(text.slice(at, found.index), found[0]);
    at = found.index + found[0].length;
  }
  return [...pieces, text.slice(at)];
}
