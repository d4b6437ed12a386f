/** A panel with a terminal: its header, the terminal, and what is said when it has ended or is not connected. */
import type { GroupPanelPartInitParameters, IContentRenderer } from 'dockview';
import { api, ApiError } from '../api/client';
import type { Terminal } from '../api/types';
import type { Services } from '../frame/services';
import { t } from '../i18n';
import { nameOf, shortPath, statusOf } from '../state/describe';
import { nodeOf } from '../state/nodes';
import { copyText, pasteText } from '../terminal/clipboard';
import { FindBar } from '../terminal/find';
import { kindOf, type Mark } from '../terminal/marks';
import { cleaned, needsWarning } from '../terminal/pasting';
import { TerminalView, type ViewState } from '../terminal/view';
import { shownKeys } from '../ui/actions';
import { ask } from '../ui/dialogs';
import { h, replace, setAttributes, setText } from '../ui/dom';
import { icon } from '../ui/icons';
import { openMenu, type MenuItem } from '../ui/menus';
import { preferences } from '../ui/preferences';
import { toast } from '../ui/toasts';
import { iconButton, statusChip } from '../ui/widgets';
import { readParams, type TerminalParams } from './layout';
import { seen, shorten } from '../ui/unseen';

const DELETED = 'it was closed';
const BELL_MS = 600;
/** So many characters of what is to be pasted are shown. */
const PREVIEWED = 4_000;

export class TerminalPanel implements IContentRenderer {
  readonly element = h('section', { class: 'terminal-panel' });
  private panel!: GroupPanelPartInitParameters['api'];
  private params!: TerminalParams;
  private view: TerminalView | null = null;
  private find: FindBar | null = null;
  private readonly stops: (() => void)[] = [];
  private stopView: (() => void) | null = null;
  private isVisible = false;
  private isDisposed = false;
  private focusing = 0;

  private readonly status = h('span', { class: 'head-status' });
  private readonly cwd = h('span', { class: 'head-cwd' });
  private readonly link = h('span', { class: 'head-link', role: 'status' });
  private readonly facts = h('span', { class: 'head-facts' });
  private readonly takeOver = h('button', { type: 'button', class: 'button small', onclick: () => void this.pause() });
  private readonly lock = iconButton('unlock', t.lockSize, () => this.toggleLock());
  private readonly menu = iconButton('more', t.more, () => this.openMenu(this.menu));
  private readonly stage = h('div', { class: 'terminal-stage' });
  /** For those who do not see where a jump went. */
  private readonly said = h('span', { class: 'visually-hidden', role: 'status' });
  private readonly notice = h('div', { class: 'terminal-notice', role: 'status', hidden: true });

  constructor(private readonly app: Services) {
    this.menu.setAttribute('aria-haspopup', 'menu');
    this.element.append(
      h(
        'header',
        { class: 'terminal-head' },
        this.status,
        this.cwd,
        h('span', { class: 'spring' }),
        this.link,
        this.facts,
        this.takeOver,
        this.lock,
        iconButton('search', t.find, () => this.showFind(), shownKeys('Ctrl+Shift+F')),
        this.menu,
      ),
      this.stage,
      this.said,
      this.notice,
    );
  }

  get terminal(): string {
    return this.params.terminal;
  }

  init(parameters: GroupPanelPartInitParameters): void {
    this.panel = parameters.api;
    this.params = readParams(parameters.params) as TerminalParams;
    this.isVisible = this.panel.isVisible;
    this.stops.push(
      this.app.live.state.subscribe(() => this.render()),
      this.app.nodes.cluster.subscribe(() => this.render()),
    );
    const visible = this.panel.onDidVisibilityChange(({ isVisible }) => {
      this.isVisible = isVisible;
      this.view?.show(isVisible);
    });
    const active = this.panel.onDidActiveChange(({ isActive }) => {
      if (isActive) this.focus();
    });
    this.stops.push(
      () => visible.dispose(),
      () => active.dispose(),
    );
    this.attach();
  }

  dispose(): void {
    this.isDisposed = true;
    for (const stop of this.stops) stop();
    this.stopView?.();
    this.view?.dispose();
  }

