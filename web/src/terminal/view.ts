/**
 * One terminal on the page: xterm.js, fed by a link. Knows nothing of panels.
 *
 * The server decides the size of the terminal. The page tells how much room it has; when another window decides, letters
 * get smaller until the grid fits, and what is left of the panel stays empty.
 */
import '@xterm/xterm/css/xterm.css';
import { Unicode11Addon } from '@xterm/addon-unicode11';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { Terminal } from '@xterm/xterm';
import { Link, type LinkState } from '../attach/link';
import type { ServerMessage } from '../attach/messages';
import { h } from '../ui/dom';
import { preferences } from '../ui/preferences';
import { Signal } from '../ui/signal';
import { look, terminalTheme } from '../ui/theme';
import { FONT_FAMILY, loadFonts } from './fonts';
import { Marks, type Mark } from './marks';
import { cleaned } from './pasting';
import { Renderer } from './renderer';
import { suppressAnswers } from './queries';
import { fontFor, gridFor, SMALLEST_FONT, type Box, type Grid } from './sizes';

const SCROLLBACK = 10_000;
const LINE_HEIGHT = 1.2;
const TYPIST_MS = 3_000;

export interface ViewState {
  link: LinkState;
  grid: Grid;
  /** Whether the grid is of another window's choice. */
  isOthersSize: boolean;
  viewers: number;
  /** Somebody else who types right now. */
  typist: string | null;
  lock: { by: string | null } | null;
  pausedBy: string | null;
  mayType: boolean;
  exit: { code: number | null; reason: string } | null;
  title: string;
  cwd: string | null;
}

export interface ViewEvents {
  missing(): void;
  login(): void;
  bell(): void;
  refused(message: string): void;
  /** So many bytes were typed or pasted without a connection, too many to be kept. */
  notKept(bytes: number): void;
  /** Somebody wants to paste text that has been cleaned. */
  paste(text: string): void;
  drawMark(element: HTMLElement, mark: Mark): void;
}

/** The terminals on the page, by id: for whoever looks into a page that runs, and for the tests. */
const opened = new Map<string, Terminal>();
Object.assign(globalThis, { hermitty: { terminals: opened } });

