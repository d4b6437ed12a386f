/** Questions at the edge of the page: they come at once, whatever is shown, and never take the keyboard from a terminal. */
import type { Question } from '../../api/types';
import { t } from '../../i18n';
import type { Services } from '../../frame/services';
import { shownKeys } from '../../ui/actions';
import { h, setText } from '../../ui/dom';
import { toast } from '../../ui/toasts';
import { iconButton } from '../../ui/widgets';
import '../shared/views.css';
import { firstLine } from '../shared/format';
import { w } from '../words';
import { notify } from './notify';
import { Pending } from './pending';
import { shownPending } from './shown';

export const REVIEW_KEYS = 'Ctrl+Shift+A';

export class Drawer {
  private readonly title = h('h2', { class: 'drawer-title' });
  private readonly element: HTMLElement;
  private readonly pending: Pending;
  private readonly known = new Set<string>();
  private readonly toasts = new Map<string, () => void>();
  private returnTo: HTMLElement | null = null;

  constructor(private readonly app: Services) {
    this.pending = new Pending(app, (waiting) => this.counted(waiting));
    this.element = h(
      'aside',
      { class: 'drawer', 'aria-label': t.approvals, hidden: true, onkeydown: (event: KeyboardEvent) => this.pressed(event) },
      h(
        'header',
        { class: 'drawer-head' },
        this.title,
        h('button', { type: 'button', class: 'button small', onclick: () => this.openView() }, w.openAll),
        iconButton('close', t.close, () => this.close()),
      ),
      h('div', { class: 'drawer-body' }, this.pending.element),
      h('p', { class: 'drawer-foot soft' }, w.keysHint),
    );
    document.querySelector('.app')?.append(this.element);
    app.live.state.watch(({ questions }) => this.follow(questions));
    // The view of approvals shows the same: once is enough.
    shownPending.subscribe((shown) => shown !== null && this.yieldTo(shown));
  }

  /** Goes to the questions: in their view if it can be seen, else here. */
  review(): void {
    const active = document.activeElement;
    if (shownPending.value?.focus() === true) return;
    if (!(active instanceof HTMLElement && this.element.contains(active))) this.returnTo = active as HTMLElement | null;
    if (this.pending.waiting.length === 0) return this.openView();
    this.forgetToasts();
    this.element.hidden = false;
    this.pending.focus();
  }

  private yieldTo(shown: { focus(): boolean }): void {
    const hadFocus = this.element.contains(document.activeElement);
    this.element.hidden = true;
    this.forgetToasts();
    if (hadFocus) shown.focus();
  }

  private openView(): void {
    this.element.hidden = true;
    this.app.openView('approvals');
  }

  private follow(questions: ReadonlyMap<string, Question>): void {
    for (const [id, forget] of this.toasts) {
      if (!questions.has(id)) {
        forget();
        this.toasts.delete(id);
      }
    }
    for (const question of questions.values()) {
      if (this.known.has(question.id)) continue;
      this.known.add(question.id);
      if (this.app.may('approve')) this.arrived(question);
    }
  }

  private arrived(question: Question): void {
    const level = w.levels[question.level] ?? question.level;
    const words = w.asked(firstLine(question.command, 80), level);
    const unnotify = notify(words, question.id, () => this.review());
    this.toasts.set(question.id, unnotify);
    if (shownPending.value !== null || !this.element.hidden) return;
    if (isTyping()) {
      const label = `${w.review} ${shownKeys(REVIEW_KEYS)}`;
      const forget = toast(words, { stay: null, actions: [{ label, run: () => this.review() }] });
      this.toasts.set(question.id, () => {
        unnotify();
        forget();
      });
      return;
    }
    this.returnTo = document.activeElement as HTMLElement | null;
    this.element.hidden = false;
    if (document.activeElement === null || document.activeElement === document.body) this.pending.focus(true);
  }

  private forgetToasts(): void {
    for (const forget of this.toasts.values()) forget();
  }

  private counted(waiting: number): void {
    setText(this.title, waiting === 0 ? t.approvals : t.approvalsPending(waiting));
    // What is over is shown for a moment before it goes.
    if (waiting === 0 && this.element !== undefined && !this.element.hidden && this.pending.element.querySelector('.ask') === null) {
      this.close();
    }
  }

  private close(): void {
    const hadFocus = this.element.contains(document.activeElement) || document.activeElement === document.body;
    this.element.hidden = true;
    if (!hadFocus) return;
    if (this.returnTo?.isConnected === true && this.returnTo !== document.body) this.returnTo.focus();
    else document.querySelector<HTMLElement>('#dock')?.focus();
  }

  private pressed(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    event.preventDefault();
    this.close();
  }
}

/** Whether keys go somewhere that they must not be taken from. */
function isTyping(): boolean {
  const active = document.activeElement;
  return active?.closest('.xterm, input, textarea, select, dialog, [contenteditable]') != null;
}