  focus(): void {
    // In the middle of a layout change the element may not be in its place yet.
    cancelAnimationFrame(this.focusing);
    this.focusing = requestAnimationFrame(() => {
      if (this.panel.isActive && document.querySelector('dialog[open], .menu') === null) this.view?.focus();
    });
  }

  /** Takes back a wish for the focus that came with being shown. */
  leaveFocus(): void {
    cancelAnimationFrame(this.focusing);
  }

  // What shortcuts and menus do.

  showFind(): void {
    void this.find?.show();
  }

  jump(direction: 'up' | 'down'): void {
    const mark = this.view?.jump(direction);
    setText(this.said, mark === undefined ? '' : t.commandMark(mark.command ?? t.unknownCommand, this.ending(mark)));
  }

  copySelection(): void {
    const text = this.view?.terminal.getSelection() ?? '';
    if (text !== '') void this.copy(text);
  }

  /** Copies the output of the command that somebody went to, else of the last one. */
  copyLastOutput(): void {
    const mark = this.view?.chosen;
    void this.copy(mark === undefined ? '' : (this.view?.marks.output(mark) ?? ''));
  }

  runLastAgain(): void {
    const mark = this.view?.marks.last;
    const command = mark?.command ?? this.found?.last?.command ?? null;
    if (command !== null) this.runAgain(command);
  }

  // The terminal.

  private get found(): Terminal | undefined {
    return this.app.live.state.value.terminals.get(this.params.terminal);
  }

  private attach(): void {
    this.stopView?.();
    this.view?.dispose();
    const found = this.found;
    const grid = { cols: found?.cols ?? 80, rows: found?.rows ?? 24 };
    const view = new TerminalView(this.params.terminal, this.label(), grid, {
      missing: () => void this.takeAnother(),
      login: () => this.app.login(),
      bell: () => this.bell(),
      refused: (message) => toast(`${t.refusedInput}: ${message}`, { kind: 'error' }),
      notKept: (bytes) => toast(t.notKept(bytes), { kind: 'error', stay: null }),
      paste: (text) => void this.paste(text),
      drawMark: (element, mark) => this.drawMark(element, mark),
    });
    this.view = view;
    this.find = new FindBar(view.terminal, () => view.focus());
    replace(this.stage, view.element, this.find.element);
    view.element.addEventListener('contextmenu', (event) => this.contextMenu(event));
    const stop = view.state.subscribe((state) => this.viewChanged(state));
    this.stopView = stop;
    view.show(this.isVisible);
    this.render();
    if (this.panel.isActive) this.focus();
  }

  private viewChanged(state: ViewState): void {
    if (state.exit?.reason === DELETED) {
      this.app.hidePanel(this.panel.id);
      return;
    }
    this.render();
  }

  /** The terminal is gone: another one takes its place, without a word. */
  private async takeAnother(): Promise<void> {
    const gone = this.params;
    try {
      const terminal = await this.app.replacement(this.panel.id, gone);
      if (this.isDisposed) return;
      this.params = paramsOf(terminal);
      this.panel.updateParameters(this.params);
      this.attach();
    } catch (error) {
      if (this.isDisposed) return;
      const why = error instanceof ApiError ? error.message : t.cannotOpen;
      this.showNotice(`${t.terminalEnded}. ${why}`, true);
    }
  }

  // What is shown.

  private label(): string {
    return `${t.terminalLabel(this.name())}. ${t.leaveHint}`;
  }

  private name(): string {
    return this.found === undefined ? (this.params.name ?? this.params.shell ?? '') : nameOf(this.found);
  }

