/** What every view has: a heading with tools, a body, its place in the address, and things to let go of. */
import './views.css';
import { ApiError } from '../../api/client';
import type { Scope } from '../../api/types';
import { t } from '../../i18n';
import { copyText } from '../../terminal/clipboard';
import { h, replace, setAttributes, type Child } from '../../ui/dom';
import { icon, type IconName } from '../../ui/icons';
import { toast } from '../../ui/toasts';
import { writeHash } from '../hash';
import type { MountedView, ViewContext } from '../registry';
import { w } from '../words';

export class Frame {
  readonly tools = h('div', { class: 'view-tools' });
  readonly body = h('div', { class: 'view-body' });
  private readonly heading: HTMLHeadingElement;
  private readonly stops: (() => void)[] = [];
  isGone = false;

  constructor(
    readonly root: HTMLElement,
    readonly context: ViewContext,
    readonly id: string,
    title: string,
    className = '',
  ) {
    this.heading = h('h2', { class: 'view-title', tabindex: -1 }, title);
    root.append(
      h('div', { class: `view ${className}` }, h('header', { class: 'view-head' }, this.heading, this.tools), this.body),
    );
    const place = () => {
      if (context.isShown.value) history.replaceState(null, '', writeHash({ view: id, params: context.params.value }));
      else this.leavePlace();
    };
    this.onGone(context.params.watch(place), context.isShown.subscribe(place));
  }

  set title(text: string) {
    this.heading.textContent = text;
  }

  /** Notes what to do when the view is closed. */
  onGone(...stops: (() => void)[]): void {
    this.stops.push(...stops);
  }

  /** Does something again and again while the view can be seen. */
  every(ms: number, run: () => void): void {
    const timer = setInterval(() => {
      if (this.context.isShown.value && document.visibilityState === 'visible') run();
    }, ms);
    this.onGone(() => clearInterval(timer), this.context.isShown.subscribe((isShown) => isShown && run()));
  }

  mounted(focus?: () => void): MountedView {
    return {
      focus: focus ?? (() => this.heading.focus({ preventScroll: true })),
      dispose: () => {
        this.isGone = true;
        for (const stop of this.stops) stop();
        this.leavePlace();
      },
    };
  }

  private leavePlace(): void {
    const isOurs = location.hash === `#/${this.id}` || location.hash.startsWith(`#/${this.id}?`);
    if (isOurs) history.replaceState(null, '', location.pathname + location.search);
  }
}

export function may(context: Pick<ViewContext, 'live'>, scope: Scope): boolean {
  const scopes = context.live.state.value.info?.me.scopes ?? [];
  return scopes.includes(scope) || scopes.includes('admin');
}

export function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : t.failed;
}

/** Shows that something failed, in words of the server. */
export function tellError(error: unknown): void {
  toast(error instanceof ApiError && error.code === 'missing_scope' ? w.notAllowed : messageOf(error), { kind: 'error' });
}

/** Calls at most once in a while; the last call always counts. */
export function calmly(ms: number, run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;
  return () => {
    clearTimeout(timer);
    const wait = Math.max(0, last + ms - performance.now());
    timer = setTimeout(() => {
      last = performance.now();
      run();
    }, wait);
  };
}

export function nothing(sign: IconName, title: string, hint = '', ...children: Child[]): HTMLElement {
  return h(
    'div',
    { class: 'nothing' },
    h('span', { class: 'nothing-icon' }, icon(sign, 28)),
    h('p', { class: 'nothing-title' }, title),
    hint !== '' && h('p', {}, hint),
    ...children,
  );
}

export function problem(error: unknown, again: () => void): HTMLElement {
  return h(
    'div',
    { class: 'nothing', role: 'alert' },
    h('span', { class: 'nothing-icon bad' }, icon('warning', 28)),
    h('p', { class: 'nothing-title' }, w.cannotLoad),
    h('p', {}, messageOf(error)),
    h('button', { type: 'button', class: 'button', onclick: again }, t.retry),
  );
}

export function button(label: string, run: () => void, options: { icon?: IconName; kind?: string; title?: string } = {}): HTMLButtonElement {
  return h(
    'button',
    { type: 'button', class: `button ${options.kind ?? ''}`, title: options.title, onclick: run },
    options.icon && icon(options.icon, 14),
    label,
  );
}

