/**
 * The commands that were run in a terminal, at their lines on the screen: marks in the gutter, jumps, and their output.
 *
 * Where a command's output starts and ends is told by the server between the bytes, so a mark is put when everything
 * before it is on the screen.
 */
import type { IDecoration, IMarker, Terminal } from '@xterm/xterm';
import type { CommandMark, CommandNotice } from '../attach/messages';

/** Older ones are forgotten with their lines; this holds for terminals that run very many. */
const MOST = 2000;
const FLASH_MS = 1_200;

export interface Mark {
  id: string;
  command: string | null;
  source: string;
  exitCode: number | null;
  isRunning: boolean;
  /** The line of the command itself. */
  line: IMarker;
  /** Where its output starts. */
  start: IMarker;
  /** In which column the output starts. */
  startColumn: number;
  end: IMarker | null;
  endColumn: number;
}

export type MarkKind = 'running' | 'ok' | 'failed' | 'unknown';

export function kindOf(mark: Pick<Mark, 'isRunning' | 'exitCode'>): MarkKind {
  if (mark.isRunning) return 'running';
  if (mark.exitCode === null) return 'unknown';
  return mark.exitCode === 0 ? 'ok' : 'failed';
}

export class Marks {
  private readonly marks = new Map<string, Mark>();
  private readonly decorations = new Map<string, IDecoration>();

  constructor(
    private readonly terminal: Terminal,
    private readonly draw: (element: HTMLElement, mark: Mark) => void,
  ) {}

  get all(): readonly Mark[] {
    return [...this.marks.values()];
  }

  get last(): Mark | undefined {
    return this.all.at(-1);
  }

  find(id: string): Mark | undefined {
    return this.marks.get(id);
  }

  /** Takes a notice, when everything before it is on the screen. A notice may come twice, after a new connection. */
  notice(notice: CommandNotice): void {
    // Full-screen programs have a screen of their own, which keeps no lines.
    const marker = this.terminal.buffer.active.type === 'normal' ? this.terminal.registerMarker(0) : undefined;
    const column = this.terminal.buffer.active.cursorX;
    const known = this.marks.get(notice.id);
    if (notice.event === 'started') {
      if (known !== undefined || marker === undefined) {
        marker?.dispose();
        return;
      }
      // Output usually starts on a line of its own, below the command.
      const line = column === 0 ? this.terminal.registerMarker(-1) : marker;
      this.add({
        id: notice.id,
        command: notice.command,
        source: notice.source,
        exitCode: null,
        isRunning: true,
        line,
        start: marker,
        startColumn: column,
        end: null,
        endColumn: 0,
      });
      return;
    }
    if (known === undefined || !known.isRunning) {
      marker?.dispose();
      return;
    }
    known.command = notice.command ?? known.command;
    known.exitCode = notice.exit_code ?? null;
    known.isRunning = false;
    known.end = marker ?? null;
    known.endColumn = column;
    const element = this.decorations.get(known.id)?.element;
    if (element !== undefined) this.draw(element, known);
  }

  /** Takes a command that a snapshot shows, right after it was painted. */
  recall(found: CommandMark): void {
    const buffer = this.terminal.buffer.active;
    const cursor = buffer.baseY + buffer.cursorY;
    const lineAbove = found.column === 0 ? found.above + 1 : found.above;
    if (buffer.type !== 'normal' || lineAbove > cursor || this.marks.has(found.id)) return;
    const end = found.end_above ?? null;
    const start = this.terminal.registerMarker(-found.above);
    this.add({
      id: found.id,
      command: found.command,
      source: found.source,
      exitCode: found.exit_code ?? null,
      isRunning: found.running,
      line: lineAbove === found.above ? start : this.terminal.registerMarker(-lineAbove),
      start,
      startColumn: found.column,
      end: end === null ? null : this.terminal.registerMarker(-end),
      endColumn: found.end_column ?? 0,
    });
  }

  /** Forgets everything: the screen is painted anew. */
  clear(): void {
    for (const mark of this.all) this.remove(mark);
  }

  /** Returns the nearest command above or below a line of the buffer. */
  near(line: number, direction: 'up' | 'down'): Mark | undefined {
    const alive = this.all.filter((mark) => !mark.line.isDisposed);
    return direction === 'up'
      ? alive.findLast((mark) => mark.line.line < line)
      : alive.find((mark) => mark.line.line > line);
  }

  /** Shows for a moment which line is meant. */
  flash(mark: Mark): void {
    const { terminal } = this;
    const decoration = terminal.registerDecoration({ marker: mark.line, x: 0, width: terminal.cols, layer: 'top' });
    decoration?.onRender((element) => element.classList.add('jump-line'));
    setTimeout(() => decoration?.dispose(), FLASH_MS);
  }

  /** Returns what a command printed, as it is on the screen and above it; lines that were wrapped are joined. */
  output(mark: Mark): string {
    const buffer = this.terminal.buffer.normal;
    if (mark.start.isDisposed || (mark.end === null && !mark.isRunning)) return '';
    const last = mark.end !== null && !mark.end.isDisposed ? mark.end.line : buffer.baseY + buffer.cursorY;
    let text = '';
    for (let y = mark.start.line; y <= last; y++) {
      const line = buffer.getLine(y);
      if (line === undefined) break;
      const from = y === mark.start.line ? mark.startColumn : 0;
      const isEnd = y === last && mark.end !== null;
      const follows = buffer.getLine(y + 1)?.isWrapped === true;
      if (y > mark.start.line && !line.isWrapped) text += '\n';
      text += line.translateToString(!follows, from, isEnd ? mark.endColumn : undefined);
    }
    return text.replace(/\s+$/, '');
  }

  private add(mark: Mark): void {
    this.marks.set(mark.id, mark);
    mark.start.onDispose(() => this.marks.delete(mark.id));
    const decoration = this.terminal.registerDecoration({ marker: mark.line, x: 0, width: 1, layer: 'top' });
    if (decoration !== undefined) {
      this.decorations.set(mark.id, decoration);
      decoration.onRender((element) => this.draw(element, mark));
      decoration.onDispose(() => this.decorations.delete(mark.id));
    }
    const oldest = this.all[0];
    if (this.marks.size > MOST && oldest !== undefined) this.remove(oldest);
  }

  private remove(mark: Mark): void {
    this.decorations.get(mark.id)?.dispose();
    mark.line.dispose();
    mark.start.dispose();
    mark.end?.dispose();
    this.marks.delete(mark.id);
  }
}