export class TerminalView {
  readonly element: HTMLElement;
  readonly terminal: Terminal;
  readonly marks: Marks;
  readonly state: Signal<ViewState>;
  private readonly host: HTMLElement;
  private readonly renderer: Renderer;
  private readonly observer: ResizeObserver;
  private readonly stops: (() => void)[] = [];
  private readonly cells = new Map<string, Box>();
  private link: Link | null = null;
  private sent: Grid | null = null;
  private isShown = false;
  private wantsFocus = false;
  /** The command gone to, as long as nobody scrolls or types. */
  private jumped: { mark: Mark; viewport: number } | null = null;
  private isDisposed = false;
  private frame = 0;
  private typistTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly id: string,
    label: string,
    grid: Grid,
    private readonly events: ViewEvents,
  ) {
    this.host = h('div', { class: 'terminal-host' });
    this.element = h('div', { class: 'terminal-view' }, this.host);
    this.state = new Signal<ViewState>({
      link: 'connecting',
      grid,
      isOthersSize: false,
      viewers: 0,
      typist: null,
      lock: null,
      pausedBy: null,
      mayType: true,
      exit: null,
      title: '',
      cwd: null,
    });
    this.terminal = new Terminal({
      allowProposedApi: true,
      cols: grid.cols,
      rows: grid.rows,
      fontFamily: FONT_FAMILY,
      fontSize: preferences.value.fontSize,
      lineHeight: LINE_HEIGHT,
      scrollback: SCROLLBACK,
      theme: terminalTheme(look.value),
      cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
      cursorInactiveStyle: 'outline',
      minimumContrastRatio: look.value === 'contrast' ? 7 : 4.5,
      screenReaderMode: preferences.value.screenReader,
      macOptionIsMeta: true,
      rightClickSelectsWord: false,
      scrollOnUserInput: true,
      linkHandler: {
        activate: (_event, uri) => openLink(uri),
        hover: (_event, uri) => this.host.setAttribute('title', uri),
        leave: () => this.host.removeAttribute('title'),
      },
    });
    this.terminal.loadAddon(new Unicode11Addon());
    this.terminal.unicode.activeVersion = '11';
    this.terminal.loadAddon(new WebLinksAddon((_event, uri) => openLink(uri)));
    suppressAnswers(this.terminal);
    this.marks = new Marks(this.terminal, (element, mark) => events.drawMark(element, mark));
    this.renderer = new Renderer(this.terminal, () => {
      this.cells.clear();
      this.fitSoon();
    });
    this.listen(label);
    this.observer = new ResizeObserver(() => this.fitSoon());
    this.observer.observe(this.element);
  }

  dispose(): void {
    this.isDisposed = true;
    cancelAnimationFrame(this.frame);
    clearTimeout(this.typistTimer);
    this.observer.disconnect();
    for (const stop of this.stops) stop();
    this.link?.close();
    this.renderer.dispose();
    opened.delete(this.id);
    this.terminal.dispose();
  }

  focus(): void {
    this.wantsFocus = this.terminal.element === undefined; // it is not there yet
    this.terminal.focus();
  }

  /** The panel came into sight or went out of it. */
  show(isShown: boolean): void {
    this.isShown = isShown;
    this.renderer.show(isShown);
    this.tellVisible();
    if (isShown) this.fitSoon();
  }

  /** Types text as if it came from the keyboard. */
  type(text: string): void {
    this.link?.type(new TextEncoder().encode(text));
    this.terminal.scrollToBottom();
  }

  /** Pastes text, in brackets if the program wants that. */
  paste(text: string): void {
    this.terminal.paste(text);
  }

  lock(locked: boolean): void {
    this.link?.send({ type: 'lock', locked });
  }

  tryAgain(): void {
    this.link?.tryAgain();
  }

  /** Goes to the command above or below: from the one gone to before, else from what is shown. Returns it. */
  jump(direction: 'up' | 'down'): Mark | undefined {
    const buffer = this.terminal.buffer.active;
    const isThere = this.jumped !== null && !this.jumped.mark.line.isDisposed && this.jumped.viewport === buffer.viewportY;
    const bottom = buffer.viewportY === buffer.baseY ? buffer.baseY + this.terminal.rows : buffer.viewportY;
    const from = isThere ? this.jumped!.mark.line.line : direction === 'up' ? bottom : buffer.viewportY;
    const mark = this.marks.near(from, direction);
    if (mark === undefined) {
      if (direction === 'down') this.terminal.scrollToBottom();
      return undefined;
    }
    this.terminal.scrollToLine(mark.line.line);
    this.jumped = { mark, viewport: buffer.viewportY };
    this.marks.flash(mark);
    return mark;
  }

  /** The command gone to, else the last one. */
  get chosen(): Mark | undefined {
    const mark = this.jumped?.mark;
    return mark === undefined || mark.start.isDisposed ? this.marks.last : mark;
  }

  private update(change: Partial<ViewState>): void {
    this.state.set({ ...this.state.value, ...change });
  }

  private listen(label: string): void {
    const encoder = new TextEncoder();
    this.terminal.onData((data) => {
      this.jumped = null;
      this.link?.type(encoder.encode(data));
    });
    this.terminal.onBinary((data) => this.link?.type(Uint8Array.from(data, (each) => each.charCodeAt(0))));
    // In a terminal that has ended, Tab is nobody's: it goes on to the buttons.
    this.terminal.attachCustomKeyEventHandler((event) => event.key !== 'Tab' || this.state.value.exit === null);
    this.terminal.onBell(() => this.events.bell());
    this.host.addEventListener(
      'paste',
      (event) => {
        event.preventDefault();
        event.stopPropagation();
        const text = cleaned(event.clipboardData?.getData('text/plain') ?? '');
        if (text !== '') this.events.paste(text);
      },
      { capture: true },
    );
    const visible = () => this.tellVisible();
    document.addEventListener('visibilitychange', visible);
    this.stops.push(
      () => document.removeEventListener('visibilitychange', visible),
      look.subscribe((value) => {
        this.terminal.options.theme = terminalTheme(value);
        this.terminal.options.minimumContrastRatio = value === 'contrast' ? 7 : 4.5;
      }),
      preferences.subscribe((value) => {
        this.terminal.options.screenReaderMode = value.screenReader;
        this.fitSoon();
      }),
    );
    this.labelled(label);
  }

  /** Gives the terminal its name for screen readers. */
  labelled(label: string): void {
    this.terminal.textarea?.setAttribute('aria-label', label);
    this.element.setAttribute('aria-label', label);
    this.element.setAttribute('role', 'group');
  }

  // Size.

  private fitSoon(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.fit());
  }

  private fit(): void {
    const box = this.room();
    if (this.isDisposed || box.width <= 0 || box.height <= 0) return;
    if (this.terminal.element === undefined) return void this.open();
    const wished = preferences.value.fontSize;
    const cell = this.cell(wished);
    const grid = cell === null ? null : gridFor(box, cell);
    if (grid !== null && (grid.cols !== this.sent?.cols || grid.rows !== this.sent.rows)) {
      this.sent = grid;
      this.link?.send({ type: 'resize', ...grid });
    }
    this.scale(box, cell, grid);
  }

  /** Makes letters as big as wished, or smaller if the grid of another window does not fit otherwise. */
  private scale(box: Box, cell: Box | null, room: Grid | null): void {
    const wished = preferences.value.fontSize;
    const grid = { cols: this.terminal.cols, rows: this.terminal.rows };
    let size = cell === null ? wished : fontFor(grid, box, cell, wished, wished);
    if (this.terminal.options.fontSize !== size) this.terminal.options.fontSize = size;
    // Cells are whole pixels, so they do not shrink evenly.
    while (size > SMALLEST_FONT && size < wished && !this.fitsInto(box)) {
      size -= 0.5;
      this.terminal.options.fontSize = size;
    }
    const isOthersSize = room !== null && (room.cols !== grid.cols || room.rows !== grid.rows);
    if (isOthersSize !== this.state.value.isOthersSize) this.update({ isOthersSize });
  }

  private fitsInto(box: Box): boolean {
    const screen = this.terminal.element?.querySelector<HTMLElement>('.xterm-screen');
    return screen == null || (parseFloat(screen.style.width) <= box.width && parseFloat(screen.style.height) <= box.height);
  }

  private room(): Box {
    const style = getComputedStyle(this.host);
    const across = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
    const down = parseFloat(style.paddingTop) + parseFloat(style.paddingBottom);
    return { width: this.element.clientWidth - across, height: this.element.clientHeight - down };
  }

  /** Returns the size of a cell with letters of a size: as they are now, or as they were. */
  private cell(font: number): Box | null {
    const key = `${font}/${devicePixelRatio}`;
    const known = this.cells.get(key);
    if (known !== undefined) return known;
    if (this.terminal.options.fontSize !== font) this.terminal.options.fontSize = font;
    const screen = this.terminal.element?.querySelector<HTMLElement>('.xterm-screen');
    if (screen == null) return null;
    const box = {
      width: parseFloat(screen.style.width) / this.terminal.cols,
      height: parseFloat(screen.style.height) / this.terminal.rows,
    };
    if (!(box.width > 0 && box.height > 0)) return null;
    this.cells.set(key, box);
    return box;
  }

  private tellVisible(): void {
    this.link?.send({ type: 'visible', visible: this.isShown && document.visibilityState === 'visible' });
  }

  // Output.

  private async open(): Promise<void> {
    await loadFonts();
    if (this.isDisposed || this.terminal.element !== undefined) return;
    this.terminal.open(this.host);
    opened.set(this.id, this.terminal);
    if (this.wantsFocus && !isElsewhere()) this.focus();
    this.labelled(this.element.getAttribute('aria-label') ?? '');
    this.renderer.show(this.isShown);
    this.link = new Link(
      this.id,
      {
        write: (data, then) => this.terminal.write(data, then),
        paint: (data, then) => {
          // CAN ends whatever sequence was unfinished, RIS forgets everything. Both in their turn, behind what is
          // still being parsed; calling `reset` would come before it.
          this.terminal.write('\x18\x1bc', () => this.marks.clear());
          this.terminal.write(data, then);
        },
        resize: (cols, rows) => this.terminal.write('', () => this.resized(cols, rows)),
        mark: (then) => this.terminal.write('', then),
      },
      {
        state: (link) => this.update({ link, typist: null }),
        message: (message) => this.told(message),
        notKept: (bytes) => this.events.notKept(bytes),
        missing: () => this.events.missing(),
        login: () => this.events.login(),
      },
    );
    this.fit();
  }

  private resized(cols: number, rows: number): void {
    if (this.isDisposed) return;
    this.terminal.resize(cols, rows);
    this.update({ grid: { cols, rows } });
    const cell = this.cell(preferences.value.fontSize);
    const box = this.room();
    this.scale(box, cell, cell === null ? null : gridFor(box, cell));
  }

  private told(message: ServerMessage): void {
    switch (message.type) {
      case 'hello':
        this.sent = null;
        this.terminal.options.disableStdin = message.may_type === false;
        this.update({ mayType: message.may_type !== false });
        this.tellVisible();
        this.fitSoon();
        break;
      case 'command':
        this.terminal.write('', () => this.marks.notice(message));
        break;
      case 'mark':
        this.terminal.write('', () => this.marks.recall(message));
        break;
      case 'viewers':
        this.update({ viewers: message.count });
        break;
      case 'typist':
        this.typist(message.name, message.viewer ?? 0);
        break;
      case 'lock':
        this.update({ lock: message.locked ? { by: message.by ?? null } : null });
        break;
      case 'paused':
        this.update({ pausedBy: message.by ?? null });
        break;
      case 'title':
        this.update({ title: message.title });
        break;
      case 'cwd':
        this.update({ cwd: message.cwd });
        break;
      case 'exit':
        this.terminal.options.disableStdin = true;
        this.update({ exit: { code: message.exit_code ?? null, reason: message.reason ?? '' } });
        break;
      case 'error':
        this.events.refused(message.message);
        break;
      case 'resize':
      case 'reset':
      case 'snapshot':
      case 'pong':
        break;
    }
  }

  private typist(name: string, viewer: number): void {
    clearTimeout(this.typistTimer);
    if (viewer !== 0 && viewer === this.link?.session.viewer) {
      this.update({ typist: null });
      return;
    }
    this.update({ typist: name });
    this.typistTimer = setTimeout(() => this.update({ typist: null }), TYPIST_MS);
  }
}

/** Tells whether somebody has gone to a dialog or a field meanwhile. */
function isElsewhere(): boolean {
  return document.activeElement?.closest('dialog, input, select, .menu') != null;
}

/** Opens a link that a program printed; never anything but a page or a mail. */
function openLink(uri: string): void {
  if (/^(https?|mailto):/i.test(uri)) window.open(uri, '_blank', 'noopener,noreferrer');
}
