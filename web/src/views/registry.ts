/**
 * Views: what the page shows besides terminals (approvals, history, settings …). Each is loaded when it is opened first.
 *
 *     registerView({
 *       id: 'history',
 *       title: () => t.history,
 *       icon: 'list',
 *       load: () => import('./history'),
 *     });
 *
 * The module that `load` gives has a function `mount`, which fills an element and returns how to let go of it.
 */
import type { Live } from '../state/live';
import type { State } from '../state/store';
import type { IconName } from '../ui/icons';
import { Signal } from '../ui/signal';

/** What a view may use of the page. */
export interface ViewContext {
  live: Live;
  /** The workspace that is shown. */
  workspace: Signal<string>;
  openTerminal(id: string): void;
  openView(id: string, params?: Record<string, string>): void;
  close(): void;
  /** What `openView` was given; told again when the view is open already. */
  params: Signal<Record<string, string>>;
  /** Whether the view can be seen. */
  isShown: Signal<boolean>;
}

export interface MountedView {
  dispose?(): void;
  focus?(): void;
}

export interface ViewModule {
  mount(root: HTMLElement, context: ViewContext): MountedView;
}

export interface View {
  id: string;
  title: () => string;
  icon: IconName;
  load: () => Promise<ViewModule>;
  /** A number on its button; 0 for none. */
  badge?: (state: State) => number;
  /** Its place among the buttons of the top bar; the smallest comes first. Without one there is no button. */
  order?: number;
  keys?: readonly string[];
}

export const views = new Signal<readonly View[]>([]);

export function registerView(view: View): void {
  const others = views.value.filter((each) => each.id !== view.id);
  views.set([...others, view].sort((a, b) => (a.order ?? Infinity) - (b.order ?? Infinity)));
}

export function findView(id: string): View | undefined {
  return views.value.find((each) => each.id === id);
}
