/** The panels: tabs, splits and dragging, by the docking library; and their layout, kept on the server. */
import 'dockview/dist/styles/dockview.css';
import {
  createDockview,
  type AddPanelPositionOptions,
  type DockviewApi,
  type IDockviewPanel,
  type SerializedDockview,
} from 'dockview';
import { api } from '../api/client';
import type { Terminal } from '../api/types';
import type { Place, Services } from '../frame/services';
import { t } from '../i18n';
import { h } from '../ui/dom';
import { iconButton } from '../ui/widgets';
import { Signal } from '../ui/signal';
import { nameOf } from '../state/describe';
import { findView } from '../views/registry';
import { readLayout, readParams, terminalOf, VERSION, type SavedLayout } from './layout';
import { Tab } from './tab';
import { paramsOf, TerminalPanel } from './terminalPanel';
import { ViewPanel } from './viewPanel';
import { Watermark } from './watermark';

const SAVE_MS = 400;
/** On a phone there is room for one group of panels; the others are behind it. */
const NARROW = matchMedia('(max-width: 720px)');

export class Dock {
  readonly element = h('main', { class: 'dock', id: 'dock', 'aria-label': t.dock, tabindex: -1 });
  readonly activeTerminal = new Signal<string | null>(null);
  private readonly dockview: DockviewApi;
  private readonly contents = new Map<string, TerminalPanel | ViewPanel>();
  private workspace: string | null = null;
  private saved = '';
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly app: Services) {
    this.dockview = createDockview(this.element, {
      theme: { name: 'hermitty', className: 'dockview-hermitty', gap: 6, dndTabIndicator: 'line', dndPanelOverlay: 'group' },
      disableFloatingGroups: true,
      announcements: true,
      messages: { panelOpened: (title) => t.openPanel(title), panelClosed: (title) => t.closing(title) },
      createComponent: ({ id, name }) => {
        const content = name === 'view' ? new ViewPanel(app) : new TerminalPanel(app);
        this.contents.set(id, content);
        return content;
      },
      createTabComponent: () => new Tab(app),
      defaultTabComponent: 'tab',
      createWatermarkComponent: () => new Watermark(app),
      createRightHeaderActionComponent: (group) => ({
        element: h('div', { class: 'group-actions' }),
        init(): void {
          this.element.append(
            iconButton('plus', t.newTerminal, () => {
              group.focus();
              void app.newTerminal();
            }),
          );
        },
        dispose: () => undefined,
      }),
    });
    this.dockview.onDidRemovePanel((panel) => this.contents.delete(panel.id));
    this.dockview.onDidLayoutChange(() => this.saveSoon());
    this.dockview.onDidActivePanelChange(() => this.noteActive());
    NARROW.addEventListener('change', () => this.maximize());
    this.element.addEventListener('keydown', (event) => this.tabKey(event));
    window.addEventListener('pagehide', () => void this.save(true));
  }

  /** The content of the panel in front, if it is a terminal. */
  get current(): TerminalPanel | null {
    const content = this.contents.get(this.dockview.activePanel?.id ?? '');
    return content instanceof TerminalPanel ? content : null;
  }

  get isEmpty(): boolean {
    return this.dockview.panels.length === 0;
  }

  get activePanel(): string | null {
    return this.dockview.activePanel?.id ?? null;
  }

  panelOf(terminal: string): string | null {
    return this.find(terminal)?.id ?? null;
  }

  /** Shows the layout of a workspace, as somebody left it in whatever browser. */
  async load(workspace: string): Promise<void> {
    await this.save();
    this.workspace = null;
    this.dockview.clear();
    const layout = await this.stored(workspace);
    if (layout !== null) {
      try {
        this.dockview.fromJSON(layout.dock as unknown as SerializedDockview);
      } catch {
        this.dockview.clear(); // made by another version: begin anew
      }
    }
    // Titles are kept as words of whoever saved the layout.
    for (const panel of this.dockview.panels) {
      const params = readParams(panel.params);
      const view = params?.kind === 'view' ? findView(params.view) : undefined;
      if (view !== undefined) panel.api.setTitle(view.title());
    }
    this.workspace = workspace;
    this.saved = JSON.stringify(this.layout());
    this.noteActive();
    this.focus();
  }

  showTerminal(terminal: Terminal, place: Place = 'tab', at?: AddPanelPositionOptions): void {
    const known = this.find(terminal.id);
    if (known !== undefined) {
      known.api.setActive();
      this.focus();
      return;
    }
    const position = at ?? this.placed(place);
    this.dockview.addPanel({ ...panelOf(terminal), ...(position === undefined ? {} : { position }) });
    this.focus();
  }

  /** Adds a terminal that nobody here asked for: behind what is in front, and the keyboard stays where it is. */
  addQuietly(terminal: Terminal): void {
    if (this.workspace === null || this.find(terminal.id) !== undefined) return;
    const options = panelOf(terminal);
    // In an empty dock it is in front, as nothing else is.
    this.dockview.addPanel({ ...options, inactive: !this.isEmpty });
    const content = this.contents.get(options.id);
    if (content instanceof TerminalPanel) content.leaveFocus();
  }

  showView(id: string, params: Record<string, string> = {}): void {
    const view = findView(id);
    if (view === undefined) return;
    const panelId = `view-${id}`;
    const known = this.dockview.getPanel(panelId);
    if (known !== undefined) known.api.setActive();
    else {
      this.dockview.addPanel({
        id: panelId,
        component: 'view',
        title: view.title(),
        params: { kind: 'view', view: id },
      });
    }
    const content = this.contents.get(panelId);
    if (content instanceof ViewPanel) {
      content.params.set(params);
      content.focus();
    }
  }

  /** Takes a panel away. Returns how to put it back where it was. */
  hide(id: string): (() => void) | null {
    const panel = this.dockview.getPanel(id);
    if (panel === undefined) return null;
    const before = this.dockview.toJSON();
    const group = panel.group;
    const index = group.panels.indexOf(panel);
    const params = readParams(panel.params);
    this.dockview.removePanel(panel);
    this.focus();
    return () => {
      if (params?.kind !== 'terminal') return;
      const others = Object.keys(before.panels).filter((each) => each !== id);
      const isSame = others.length === this.dockview.panels.length && others.every((each) => this.dockview.getPanel(each));
      if (isSame) this.dockview.fromJSON(before, { reuseExistingPanels: true });
      else {
        const terminal = this.app.live.state.value.terminals.get(params.terminal);
        const there = this.dockview.getGroup(group.id);
        const at = there === undefined ? undefined : { referenceGroup: group.id, index };
        if (terminal !== undefined) this.showTerminal(terminal, 'tab', at);
      }
      this.focus();
    };
  }

  /** Gives the focus to the panel in front, or to the invitation to open one. */
  focus(): void {
    const panel = this.dockview.activePanel;
    if (panel !== undefined) this.contents.get(panel.id)?.focus();
    else this.element.querySelector<HTMLElement>('.watermark button')?.focus();
  }

  moveTab(step: 1 | -1): void {
    const group = this.dockview.activeGroup;
    const panels = group?.panels ?? [];
    const index = panels.findIndex((panel) => panel.id === this.dockview.activePanel?.id);
    panels[(index + step + panels.length) % panels.length]?.api.setActive();
    this.focus();
  }

  moveGroup(): void {
    const groups = this.dockview.groups;
    const index = groups.findIndex((group) => group.id === this.dockview.activeGroup?.id);
    groups[(index + 1) % groups.length]?.activePanel?.api.setActive();
    this.focus();
  }

  /** Asks the server which terminal a panel shows there: another page may have found it gone before. */
  async storedTerminal(panel: string): Promise<string | null> {
    if (this.workspace === null) return null;
    return terminalOf(await this.stored(this.workspace), panel);
  }

  private async stored(workspace: string): Promise<SavedLayout | null> {
    // Nobody has put anything into a workspace that the server does not know.
    const known = await api.workspaces().catch(() => []);
    if (!known.some((each) => each.id === workspace)) return null;
    return readLayout(await api.layout(workspace).catch(() => null));
  }

  /** Keeps the layout on the server, if it is another one. */
  async save(keepalive = false): Promise<void> {
    clearTimeout(this.timer);
    if (this.workspace === null || !this.app.may('type')) return;
    const layout = this.layout();
    const text = JSON.stringify(layout);
    if (text === this.saved) return;
    this.saved = text;
    try {
      await api.saveLayout(this.workspace, layout, keepalive);
    } catch {
      // Not allowed, or no connection. It is kept with the next change; the terminals are safe either way.
      this.saved = '';
    }
  }

  private saveSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.save(), SAVE_MS);
  }

  private layout(): SavedLayout {
    const dock = this.dockview.toJSON() as unknown as SavedLayout['dock'];
    delete dock.grid['maximizedNode']; // that is so on this screen only
    return { version: VERSION, dock };
  }

  private find(terminal: string): IDockviewPanel | undefined {
    return this.dockview.panels.find((panel) => {
      const params = readParams(panel.params);
      return params?.kind === 'terminal' && params.terminal === terminal;
    });
  }

  private placed(place: Place): AddPanelPositionOptions | undefined {
    const panel = this.dockview.activePanel;
    if (place === 'tab' || panel === undefined) return undefined;
    return { referencePanel: panel.id, direction: place === 'right' ? 'right' : 'below' };
  }

  private maximize(): void {
    const panel = this.dockview.activePanel;
    if (!NARROW.matches || this.dockview.groups.length < 2) {
      if (this.dockview.hasMaximizedGroup()) this.dockview.exitMaximizedGroup();
    } else if (panel !== undefined && !panel.api.isMaximized()) {
      this.dockview.exitMaximizedGroup();
      panel.api.maximize();
    }
  }

  private noteActive(): void {
    this.maximize();
    const params = readParams(this.dockview.activePanel?.params);
    this.activeTerminal.set(params?.kind === 'terminal' ? params.terminal : null);
  }

  /** F2 and Delete on a tab that has the focus. */
  private tabKey(event: KeyboardEvent): void {
    if (!(event.target instanceof Element) || event.target.closest('[role="tab"]') === null) return;
    const terminal = this.activeTerminal.value;
    if (event.key === 'F2' && terminal !== null) void this.app.rename(terminal);
    else if (event.key === 'Delete' && terminal !== null) void this.app.closeTerminal(terminal);
    else if (event.key === 'Delete' && this.activePanel !== null) this.app.hidePanel(this.activePanel);
    else return;
    event.preventDefault();
  }
}

function panelOf(terminal: Terminal) {
  return {
    id: `p-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`,
    component: 'terminal',
    title: nameOf(terminal),
    params: paramsOf(terminal),
    minimumWidth: 120,
    minimumHeight: 80,
  };
}