  private render(): void {
    const state = this.view?.state.value;
    const found = this.found;
    if (state === undefined) return;
    if (found !== undefined) this.remember(found);
    this.renderStatus(found, state);
    setText(this.cwd, shortPath(state.cwd ?? found?.cwd ?? this.params.cwd, 40));
    this.cwd.title = seen(state.cwd ?? found?.cwd ?? '');
    this.renderLink(state);
    this.renderFacts(found, state);
    const pausedBy = state.pausedBy ?? found?.paused_by ?? null;
    const isAgents = found !== undefined && (found.kind === 'agent' || pausedBy !== null);
    this.takeOver.hidden = !isAgents || !this.app.may('type') || state.exit !== null;
    setText(this.takeOver, pausedBy === null ? t.takeOver : t.handBack);
    this.takeOver.title = pausedBy === null ? t.takeOverHint : t.handBackHint;
    this.takeOver.classList.toggle('primary', pausedBy !== null);
    this.lock.hidden = !this.canLock();
    const lockLabel = state.lock === null ? t.lockSize : t.unlockSize;
    setAttributes(this.lock, { 'aria-label': lockLabel, title: lockLabel, 'aria-pressed': state.lock !== null });
    replace(this.lock, icon(state.lock === null ? 'unlock' : 'lock'));
    if (state.exit !== null) {
      const { code, reason } = state.exit;
      const words = reason === '' ? t.terminalEnded : `${t.terminalEnded}: ${reason}`;
      this.showNotice(code === null ? words : t.exitedWith(code), true);
    } else if (state.link === 'gave-up' || state.link === 'refused') {
      this.showNotice(state.link === 'refused' ? t.refused : t.gaveUp, false);
    } else this.notice.hidden = true;
    this.view?.labelled(this.label());
    this.panel.setTitle(this.name());
  }

  private renderStatus(found: Terminal | undefined, state: ViewState): void {
    if (state.exit !== null || found === undefined) {
      replace(this.status, state.exit !== null && statusChip({ kind: 'exited' }));
      return;
    }
    const status = statusOf(found, this.app.live.state.value.waiting.has(found.id));
    const key = JSON.stringify(status);
    if (this.status.dataset['key'] === key) return;
    this.status.dataset['key'] = key;
    const command = 'command' in status ? status.command : null;
    replace(
      this.status,
      statusChip(status),
      command !== null && h('code', { class: 'head-command', title: seen(command) }, seen(command.split('\n')[0] ?? '')),
    );
  }

  private renderLink(state: ViewState): void {
    const words = { connecting: t.reconnecting, waiting: t.waiting, 'gave-up': t.gaveUp, refused: t.refused };
    const text = state.link in words ? words[state.link as keyof typeof words] : '';
    if (this.link.title === text) return;
    this.link.title = text;
    replace(this.link, text !== '' && [h('span', { class: 'pulse' }), h('span', { class: 'visually-hidden' }, text)]);
  }

  private renderFacts(found: Terminal | undefined, state: ViewState): void {
    const pausedBy = state.pausedBy ?? found?.paused_by ?? null;
    const node = nodeOf(this.terminal, this.app.nodes.cluster.value);
    const isAway = node !== undefined && node.state !== 'live' && node.state !== 'draining';
    const facts: (HTMLElement | false)[] = [
      node !== undefined &&
        fact(isAway ? 'warning' : 'node', `${t.onNode(seen(node.name))}: ${t.nodeStates[node.state]}`, seen(node.name)),
      state.typist !== null && fact('keyboard', t.typing(state.typist), state.typist),
      state.viewers > 1 && fact('eye', t.viewers(state.viewers), String(state.viewers)),
      pausedBy !== null && fact('hand', t.pausedBy(pausedBy), pausedBy),
      !state.mayType && fact('eye', t.viewOnlyHint, t.viewOnly),
      state.lock !== null && fact('lock', state.lock.by === null ? t.sizeLocked : t.sizeLockedBy(state.lock.by), t.sizeLocked),
      state.isOthersSize &&
        fact('sidebar', t.otherSize(state.grid.cols, state.grid.rows), t.sizeOf(state.grid.cols, state.grid.rows)),
    ];
    const key = facts.map((each) => (each === false ? '' : each.title)).join('|');
    if (this.facts.dataset['key'] === key) return;
    this.facts.dataset['key'] = key;
    replace(this.facts, facts);
  }

