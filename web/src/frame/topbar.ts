/** The bar at the top: workspace, connection, views, help, appearance. */
import { t } from '../i18n';
import { DEFAULT_WORKSPACE, workspaceOf } from '../state/store';
import { actions, runAction, shownKeys } from '../ui/actions';
import { askText } from '../ui/dialogs';
import { h, replace, setAttributes, setText, type Child } from '../ui/dom';
import { icon } from '../ui/icons';
import { openMenu, type MenuItem } from '../ui/menus';
import { iconButton } from '../ui/widgets';
import { views } from '../views/registry';
import { showDisplaySettings } from './display';
import { showHelp } from './help';
import type { Services } from './services';

export class TopBar {
  readonly element = h('header', { class: 'topbar', 'aria-label': t.topBar });
  private readonly workspace = h('button', {
    type: 'button',
    class: 'workspace-button',
    'aria-haspopup': 'menu',
    title: t.switchWorkspace,
    onclick: () => this.chooseWorkspace(),
  });
  private readonly dot = h('span', { class: 'connection', role: 'status' });
  private readonly views = h('div', { class: 'topbar-views' });
  private readonly allViews = iconButton('more', t.allViews, () => this.chooseView());
  private readonly palette = iconButton('command', t.palette, () => void runAction('palette'), shownKeys('Ctrl+Shift+P'));

  constructor(
    private readonly app: Services,
    toggleSidebar: () => void,
  ) {
    this.element.append(
      iconButton('sidebar', t.toggleSidebar, toggleSidebar, shownKeys('Ctrl+Shift+B')),
      h('h1', { class: 'brand', 'aria-label': 'hermitty' }, icon('logo', 18), h('span', {}, 'hermitty')),
      this.workspace,
      h('span', { class: 'spring' }),
      this.dot,
      this.views,
      this.allViews,
      this.palette,
      iconButton('help', t.help, showHelp, shownKeys('Ctrl+Shift+Slash')),
      iconButton('sun', t.settings, showDisplaySettings),
    );
    const render = () => this.render();
    app.live.state.subscribe(render);
    app.live.stream.subscribe(render);
    app.workspace.subscribe(render);
    views.subscribe(render);
    actions.subscribe(render);
    this.render();
  }

  private render(): void {
    replace(this.workspace, h('span', { class: 'ellipsis' }, this.name(this.app.workspace.value)), icon('chevronDown', 14));
    const stream = this.app.live.stream.value;
    const words = { open: t.connected, connecting: t.reconnecting, lost: t.reconnecting }[stream];
    setAttributes(this.dot, { class: `connection ${stream}`, title: words });
    if (this.dot.childElementCount === 0) this.dot.append(h('span', { class: 'visually-hidden' }));
    setText(this.dot.firstElementChild as Element, words);
    setAttributes(this.allViews, { 'aria-haspopup': 'menu' });
    this.allViews.hidden = views.value.length === 0;
    this.palette.hidden = !actions.value.some((each) => each.id === 'palette');
    replace(this.views, views.value.filter((each) => each.order !== undefined).map((each) => this.viewButton(each.id)));
  }

  private viewButton(id: string): Child {
    const view = views.value.find((each) => each.id === id);
    if (view === undefined) return null;
    const count = view.badge?.(this.app.live.state.value) ?? 0;
    const button = iconButton(view.icon, count > 0 ? `${count} ${view.title()}` : view.title(), () => this.app.openView(id));
    button.dataset['view'] = id;
    if (count > 0) button.append(h('span', { class: 'badge', 'aria-hidden': 'true' }, count > 99 ? '99+' : String(count)));
    return button;
  }

  private chooseView(): void {
    openMenu(
      this.allViews,
      t.allViews,
      views.value.map((view) => ({
        label: view.title(),
        icon: view.icon,
        ...(view.keys?.[0] === undefined ? {} : { keys: shownKeys(view.keys[0]) }),
        run: () => this.app.openView(view.id),
      })),
    );
  }

  private name(id: string): string {
    const found = this.app.live.state.value.workspaces.find((each) => each.id === id);
    return found?.name ?? id;
  }

  private chooseWorkspace(): void {
    const state = this.app.live.state.value;
    const here = this.app.workspace.value;
    const ids = new Set([
      DEFAULT_WORKSPACE,
      here,
      ...state.workspaces.map((each) => each.id),
      ...[...state.terminals.values()].map(workspaceOf),
    ]);
    const count = (id: string) => [...state.terminals.values()].filter((each) => workspaceOf(each) === id).length;
    const items: MenuItem[] = [...ids].map((id) => ({
      label: this.name(id),
      detail: t.terminalCount(count(id)),
      checked: id === here,
      run: () => this.app.switchWorkspace(id),
    }));
    openMenu(this.workspace, t.switchWorkspace, [
      ...items,
      'line',
      { label: t.newWorkspace, icon: 'plus', run: () => void this.newWorkspace() },
    ]);
  }

  private async newWorkspace(): Promise<void> {
    const name = await askText(t.newWorkspace, t.workspaceName, '');
    if (name !== null && name !== '') this.app.switchWorkspace(name);
  }
}
