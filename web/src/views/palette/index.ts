/** The command palette: terminals, actions, views and commands by a few letters. A combobox as WAI-ARIA describes it. */
import '../shared/views.css';
import { t } from '../../i18n';
import type { Services } from '../../frame/services';
import { nameOf, shortPath, statusOf, statusWords } from '../../state/describe';
import { DEFAULT_WORKSPACE, workspaceOf } from '../../state/store';
import { actions, shownKeys } from '../../ui/actions';
import { h, replace, setAttributes, setText } from '../../ui/dom';
import { icon, type IconName } from '../../ui/icons';
import { kindLabel } from '../../ui/widgets';
import { views } from '../registry';
import { ask } from '../shared/api';
import { firstLine, when } from '../shared/format';
import { w } from '../words';
import { pieces, rank, type Ranked } from './fuzzy';
import { seen as shown } from '../../ui/unseen';

interface Item {
  kind: 'terminal' | 'action' | 'view' | 'command' | 'workspace';
  label: string;
  detail: string;
  sign: IconName;
  keys?: string;
  run: () => void;
}

const MOST = 60;
const MOST_COMMANDS = 40;
let open: Palette | null = null;

export function showPalette(app: Services): void {
  if (open === null) open = new Palette(app, () => (open = null));
  else open.close();
}

class Palette {
  private readonly dialog: HTMLDialogElement;
  private readonly input: HTMLInputElement;
  private readonly list = h('div', { class: 'palette-list', role: 'listbox', id: 'palette-list', 'aria-label': w.paletteTitle });
  private readonly status = h('p', { class: 'visually-hidden', role: 'status' });
  private items: Item[];
  private found: Ranked<Item>[] = [];
  private chosen = 0;

  constructor(
    private readonly app: Services,
    private readonly closed: () => void,
  ) {
    this.input = h('input', {
      class: 'palette-input',
      type: 'text',
      role: 'combobox',
      'aria-label': w.paletteHint,
      'aria-expanded': true,
      'aria-controls': 'palette-list',
      'aria-autocomplete': 'list',
      placeholder: w.paletteHint,
      autocomplete: 'off',
      spellcheck: 'false',
      oninput: () => this.search(),
    });
    this.dialog = h(
      'dialog',
      {
        class: 'dialog palette',
        'aria-label': w.paletteTitle,
        onkeydown: (event: KeyboardEvent) => this.pressed(event),
        onclose: () => this.gone(),
        onclick: (event: MouseEvent) => event.target === this.dialog && this.close(),
      },
      h('div', { class: 'palette-box' }, h('div', { class: 'palette-head' }, icon('search', 18), this.input), this.list, h('p', { class: 'palette-foot soft' }, w.paletteKeys), this.status),
    );
    this.items = [...this.terminals(), ...this.views(), ...this.actions(), ...this.workspaces()];
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.input.focus();
    this.search();
    void this.addCommands();
  }

  close(): void {
    this.dialog.close();
  }

  private gone(): void {
    this.dialog.remove();
    this.closed();
  }

  private terminals(): Item[] {
    const { terminals, waiting } = this.app.live.state.value;
    return [...terminals.values()].map((terminal) => {
      const status = statusOf(terminal, waiting.has(terminal.id));
      const running = terminal.command?.command ?? '';
      return {
        kind: 'terminal',
        label: nameOf(terminal),
        detail: [kindLabel(terminal.kind), shown(terminal.session ?? ''), statusWords(status), firstLine(running, 40), shortPath(terminal.cwd, 40)]
          .filter((each) => each !== '')
          .join(' · '),
        sign: terminal.kind,
        run: () => this.app.openTerminal(terminal.id),
      };
    });
  }

  private views(): Item[] {
    return views.value.map((view) => ({
      kind: 'view',
      label: view.title(),
      detail: '',
      sign: view.icon,
      ...(view.keys?.[0] === undefined ? {} : { keys: shownKeys(view.keys[0]) }),
      run: () => this.app.openView(view.id),
    }));
  }

  private actions(): Item[] {
    return actions.value
      .filter((each) => each.hidden !== true && each.id !== 'palette' && !each.id.startsWith('view.') && each.isEnabled?.() !== false)
      .map((each) => ({
        kind: 'action',
        label: each.title,
        detail: each.group,
        sign: 'command',
        ...(each.keys?.[0] === undefined ? {} : { keys: shownKeys(each.keys[0]) }),
        run: each.run,
      }));
  }