  private showNotice(text: string, hasEnded: boolean): void {
    const key = `${text}|${hasEnded}`;
    this.notice.hidden = false;
    if (this.notice.dataset['key'] === key) return;
    this.notice.dataset['key'] = key;
    const again = hasEnded
      ? { label: t.restart, run: () => void this.takeAnother() }
      : { label: t.retry, run: () => this.view?.tryAgain() };
    replace(
      this.notice,
      h('span', { class: 'spring' }, text),
      (!hasEnded || this.app.may('run')) &&
        h('button', { type: 'button', class: 'button small primary', onclick: again.run }, again.label),
      hasEnded &&
        h(
          'button',
          { type: 'button', class: 'button small', onclick: () => this.app.hidePanel(this.panel.id) },
          t.close,
        ),
    );
  }

  /** Keeps in the layout what another terminal would need to take this one's place. */
  private remember(found: Terminal): void {
    const params = paramsOf(found);
    if (JSON.stringify(params) === JSON.stringify(this.params)) return;
    this.params = params;
    this.panel.updateParameters(params);
  }

  private bell(): void {
    if (!preferences.value.bell) return;
    this.element.classList.add('bell');
    setTimeout(() => this.element.classList.remove('bell'), BELL_MS);
  }

  // Commands.

  private drawMark(element: HTMLElement, mark: Mark): void {
    const kind = kindOf(mark);
    if (element.dataset['mark'] === `${mark.id}/${kind}`) return;
    element.dataset['mark'] = `${mark.id}/${kind}`;
    element.classList.add('gutter-mark');
    for (const each of ['running', 'ok', 'failed', 'unknown']) element.classList.toggle(each, each === kind);
    element.title = t.commandMark(seen(mark.command ?? t.unknownCommand), this.ending(mark));
    element.onclick = (event) => {
      event.stopPropagation();
      openMenu({ x: event.clientX, y: event.clientY }, t.groupCommands, this.markItems(mark));
    };
  }

  private ending(mark: Mark): string {
    switch (kindOf(mark)) {
      case 'running':
        return t.stillRunning;
      case 'ok':
        return t.succeeded;
      case 'failed':
        return t.failedWith(mark.exitCode ?? 0);
      case 'unknown':
        return t.endUnknown;
    }
  }

  private markItems(mark: Mark): MenuItem[] {
    const command = mark.command;
    return [
      { heading: t.commandMark(shorten(command ?? t.unknownCommand, 60), this.ending(mark)) },
      { label: t.copyCommand, icon: 'copy', disabled: command === null, run: () => void this.copy(command ?? '') },
      { label: t.copyOutput, icon: 'copy', run: () => void this.copy(this.view?.marks.output(mark) ?? '') },
      {
        label: t.runAgain,
        icon: 'rerun',
        disabled: command === null || !this.canType() || this.found?.state === 'running',
        run: () => this.runAgain(command ?? ''),
      },
    ];
  }

  private runAgain(command: string): void {
    const view = this.view;
    if (view === null || !this.canType()) return;
    // A person runs it: it is typed, and the shell sees it as one line however many it has.
    view.paste(cleaned(command));
    view.type('\r');
    view.focus();
  }

  private canType(): boolean {
    const state = this.view?.state.value;
    return state !== undefined && state.mayType && state.exit === null;
  }

  private async copy(text: string): Promise<void> {
    if (text === '') toast(t.nothingToCopy);
    else if (await copyText(text)) toast(t.copied);
  }

  private async paste(text: string): Promise<void> {
    const view = this.view;
    if (view === null || !this.canType()) return;
    const isBracketed = view.terminal.modes.bracketedPasteMode;
    if (needsWarning(text, isBracketed, preferences.value.pasteWarning)) {
      const lines = text.split('\n').length;
      const answer = await ask(
        t.pasteTitle,
        [
          h('p', {}, isBracketed ? t.pasteBracketedHint(lines) : t.pasteHint(lines)),
          h('pre', { class: 'preview', tabindex: 0 }, seen(text.slice(0, PREVIEWED))),
          text.length > PREVIEWED && h('p', { class: 'preview-rest' }, t.pasteRest(text.length - PREVIEWED)),
        ],
        [
          { label: t.cancel, value: '' },
          { label: t.paste, value: 'paste', kind: 'primary' },
        ],
      );
      if (answer !== 'paste') return view.focus();
    }
    view.paste(text);
    view.focus();
  }

