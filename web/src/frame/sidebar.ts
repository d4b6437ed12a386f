/** The list of terminals: those of this workspace by session, then those of others. */
import type { Terminal } from '../api/types';
import { t } from '../i18n';
import { nameOf, shortPath, statusOf, statusWords } from '../state/describe';
import { nodeOf } from '../state/nodes';
import { workspaceOf, type State } from '../state/store';
import { h, replace, type Child } from '../ui/dom';
import { openMenu } from '../ui/menus';
import { kindIcon, kindLabel, iconButton, statusChip } from '../ui/widgets';
import { NodesSection } from './nodes';
import type { Services } from './services';
import { seen } from '../ui/unseen';

export interface Group {
  session: string | null;
  terminals: Terminal[];
}

/** Sorts terminals into groups: a person's first, then sessions, the oldest first. Pure. */
export function grouped(terminals: Iterable<Terminal>): Group[] {
  const groups = new Map<string | null, Terminal[]>();
  for (const terminal of [...terminals].sort((a, b) => a.number - b.number)) {
    const group = groups.get(terminal.session) ?? [];
    group.push(terminal);
    groups.set(terminal.session, group);
  }
  return [...groups]
    .map(([session, found]) => ({ session, terminals: found }))
    .sort((a, b) => Number(a.session !== null) - Number(b.session !== null));
}

export class Sidebar {
  readonly element = h('nav', { class: 'sidebar', id: 'sidebar', 'aria-label': t.sidebar });
  private readonly list = h('div', { class: 'sidebar-list' });
  private key = '';

  constructor(
    private readonly app: Services,
    private readonly chosen: () => void,
  ) {
    this.element.append(
      h(
        'div',
        { class: 'sidebar-head' },
        h('h2', {}, t.sidebar),
        iconButton('plus', t.newTerminalDialog, () => app.newTerminalDialog()),
      ),
      this.list,
      new NodesSection(app).element,
    );
    const render = () => this.render();
    app.nodes.cluster.subscribe(render);
    app.live.state.watch(render);
    app.workspace.subscribe(render);
    app.activeTerminal.subscribe(render);
    this.list.addEventListener('keydown', (event) => this.moved(event));
  }

  /** Gives the focus to the terminal in front, else to the first one. */
  focus(): void {
    const item =
      this.list.querySelector<HTMLElement>('[aria-current="true"]') ?? this.element.querySelector<HTMLElement>('button');
    item?.focus();
  }

  private render(): void {
    const state = this.app.live.state.value;
    const here = this.app.workspace.value;
    const active = this.app.activeTerminal.value;
    const key = JSON.stringify([
      [...state.terminals.values()].map((each) => [shownOf(each, state), this.node(each)]),
      here,
      active,
      state.workspaces,
    ]);
    if (key === this.key) return; // counters that nobody sees here have changed
    this.key = key;
    const focused = (document.activeElement as HTMLElement | null)?.dataset['terminal'];
    const all = [...state.terminals.values()];
    const own = grouped(all.filter((each) => workspaceOf(each) === here));
    const ids = new Set([...state.workspaces.map((each) => each.id), ...all.map(workspaceOf)]);
    const others = [...ids].filter((id) => id !== here);
    replace(
      this.list,
      own.length === 0 && h('p', { class: 'empty' }, t.noTerminals),
      own.map((group) => this.group(group, state, active)),
      others.length > 0 && [
        h('h3', { class: 'sidebar-group' }, t.otherWorkspaces),
        h(
          'ul',
          {},
          others.map((id) => {
            const count = all.filter((terminal) => workspaceOf(terminal) === id).length;
            const name = state.workspaces.find((each) => each.id === id)?.name ?? id;
            return h(
              'li',
              {},
              h(
                'button',
                { type: 'button', class: 'other-workspace', onclick: () => this.app.switchWorkspace(id) },
                h('span', { class: 'ellipsis' }, name),
                h('small', {}, t.terminalCount(count)),
              ),
            );
          }),
        ),
      ],
    );
    if (focused !== undefined) this.list.querySelector<HTMLElement>(`[data-terminal="${CSS.escape(focused)}"]`)?.focus();
  }

  private group(group: Group, state: State, active: string | null): Child {
    const title = group.session === null ? t.noSession : t.session(seen(group.session));
    return [
      h('h3', { class: 'sidebar-group', title }, title),
      h(
        'ul',
        { 'aria-label': title },
        group.terminals.map((terminal) => h('li', {}, this.item(terminal, state, terminal.id === active))),
      ),
    ];
  }

