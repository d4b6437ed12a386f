/** A panel with a view, which is loaded when the panel is made. */
import type { GroupPanelPartInitParameters, IContentRenderer } from 'dockview';
import type { Services } from '../frame/services';
import { t } from '../i18n';
import { h, replace } from '../ui/dom';
import { Signal } from '../ui/signal';
import { findView, type MountedView } from '../views/registry';
import { readParams } from './layout';

export class ViewPanel implements IContentRenderer {
  readonly element = h('section', { class: 'view-panel', role: 'group' });
  readonly params = new Signal<Record<string, string>>({});
  private readonly isShown = new Signal(true);
  private mounted: MountedView | null = null;
  private isDisposed = false;
  private stop: (() => void) | null = null;

  constructor(private readonly app: Services) {}

  init(parameters: GroupPanelPartInitParameters): void {
    const params = readParams(parameters.params);
    const view = params?.kind === 'view' ? findView(params.view) : undefined;
    const visible = parameters.api.onDidVisibilityChange(({ isVisible }) => this.isShown.set(isVisible));
    this.stop = () => visible.dispose();
    this.isShown.set(parameters.api.isVisible);
    if (view === undefined) {
      replace(this.element, h('p', { class: 'empty' }, t.viewFailed));
      return;
    }
    this.element.setAttribute('aria-label', view.title());
    replace(this.element, h('p', { class: 'empty', role: 'status' }, t.loading));
    parameters.api.setTitle(view.title());
    view.load().then(
      (module) => {
        if (this.isDisposed) return;
        this.element.replaceChildren();
        this.mounted = module.mount(this.element, {
          live: this.app.live,
          workspace: this.app.workspace,
          openTerminal: (id) => this.app.openTerminal(id),
          openView: (id, given) => this.app.openView(id, given),
          close: () => parameters.api.close(),
          params: this.params,
          isShown: this.isShown,
        });
        if (parameters.api.isActive) this.focus();
      },
      () => replace(this.element, h('p', { class: 'empty', role: 'alert' }, t.viewFailed)),
    );
  }

  focus(): void {
    this.mounted?.focus?.();
  }

  dispose(): void {
    this.isDisposed = true;
    this.stop?.();
    this.mounted?.dispose?.();
  }
}
