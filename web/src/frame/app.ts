/** The page as a whole: makes its parts and does what several of them are needed for. */
import { api, whenLoggedOut } from '../api/client';
import type { ClusterNode, Terminal } from '../api/types';
import { Dock } from '../dock/dock';
import type { TerminalParams } from '../dock/layout';
import { t } from '../i18n';
import { nameOf } from '../state/describe';
import { Live } from '../state/live';
import { Nodes } from '../state/nodes';
import { DEFAULT_WORKSPACE, workspaceOf } from '../state/store';
import { shownKeys } from '../ui/actions';
import { ask, askText } from '../ui/dialogs';
import { h } from '../ui/dom';
import { prefer, preferences } from '../ui/preferences';
import { Signal } from '../ui/signal';
import { mountToasts, toast } from '../ui/toasts';
import { shorten } from '../ui/unseen';
import { newTerminalDialog } from './newTerminal';
import type { Place, Services } from './services';
import { registerActions, UNDO_KEYS } from './shortcuts';
import { Sidebar } from './sidebar';
import { TopBar } from './topbar';

const UNDO_MS = 5_000;
const NARROW = matchMedia('(max-width: 720px)');

/** Terminals are opened sooner than that as a rule. */
const SLOW_MS = 3_000;

export class App implements Services {
  readonly live = new Live();
  readonly nodes = new Nodes(this.live);
  readonly workspace = new Signal(DEFAULT_WORKSPACE);
  private readonly dock: Dock;
  private readonly sidebar: Sidebar;
  private readonly element: HTMLElement;
  /** Terminals that are closed for good when the time to undo it is over. */
  private readonly closing = new Map<string, { forget: () => void; undo: () => void }>();
  private isLeaving = false;
  /** Settled when the layout of the workspace is there. */
  private shown: Promise<void> = Promise.resolve();

  constructor(root: HTMLElement) {
    whenLoggedOut(() => this.login());
    this.dock = new Dock(this);
    this.sidebar = new Sidebar(this, () => NARROW.matches && this.showSidebar(false));
    const topbar = new TopBar(this, () => this.showSidebar(!this.isSidebarShown));
    const backdrop = h('div', { class: 'backdrop', onclick: () => this.showSidebar(false) });
    this.element = h(
      'div',
      { class: 'app' },
      h('a', { class: 'skip', href: '#dock', onclick: (event: Event) => this.skip(event) }, t.skipToTerminal),
      topbar.element,
      h('div', { class: 'body' }, this.sidebar.element, backdrop, this.dock.element),
    );
    root.replaceChildren(this.element);
    mountToasts(root);
    this.showSidebar(preferences.value.sidebar && !NARROW.matches);
    NARROW.addEventListener('change', () => this.showSidebar(!NARROW.matches && preferences.value.sidebar));
    registerActions(this, this.dock, this.sidebar, () => this.showSidebar(!this.isSidebarShown), () => this.showSidebar(true));
    this.live.state.subscribe(() => this.titled());
    this.live.onEvent((event) => {
      const terminal = event.terminal;
      if (event.type === 'terminal_changed' && terminal !== undefined && 'shell' in terminal) this.appeared(terminal);
    });
    window.addEventListener('pagehide', () => {
      for (const [id] of this.closing) void api.destroy(id, true).catch(() => undefined);
      this.closing.clear();
    });
  }

  get activeTerminal(): Signal<string | null> {
    return this.dock.activeTerminal;
  }

  async start(): Promise<void> {
    await this.live.start();
    const asked = new URLSearchParams(location.search).get('workspace');
    await this.show(asked ?? preferences.value.workspace ?? DEFAULT_WORKSPACE);
    const terminal = new URLSearchParams(location.search).get('terminal');
    if (terminal !== null) this.openTerminal(terminal);
    // Whoever comes to a server where nothing is open yet wants a terminal.
    else if (this.live.state.value.terminals.size === 0 && this.dock.isEmpty) await this.newTerminal();
    document.body.dataset.ready = 'true';
  }

  may(scope: 'type' | 'run' | 'approve' | 'admin'): boolean {
    const scopes = this.live.state.value.info?.me.scopes ?? [];
    return scopes.includes(scope) || scopes.includes('admin');
  }

  openTerminal(id: string, place: Place = 'tab'): void {
    const found = this.live.state.value.terminals.get(id);
    if (found === undefined) return;
    const shown = workspaceOf(found) === this.workspace.value ? this.shown : this.show(workspaceOf(found));
    void shown.then(() => this.dock.showTerminal(found, place));
  }

  async newTerminal(
    options: { cwd?: string | null; shell?: string | null; name?: string | null; place?: Place } = {},
  ): Promise<void> {
    if (!this.may('run')) return;
    const { place = 'tab', ...rest } = options;
    const active = this.live.state.value.terminals.get(this.activeTerminal.value ?? '');
    const root = this.live.state.value.workspaces.find((each) => each.id === this.workspace.value)?.root ?? null;
    // A shell that does much at its start lets people wait: they must know.
    let told = () => {};
    const slow = setTimeout(() => (told = toast(t.openingWaits, { stay: null })), SLOW_MS);
    try {
      const terminal = await api.open({
        workspace: this.workspace.value,
        name: rest.name ?? null,
        shell: rest.shell ?? null,
        cwd: rest.cwd === undefined ? (active?.cwd ?? root) : rest.cwd,
      });
      this.know(terminal);
      await this.shown;
      this.dock.showTerminal(terminal, place);
    } catch (error) {
      toast(`${t.cannotOpen}: ${messageOf(error)}`, { kind: 'error' });
    } finally {
      clearTimeout(slow);
      told();
    }
  }