  private async pasteClipboard(): Promise<void> {
    const text = await pasteText();
    if (text === null) toast(t.clipboardBlocked, { kind: 'error' });
    else if (text !== '') await this.paste(cleaned(text));
  }

  // Menus.

  private contextMenu(event: MouseEvent): void {
    // Programs that follow the mouse get the right button; with shift it is always ours.
    const follows = this.view?.terminal.modes.mouseTrackingMode !== 'none';
    event.preventDefault();
    if (!follows || event.shiftKey) openMenu({ x: event.clientX, y: event.clientY }, t.more, this.items());
  }

  private openMenu(at: HTMLElement): void {
    openMenu(at, t.more, this.items());
  }

  private items(): MenuItem[] {
    const view = this.view;
    const hasSelection = view?.terminal.hasSelection() === true;
    const last = view?.marks.last;
    const mayRun = this.app.may('run');
    return [
      { label: t.copy, icon: 'copy', keys: shownKeys('Ctrl+Shift+C'), disabled: !hasSelection, run: () => this.copySelection() },
      { label: t.paste, keys: shownKeys('Ctrl+Shift+V'), disabled: !this.canType(), run: () => void this.pasteClipboard() },
      { label: t.selectAll, run: () => view?.terminal.selectAll() },
      { label: t.find, icon: 'search', keys: shownKeys('Ctrl+Shift+F'), run: () => this.showFind() },
      { label: t.clear, run: () => view?.terminal.clear() },
      'line',
      { label: t.copyLastOutput, disabled: last === undefined, run: () => this.copyLastOutput() },
      { label: t.runAgainLast, icon: 'rerun', disabled: !this.canType(), run: () => this.runLastAgain() },
      'line',
      { label: t.splitRight, icon: 'splitRight', disabled: !mayRun, run: () => void this.split('right') },
      { label: t.splitDown, icon: 'splitDown', disabled: !mayRun, run: () => void this.split('down') },
      {
        label: view?.state.value.lock == null ? t.lockSize : t.unlockSize,
        icon: view?.state.value.lock == null ? 'lock' : 'unlock',
        disabled: !this.canLock(),
        run: () => this.toggleLock(),
      },
      { label: t.rename, disabled: !mayRun, run: () => void this.app.rename(this.terminal) },
      { label: t.hidePanel, icon: 'hide', run: () => this.app.hidePanel(this.panel.id) },
      {
        label: t.closePanel,
        icon: 'close',
        danger: true,
        keys: shownKeys('Ctrl+Shift+X'),
        disabled: !mayRun,
        run: () => void this.app.closeTerminal(this.terminal),
      },
    ];
  }

  private split(place: 'right' | 'down'): Promise<void> {
    const found = this.found;
    return this.app.newTerminal({ place, cwd: found?.cwd ?? null, shell: found?.shell ?? null });
  }

  private async pause(): Promise<void> {
    const pausedBy = this.view?.state.value.pausedBy ?? this.found?.paused_by ?? null;
    try {
      await api.change(this.terminal, { paused: pausedBy === null });
      this.view?.focus();
    } catch (error) {
      toast(error instanceof Error ? error.message : t.failed, { kind: 'error' });
    }
  }

  /** The size needs no keeping where nobody else could change it. */
  canLock(): boolean {
    const state = this.view?.state.value;
    return state !== undefined && this.canType() && (state.viewers > 1 || state.lock !== null);
  }

  toggleLock(): void {
    if (this.canLock()) this.view?.lock(this.view.state.value.lock === null);
  }
}

export function paramsOf(terminal: Terminal): TerminalParams {
  const { id, cwd, shell, name, session } = terminal;
  return { kind: 'terminal', terminal: id, cwd, shell, name, session };
}

function fact(name: Parameters<typeof icon>[0], title: string, text: string): HTMLElement {
  return h(
    'span',
    { class: 'fact', title },
    icon(name, 14),
    h('span', { 'aria-hidden': 'true' }, text),
    h('span', { class: 'visually-hidden' }, title),
  );
}