export interface Choice {
  value: string;
  label: string;
}

/** A field with a list to choose from. `fill` changes the list and keeps what is chosen, if it is still there. */
export class Select {
  readonly element: HTMLSelectElement;

  constructor(label: string, choices: readonly Choice[], changed: (value: string) => void) {
    this.element = h('select', { class: 'input small', 'aria-label': label, onchange: () => changed(this.value) });
    this.fill(choices);
  }

  get value(): string {
    return this.element.value;
  }

  set value(value: string) {
    this.element.value = value;
  }

  fill(choices: readonly Choice[]): void {
    const key = JSON.stringify(choices);
    if (this.element.dataset['key'] === key) return;
    const before = this.element.value;
    this.element.dataset['key'] = key;
    replace(this.element, choices.map((each) => h('option', { value: each.value }, each.label)));
    if (choices.some((each) => each.value === before)) this.element.value = before;
  }
}

export function searchField(label: string, changed: (text: string) => void, delay = 200): HTMLInputElement {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const input = h('input', {
    class: 'input small search-field',
    type: 'search',
    'aria-label': label,
    placeholder: label,
    autocomplete: 'off',
    spellcheck: 'false',
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => changed(input.value.trim()), delay);
    },
  });
  return input;
}

/** Buttons of which one is pressed. */
export class Segments {
  readonly element: HTMLElement;
  private readonly buttons = new Map<string, HTMLButtonElement>();

  constructor(label: string, choices: readonly Choice[], chosen: string, changed: (value: string) => void) {
    this.element = h('div', { class: 'segments', role: 'group', 'aria-label': label });
    for (const { value, label: text } of choices) {
      const each = h(
        'button',
        {
          type: 'button',
          class: 'segment',
          onclick: () => {
            this.choose(value);
            changed(value);
          },
        },
        text,
      );
      this.buttons.set(value, each);
      this.element.append(each);
    }
    this.choose(chosen);
  }

  choose(value: string): void {
    for (const [each, element] of this.buttons) setAttributes(element, { 'aria-pressed': each === value });
  }
}

/** Tabs as WAI-ARIA describes them: arrows go from one to the next, and what is chosen is shown. */
export class Tabs {
  readonly element: HTMLElement;
  private readonly tabs = new Map<string, HTMLButtonElement>();
  private readonly panels: Map<string, HTMLElement>;
  value: string;

  constructor(label: string, choices: readonly (Choice & { panel: HTMLElement })[], private readonly changed: (value: string) => void) {
    this.value = choices[0]?.value ?? '';
    this.panels = new Map(choices.map((each) => [each.value, each.panel]));
    this.element = h('div', { class: 'tabs', role: 'tablist', 'aria-label': label });
    for (const { value, label: text, panel } of choices) {
      const tab = h(
        'button',
        { type: 'button', class: 'tabs-tab', role: 'tab', id: `tab-${value}`, 'aria-controls': `panel-${value}`, onclick: () => this.choose(value) },
        text,
      );
      setAttributes(panel, { role: 'tabpanel', id: `panel-${value}`, 'aria-labelledby': `tab-${value}` });
      this.tabs.set(value, tab);
      this.element.append(tab);
    }
    this.element.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      const values = [...this.tabs.keys()];
      const next = values[(values.indexOf(this.value) + step + values.length) % values.length] ?? this.value;
      this.choose(next);
      this.tabs.get(next)?.focus();
      event.preventDefault();
    });
    this.show();
  }

  choose(value: string): void {
    if (value === this.value || !this.tabs.has(value)) return;
    this.value = value;
    this.show();
    this.changed(value);
  }

  label(value: string, text: string): void {
    const tab = this.tabs.get(value);
    if (tab !== undefined && tab.textContent !== text) tab.textContent = text;
  }

  private show(): void {
    for (const [each, tab] of this.tabs) {
      setAttributes(tab, { 'aria-selected': each === this.value, tabindex: each === this.value ? 0 : -1 });
      const panel = this.panels.get(each);
      if (panel !== undefined) panel.hidden = each !== this.value;
    }
  }
}

export async function copy(text: string): Promise<void> {
  toast((await copyText(text)) ? t.copied : w.copyFailed);
}