  newTerminalDialog(): void {
    if (this.may('run')) void newTerminalDialog(this);
  }

  openView(id: string, params: Record<string, string> = {}): void {
    if (NARROW.matches) this.showSidebar(false);
    this.dock.showView(id, params);
  }

  async rename(id: string): Promise<void> {
    const found = this.live.state.value.terminals.get(id);
    if (found === undefined || !this.may('run')) return;
    const name = await askText(t.renameTerminal, t.name, found.name ?? '');
    if (name === null) return;
    try {
      this.know(await api.change(id, { name: name === '' ? null : name }));
    } catch (error) {
      toast(messageOf(error), { kind: 'error' });
    }
  }

  async closeTerminal(id: string): Promise<void> {
    const found = this.live.state.value.terminals.get(id);
    const panel = this.dock.panelOf(id);
    if (found === undefined || !this.may('run')) {
      if (panel !== null) this.dock.hide(panel);
      return;
    }
    if (found.command !== null) {
      const answer = await this.askAboutRunning(found);
      if (answer === 'hide' && panel !== null) this.dock.hide(panel);
      if (answer !== 'end') return;
    }
    const putBack = panel === null ? null : this.dock.hide(panel);
    const undo = () => {
      this.closing.delete(id);
      putBack?.();
    };
    const forget = toast(t.closing(nameOf(found)), {
      stay: UNDO_MS,
      actions: [{ label: `${t.undo} ${shownKeys(UNDO_KEYS)}`, run: undo }],
      onGone: () => void this.destroy(id),
    });
    this.closing.set(id, { forget, undo });
  }

  get canUndoClose(): boolean {
    return this.closing.size > 0;
  }

  undoClose(): void {
    const last = [...this.closing.values()].at(-1);
    last?.forget();
    last?.undo();
  }

  async drain(node: ClusterNode, draining: boolean): Promise<void> {
    try {
      await this.nodes.drain(node, draining);
    } catch (error) {
      toast(messageOf(error), { kind: 'error' });
    }
  }

  hidePanel(panel: string): void {
    this.dock.hide(panel);
  }

  async replacement(panel: string, gone: TerminalParams): Promise<Terminal> {
    // Several pages find a terminal gone at the same time, after a restart of the server: the first one to come makes
    // another, the rest take that.
    const take = async (): Promise<Terminal> => {
      const stored = await this.dock.storedTerminal(panel);
      if (stored !== null && stored !== gone.terminal) {
        const found = await api.terminal(stored).catch(() => null);
        if (found !== null) return found;
      }
      const wanted = { workspace: this.workspace.value, name: gone.name, shell: gone.shell, cwd: gone.cwd };
      // The directory or the shell may be gone as well.
      const terminal = await api.open(wanted).catch(() => api.open({ workspace: wanted.workspace, name: gone.name }));
      this.know(terminal);
      return terminal;
    };
    const terminal = navigator.locks === undefined ? await take() : await navigator.locks.request(`hermitty ${panel}`, take);
    // The layout has to tell other pages before they ask.
    queueMicrotask(() => void this.dock.save());
    return terminal as Terminal;
  }

  switchWorkspace(id: string): void {
    if (id !== this.workspace.value) void this.show(id);
  }

  login(): void {
    if (this.isLeaving) return;
    this.isLeaving = true;
    location.assign('/'); // the server shows its form to who is not logged in
  }

  private show(workspace: string): Promise<void> {
    this.workspace.set(workspace);
    prefer({ workspace });
    this.shown = this.dock.load(workspace);
    return this.shown;
  }

  /** Notes a terminal before the event about it comes. */
  private know(terminal: Terminal): void {
    const state = this.live.state.value;
    this.live.state.set({ ...state, terminals: new Map(state.terminals).set(terminal.id, terminal) });
  }

  private appeared(terminal: Terminal): void {
    const isNew = terminal.opened_at !== null && Date.now() / 1000 - terminal.opened_at < 10;
    if (!preferences.value.autoOpen || terminal.kind !== 'agent' || !isNew) return;
    if (workspaceOf(terminal) === this.workspace.value) this.dock.addQuietly(terminal);
  }

  private async destroy(id: string): Promise<void> {
    if (!this.closing.delete(id)) return;
    try {
      await api.destroy(id);
    } catch (error) {
      toast(`${t.cannotClose}: ${messageOf(error)}`, { kind: 'error' });
    }
  }

  private askAboutRunning(terminal: Terminal): Promise<string | null> {
    const command = terminal.command?.command ?? null;
    return ask(t.closePanel, h('p', {}, command === null ? t.closeRunningUnnamed : t.closeRunning(shorten(command, 200))), [
      { label: t.cancel, value: '' },
      { label: t.keepRunning, value: 'hide' },
      { label: t.endTerminal, value: 'end', kind: 'danger' },
    ]);
  }

  private titled(): void {
    const pending = this.live.state.value.questions.size;
    const title = pending > 0 ? `(${pending}) hermitty` : 'hermitty';
    if (document.title !== title) document.title = title;
  }

  private get isSidebarShown(): boolean {
    return this.element.classList.contains('with-sidebar');
  }

  private showSidebar(isShown: boolean): void {
    this.element.classList.toggle('with-sidebar', isShown);
    this.sidebar.element.inert = !isShown;
    if (!NARROW.matches) prefer({ sidebar: isShown });
    else if (isShown) this.sidebar.focus();
  }

  private skip(event: Event): void {
    event.preventDefault();
    this.dock.focus();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : t.failed;
}
