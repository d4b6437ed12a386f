/** Menus that open at a button or a point; keyboard as WAI-ARIA describes it. */
import { h, type Child } from './dom';
import { icon, type IconName } from './icons';

export type MenuItem =
  | {
      label: string;
      run: () => void;
      icon?: IconName;
      keys?: string;
      detail?: string;
      disabled?: boolean;
      checked?: boolean;
      danger?: boolean;
    }
  | { heading: string }
  | 'line';

let close: (() => void) | null = null;

export function closeMenu(): void {
  close?.();
}

export function openMenu(at: HTMLElement | { x: number; y: number }, label: string, items: readonly MenuItem[]): void {
  close?.();
  const opener = at instanceof HTMLElement ? at : (document.activeElement as HTMLElement | null);
  const menu = h('div', { class: 'menu', role: 'menu', 'aria-label': label, tabindex: -1 }, ...items.map(row));
  const buttons = [...menu.querySelectorAll<HTMLButtonElement>('button:not([aria-disabled="true"])')];

  const shut = (refocus: boolean) => {
    close = null;
    document.removeEventListener('pointerdown', outside, true);
    window.removeEventListener('resize', away);
    window.removeEventListener('blur', away);
    menu.remove();
    if (at instanceof HTMLElement) at.setAttribute('aria-expanded', 'false');
    if (refocus) opener?.focus();
  };
  const outside = (event: Event) => {
    if (!menu.contains(event.target as Node)) shut(false);
  };
  const away = () => shut(false);

  function row(item: MenuItem): Child {
    if (item === 'line') return h('div', { class: 'menu-line', role: 'separator' });
    if ('heading' in item) return h('div', { class: 'menu-heading', role: 'presentation' }, item.heading);
    return h(
      'button',
      {
        type: 'button',
        class: `menu-item ${item.danger === true ? 'danger' : ''}`,
        role: item.checked === undefined ? 'menuitem' : 'menuitemradio',
        'aria-checked': item.checked,
        'aria-disabled': item.disabled === true ? true : undefined,
        tabindex: -1,
        onclick: () => {
          if (item.disabled === true) return;
          shut(true);
          item.run();
        },
      },
      h('span', { class: 'menu-icon' }, item.checked === true ? icon('check') : item.icon && icon(item.icon)),
      h('span', { class: 'menu-label' }, item.label, item.detail !== undefined && h('small', {}, item.detail)),
      item.keys !== undefined && h('kbd', {}, item.keys),
    );
  }

  menu.addEventListener('keydown', (event) => {
    const index = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const go = (to: number) => buttons[(to + buttons.length) % buttons.length]?.focus();
    if (event.key === 'ArrowDown') go(index + 1);
    else if (event.key === 'ArrowUp') go(index - 1);
    else if (event.key === 'Home') go(0);
    else if (event.key === 'End') go(-1);
    else if (event.key === 'Escape') shut(true);
    else if (event.key === 'Tab') shut(true);
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && event.key !== ' ') {
      const found = buttons.find((each, at) => at > index && starts(each, event.key)) ?? buttons.find((each) => starts(each, event.key));
      found?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  document.body.append(menu);
  place(menu, at);
  if (at instanceof HTMLElement) at.setAttribute('aria-expanded', 'true');
  (buttons.find((each) => each.getAttribute('aria-checked') === 'true') ?? buttons[0] ?? menu).focus();
  document.addEventListener('pointerdown', outside, true);
  window.addEventListener('resize', away);
  window.addEventListener('blur', away);
  close = () => shut(false);
}

function starts(button: HTMLElement, key: string): boolean {
  const text = button.querySelector('.menu-label')?.textContent ?? '';
  return text.toLowerCase().startsWith(key.toLowerCase());
}

function place(menu: HTMLElement, at: HTMLElement | { x: number; y: number }): void {
  const { width, height } = menu.getBoundingClientRect();
  const margin = 4;
  let x: number;
  let y: number;
  if (at instanceof HTMLElement) {
    const box = at.getBoundingClientRect();
    x = box.left + width > innerWidth - margin ? box.right - width : box.left;
    y = box.bottom + margin + height > innerHeight ? box.top - height - margin : box.bottom + margin;
  } else {
    x = at.x + width > innerWidth ? at.x - width : at.x;
    y = at.y + height > innerHeight ? at.y - height : at.y;
  }
  menu.style.left = `${Math.max(margin, Math.min(x, innerWidth - width - margin))}px`;
  menu.style.top = `${Math.max(margin, y)}px`;
}
