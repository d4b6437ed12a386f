/** The search bar of a terminal. */
import type { SearchAddon } from '@xterm/addon-search';
import type { Terminal } from '@xterm/xterm';
import { t } from '../i18n';
import { h, setText } from '../ui/dom';
import { icon } from '../ui/icons';
import { look } from '../ui/theme';

export class FindBar {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly count: HTMLElement;
  private addon: SearchAddon | null = null;
  private isRegex = false;
  private isCaseSensitive = false;

  constructor(
    private readonly terminal: Terminal,
    private readonly closed: () => void,
  ) {
    this.input = h('input', {
      class: 'input small',
      type: 'search',
      placeholder: t.find,
      'aria-label': t.find,
      spellcheck: 'false',
      autocomplete: 'off',
      oninput: () => this.find('next', true),
      onkeydown: (event: KeyboardEvent) => this.key(event),
    });
    this.count = h('span', { class: 'find-count', role: 'status' });
    this.element = h(
      'div',
      { class: 'find', role: 'search', hidden: true },
      this.input,
      this.count,
      this.toggle('Aa', t.matchCase, (on) => (this.isCaseSensitive = on)),
      this.toggle('.*', t.regex, (on) => (this.isRegex = on)),
      button('chevronUp', t.findPrevious, () => this.find('previous')),
      button('chevronDown', t.findNext, () => this.find('next')),
      button('close', t.close, () => this.hide()),
    );
  }

  async show(): Promise<void> {
    this.element.hidden = false;
    const selected = this.terminal.getSelection();
    if (selected !== '' && !selected.includes('\n')) this.input.value = selected;
    this.input.focus();
    this.input.select();
    if (this.addon === null) {
      const { SearchAddon } = await import('@xterm/addon-search');
      this.addon = new SearchAddon();
      this.terminal.loadAddon(this.addon);
      this.addon.onDidChangeResults(({ resultIndex, resultCount }) =>
        setText(this.count, this.input.value === '' ? '' : t.matches(resultIndex + 1, resultCount)),
      );
    }
    if (this.input.value !== '') this.find('next', true);
  }

  hide(): void {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.addon?.clearDecorations();
    this.closed();
  }

  private key(event: KeyboardEvent): void {
    if (event.key === 'Escape') this.hide();
    else if (event.key === 'Enter') this.find(event.shiftKey ? 'previous' : 'next');
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private find(direction: 'next' | 'previous', incremental = false): void {
    const dark = look.value !== 'light';
    const options = {
      regex: this.isRegex && isPattern(this.input.value),
      caseSensitive: this.isCaseSensitive,
      incremental,
      decorations: {
        matchBackground: dark ? '#5a4a12' : '#fbe7a1',
        matchOverviewRuler: '#c99a1c',
        activeMatchBackground: dark ? '#8a6d10' : '#ffc53d',
        activeMatchColorOverviewRuler: '#e08a00',
      },
    };
    if (this.input.value === '') {
      this.addon?.clearDecorations();
      setText(this.count, '');
    } else if (direction === 'next') this.addon?.findNext(this.input.value, options);
    else this.addon?.findPrevious(this.input.value, options);
  }

  private toggle(text: string, label: string, set: (on: boolean) => void): HTMLElement {
    const element = h(
      'button',
      {
        type: 'button',
        class: 'icon-button small text',
        'aria-label': label,
        title: label,
        'aria-pressed': false,
        onclick: () => {
          const on = element.getAttribute('aria-pressed') !== 'true';
          element.setAttribute('aria-pressed', String(on));
          set(on);
          this.find('next', true);
        },
      },
      text,
    );
    return element;
  }
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}

function button(name: Parameters<typeof icon>[0], label: string, run: () => void): HTMLElement {
  return h(
    'button',
    { type: 'button', class: 'icon-button small', 'aria-label': label, title: label, onclick: run },
    icon(name, 14),
  );
}