  private workspaces(): Item[] {
    const state = this.app.live.state.value;
    const ids = new Set([DEFAULT_WORKSPACE, ...state.workspaces.map((each) => each.id), ...[...state.terminals.values()].map(workspaceOf)]);
    ids.delete(this.app.workspace.value);
    return [...ids].map((id) => ({
      kind: 'workspace',
      label: state.workspaces.find((each) => each.id === id)?.name ?? id,
      detail: t.switchWorkspace,
      sign: 'folder',
      run: () => this.app.switchWorkspace(id),
    }));
  }

  private async addCommands(): Promise<void> {
    const page = await ask.history({ limit: 200 }).catch(() => null);
    if (page === null || open !== this) return;
    const seen = new Set<string>();
    for (const entry of page.entries) {
      if (seen.has(entry.command) || seen.size >= MOST_COMMANDS) continue;
      seen.add(entry.command);
      this.items.push({
        kind: 'command',
        label: firstLine(entry.command, 120),
        detail: [when(entry.started_at), shown(entry.session ?? ''), (entry.exit_code ?? 0) === 0 ? '' : w.exitCode(entry.exit_code ?? 0)]
          .filter((each) => each !== '')
          .join(' · '),
        sign: 'play',
        run: () => this.app.openView('commands', { command: entry.command_id, show: 'all' }),
      });
    }
    this.search(this.chosen);
  }

  private search(keep = 0): void {
    this.found = rank(this.input.value, this.items, (item) => item.label, (item) => item.detail).slice(0, MOST);
    this.chosen = Math.min(keep, Math.max(0, this.found.length - 1));
    let last = '';
    const isSearch = this.input.value.trim() !== '';
    replace(
      this.list,
      this.found.map(({ item, at }, index) => {
        // Groups have headings only while they stand together.
        const heading = !isSearch && item.kind !== last && h('div', { class: 'palette-group', role: 'presentation' }, w.paletteGroups[item.kind] ?? '');
        last = item.kind;
        return [heading, this.option(item, at, index, isSearch)];
      }),
      this.found.length === 0 && h('div', { class: 'empty', role: 'option', 'aria-disabled': true, 'aria-selected': false }, w.paletteNothing),
    );
    setText(this.status, this.found.length === 0 ? w.paletteNothing : w.paletteCount(this.found.length));
    this.choose(this.chosen);
  }

  private option(item: Item, at: readonly number[], index: number, isSearch: boolean): HTMLElement {
    return h(
      'div',
      {
        class: 'palette-item',
        'data-kind': item.kind,
        role: 'option',
        id: `palette-${index}`,
        'aria-selected': false,
        onpointermove: () => this.chosen !== index && this.choose(index),
        onclick: () => this.run(index),
      },
      h('span', { class: 'palette-icon' }, icon(item.sign)),
      h(
        'span',
        { class: 'palette-text' },
        h('span', { class: `ellipsis ${item.kind === 'command' ? 'mono' : ''}` }, pieces(item.label, at).map((piece, number) => (number % 2 === 1 ? h('b', {}, piece) : piece))),
        item.detail !== '' && h('small', { class: 'soft ellipsis' }, item.detail),
      ),
      isSearch && h('small', { class: 'soft palette-kind' }, w.paletteGroups[item.kind] ?? ''),
      item.keys !== undefined && h('kbd', {}, item.keys),
    );
  }

  private choose(index: number): void {
    this.list.querySelector('[aria-selected="true"]')?.setAttribute('aria-selected', 'false');
    this.chosen = index;
    const element = this.list.querySelector(`#palette-${index}`);
    element?.setAttribute('aria-selected', 'true');
    element?.scrollIntoView({ block: 'nearest' });
    setAttributes(this.input, { 'aria-activedescendant': element === null ? null : `palette-${index}` });
  }

  private pressed(event: KeyboardEvent): void {
    if (event.isComposing) return;
    const count = this.found.length;
    const isAgain = event.key.toLowerCase() === 'k' && event.ctrlKey && !event.shiftKey;
    if (event.key === 'ArrowDown') this.choose((this.chosen + 1) % Math.max(1, count));
    else if (event.key === 'ArrowUp') this.choose((this.chosen - 1 + count) % Math.max(1, count));
    else if (event.key === 'PageDown') this.choose(Math.min(count - 1, this.chosen + 8));
    else if (event.key === 'PageUp') this.choose(Math.max(0, this.chosen - 8));
    else if (event.key === 'Enter') this.run(this.chosen);
    else if (event.key === 'Tab') {
      // There is nothing else to go to.
    } else if (isAgain) this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private run(index: number): void {
    const item = this.found[index]?.item;
    if (item === undefined) return;
    this.close();
    item.run();
  }
}
