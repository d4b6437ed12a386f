/** Short messages at the edge of the page, read aloud, with actions; they go by themselves. */
import { t } from '../i18n';
import { h } from './dom';
import { icon } from './icons';

export interface ToastAction {
  label: string;
  run: () => void;
}

export interface ToastOptions {
  kind?: 'info' | 'error';
  /** How long it stays; null: until it is dismissed. */
  stay?: number | null;
  actions?: readonly ToastAction[];
  /** Called once when it is gone, unless an action was taken. */
  onGone?: () => void;
}

const STAY_MS = 4_000;
const ERROR_STAY_MS = 8_000;

const region = h('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' });

export function mountToasts(root: HTMLElement): void {
  root.append(region);
}

/** Shows a message. Returns how to take it away. */
export function toast(text: string, options: ToastOptions = {}): () => void {
  const stay = options.stay === undefined ? (options.kind === 'error' ? ERROR_STAY_MS : STAY_MS) : options.stay;
  let left = stay ?? 0;
  let started = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const element = h(
    'div',
    { class: `toast ${options.kind ?? 'info'}`, role: options.kind === 'error' ? 'alert' : null },
    h('span', { class: 'toast-text' }, text),
    ...(options.actions ?? []).map((action) =>
      h(
        'button',
        {
          type: 'button',
          class: 'button small',
          onclick: () => {
            remove();
            action.run();
          },
        },
        action.label,
      ),
    ),
    h(
      'button',
      { type: 'button', class: 'icon-button small', 'aria-label': t.dismiss, onclick: () => end() },
      icon('close', 14),
    ),
  );

  const remove = () => {
    clearTimeout(timer);
    element.remove();
  };
  const end = () => {
    remove();
    options.onGone?.();
  };
  const pause = () => {
    clearTimeout(timer);
    left -= performance.now() - started;
  };
  const go = () => {
    clearTimeout(timer);
    if (stay === null) return;
    started = performance.now();
    timer = setTimeout(end, Math.max(left, 0));
  };
  if (stay !== null) {
    // Whoever reaches for the buttons has the time to.
    element.addEventListener('pointerenter', pause);
    element.addEventListener('pointerleave', go);
    element.addEventListener('focusin', pause);
    element.addEventListener('focusout', go);
  }
  region.append(element);
  go();
  return remove;
}
