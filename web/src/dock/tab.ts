/** The tab of a panel: what it is, its name, what it does. Double click or F2 renames, the middle button closes. */
import type { ITabRenderer, TabPartInitParameters } from 'dockview';
import type { Services } from '../frame/services';
import { t } from '../i18n';
import { statusOf, statusWords } from '../state/describe';
import { h, replace, setText } from '../ui/dom';
import { icon } from '../ui/icons';
import { openMenu } from '../ui/menus';
import { kindIcon, statusDot } from '../ui/widgets';
import { findView } from '../views/registry';
import { readParams, type PanelParams } from './layout';

export class Tab implements ITabRenderer {
  readonly element = h('div', { class: 'tab' });
  private readonly sign = h('span', { class: 'tab-icon' });
  private readonly title = h('span', { class: 'tab-title' });
  private readonly status = h('span', { class: 'tab-status' });
  private panel!: TabPartInitParameters['api'];
  private params: PanelParams | null = null;
  private readonly stops: (() => void)[] = [];

  constructor(private readonly app: Services) {
    // Not a button of its own: a tab can have no controls inside. With the keyboard it is Delete, or Ctrl+Shift+X.
    const close = h(
      'span',
      {
        class: 'tab-close',
        'aria-hidden': 'true',
        title: t.close,
        onpointerdown: (event: Event) => event.stopPropagation(),
        onclick: (event: Event) => {
          event.stopPropagation();
          this.close();
        },
      },
      icon('close', 12),
    );
    this.element.append(this.sign, this.title, this.status, close);
    this.element.addEventListener('dblclick', () => this.rename());
    this.element.addEventListener('auxclick', (event) => {
      if (event.button === 1) this.close();
    });
    this.element.addEventListener('contextmenu', (event) => this.menu(event));
  }

  init(parameters: TabPartInitParameters): void {
    this.panel = parameters.api;
    this.params = readParams(parameters.params);
    const title = this.panel.onDidTitleChange(() => this.render());
    const params = this.panel.onDidParametersChange((value) => {
      this.params = readParams(value);
      this.render();
    });
    this.stops.push(
      () => title.dispose(),
      () => params.dispose(),
      this.app.live.state.subscribe(() => this.render()),
    );
    this.render();
  }

  dispose(): void {
    for (const stop of this.stops) stop();
  }

  private render(): void {
    setText(this.title, this.panel.title ?? '');
    if (this.params?.kind === 'view') {
      const view = findView(this.params.view);
      if (this.sign.childElementCount === 0 && view !== undefined) replace(this.sign, icon(view.icon, 14));
      return;
    }
    const state = this.app.live.state.value;
    const found = this.params === null ? undefined : state.terminals.get(this.params.terminal);
    const status = found === undefined ? null : statusOf(found, state.waiting.has(found.id));
    const key = `${found?.kind ?? ''}|${this.panel.title ?? ''}|${JSON.stringify(status)}`;
    if (this.element.dataset['key'] === key) return;
    this.element.dataset['key'] = key;
    replace(this.sign, found === undefined ? icon('terminal', 14) : kindIcon(found.kind));
    replace(this.status, status !== null && status.kind !== 'idle' && statusDot(status));
    // The library names a tab by its title alone, and does so again with each new title.
    queueMicrotask(() => {
      const words = status === null ? '' : `, ${statusWords(status)}`;
      this.element.closest('[role="tab"]')?.setAttribute('aria-label', `${this.panel.title ?? ''}${words}`);
    });
  }

  private rename(): void {
    if (this.params?.kind === 'terminal' && this.app.may('run')) void this.app.rename(this.params.terminal);
  }

  private close(): void {
    if (this.params?.kind === 'terminal' && this.app.may('run')) void this.app.closeTerminal(this.params.terminal);
    else this.app.hidePanel(this.panel.id);
  }

  private menu(event: MouseEvent): void {
    event.preventDefault();
    event.stopPropagation();
    const isTerminal = this.params?.kind === 'terminal';
    const mayRun = this.app.may('run');
    openMenu({ x: event.clientX, y: event.clientY }, this.panel.title ?? '', [
      ...(isTerminal ? [{ label: t.rename, disabled: !mayRun, run: () => this.rename() }] : []),
      { label: isTerminal ? t.hidePanel : t.close, run: () => this.app.hidePanel(this.panel.id) },
      ...(isTerminal ? [{ label: t.closePanel, danger: true, disabled: !mayRun, run: () => this.close() }] : []),
    ]);
  }
}