  private item(terminal: Terminal, state: State, isActive: boolean): HTMLElement {
    const status = statusOf(terminal, state.waiting.has(terminal.id));
    const command = 'command' in status ? status.command : null;
    const node = this.node(terminal);
    const element = h(
      'button',
      {
        type: 'button',
        class: 'terminal-item',
        'data-terminal': terminal.id,
        'aria-current': isActive ? 'true' : undefined,
        title: `${nameOf(terminal)}\n${statusWords(status)}\n${seen(terminal.cwd ?? '')}\n${terminal.shell}, ${t.quality[terminal.quality]}${node === '' ? '' : `\n${t.onNode(node)}`}${sandboxWords(terminal)}`,
        onclick: () => {
          this.app.openTerminal(terminal.id);
          this.chosen();
        },
        oncontextmenu: (event: MouseEvent) => {
          event.preventDefault();
          this.menu({ x: event.clientX, y: event.clientY }, terminal);
        },
        onkeydown: (event: KeyboardEvent) => {
          if (event.key === 'F2') void this.app.rename(terminal.id);
          else if (event.key === 'Delete') void this.app.closeTerminal(terminal.id);
          else if (event.key === 'ContextMenu' || (event.shiftKey && event.key === 'F10')) this.menu(element, terminal);
          else return;
          event.preventDefault();
        },
      },
      kindIcon(terminal.kind),
      h(
        'span',
        { class: 'item-text' },
        h('span', { class: 'item-name' }, h('span', { class: 'ellipsis' }, nameOf(terminal)), statusChip(status)),
        command !== null && h('code', { class: 'item-command ellipsis' }, command.split('\n')[0] ?? ''),
        h(
          'span',
          { class: 'item-detail ellipsis' },
          [kindLabel(terminal.kind), terminal.shell, t.qualityShort[terminal.quality], sandboxShort(terminal), node, shortPath(terminal.cwd, 26)]
            .filter((each) => each !== '')
            .join(' · '),
        ),
      ),
    );
    return element;
  }

  /** The machine of a cluster that a terminal is on. */
  private node(terminal: Terminal): string {
    return seen(nodeOf(terminal.id, this.app.nodes.cluster.value)?.name ?? '');
  }

  private menu(at: HTMLElement | { x: number; y: number }, terminal: Terminal): void {
    const mayRun = this.app.may('run');
    openMenu(at, nameOf(terminal), [
      { label: t.openPanel(nameOf(terminal)), icon: 'terminal', run: () => this.app.openTerminal(terminal.id) },
      { label: t.splitRight, icon: 'splitRight', run: () => this.app.openTerminal(terminal.id, 'right') },
      { label: t.splitDown, icon: 'splitDown', run: () => this.app.openTerminal(terminal.id, 'down') },
      'line',
      { label: t.rename, keys: 'F2', disabled: !mayRun, run: () => void this.app.rename(terminal.id) },
      { label: t.endTerminal, icon: 'close', danger: true, disabled: !mayRun, run: () => void this.app.closeTerminal(terminal.id) },
    ]);
  }

  /** Arrow keys go up and down the list. */
  private moved(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const items = [...this.list.querySelectorAll<HTMLElement>('button')];
    const index = items.indexOf(document.activeElement as HTMLElement);
    items[Math.max(0, Math.min(items.length - 1, index + step))]?.focus();
    event.preventDefault();
  }
}

/** What the list shows of a terminal. */
function shownOf(terminal: Terminal, state: State): unknown {
  const { id, number, name, workspace, session, kind, shell, cwd, quality, command, last, sandbox } = terminal;
  return [id, number, name, workspace, session, kind, shell, cwd, quality, sandbox, command, last?.exit_code, state.waiting.has(id)];
}

function sandboxShort(terminal: Terminal): string {
  return terminal.sandbox_effective ? t.sandboxShort(terminal.sandbox_effective.weaker) : '';
}

/** What confines a terminal, and what of it does not hold, a line each. */
function sandboxWords(terminal: Terminal): string {
  const held = terminal.sandbox_effective;
  if (!held) return '';
  const missing = held.not_enforced.map(({ what, why }) => t.notEnforced(what, why));
  return ['', t.sandbox(held.mode, held.network === 'host'), ...missing].join('\n');
}
