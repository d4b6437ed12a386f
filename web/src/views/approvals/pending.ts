/** The questions that wait, each as a card. One that is over says how it ended, and goes after a moment. */
import type { Question, ServerEvent } from '../../api/types';
import { h } from '../../ui/dom';
import { nothing } from '../shared/frame';
import { w } from '../words';
import { Card, type CardContext } from './card';

const FAREWELL_MS = 2_500;

export class Pending {
  readonly element = h('div', { class: 'asks' });
  private readonly cards = new Map<string, Card>();
  private readonly stops: (() => void)[] = [];
  private readonly empty = nothing('check', w.nothingPending, w.nothingPendingHint);

  /** `changed` is told how many questions wait, whenever that may be another number. */
  constructor(
    private readonly context: CardContext,
    private readonly changed: (waiting: number) => void = () => undefined,
  ) {
    const timer = setInterval(() => this.tick(), 1_000);
    // Events come after the state has changed: the card must be there still when it is told how it ended.
    const answered = context.live.onEvent((event) => this.answered(event));
    this.stops.push(context.live.state.watch(({ questions }) => this.follow(questions)), answered, () => clearInterval(timer));
    this.element.addEventListener('keydown', (event) => this.pressed(event));
  }

  get waiting(): Card[] {
    return [...this.cards.values()].filter((card) => !card.isOver);
  }

  dispose(): void {
    for (const stop of this.stops) stop();
  }

  /** Gives the focus to the oldest question. */
  focus(isSudden = false): boolean {
    const [first] = this.waiting;
    first?.focus(isSudden);
    return first !== undefined;
  }

  private follow(questions: ReadonlyMap<string, Question>): void {
    const wanted = [...questions.values()].sort((a, b) => (a.asked_at ?? 0) - (b.asked_at ?? 0));
    for (const question of wanted) {
      if (this.cards.has(question.id)) continue;
      const card = new Card(question, this.context);
      this.cards.set(question.id, card);
      this.element.append(card.element);
    }
    // Those that are gone are told so by an event right after this; without one (a reload) they just go.
    queueMicrotask(() => {
      for (const [id, card] of this.cards) {
        if (!this.context.live.state.value.questions.has(id) && !card.isOver) this.take(id);
      }
      this.show();
    });
    this.show();
  }

  private answered(event: ServerEvent): void {
    if (event.type !== 'approval_answered' || event.approval === undefined) return;
    const { id, outcome = '', by = '' } = event.approval as { id: string; outcome?: string; by?: string };
    const card = this.cards.get(id);
    if (card === undefined) return;
    const hadFocus = card.element.contains(document.activeElement);
    card.end(outcome, by);
    if (hadFocus && !this.focus(true)) card.element.focus({ preventScroll: true });
    setTimeout(() => this.take(id), FAREWELL_MS);
    this.show();
  }

  private take(id: string): void {
    const card = this.cards.get(id);
    if (card === undefined) return;
    const hadFocus = card.element.contains(document.activeElement);
    card.element.remove();
    this.cards.delete(id);
    if (hadFocus) this.focus(true);
    this.show();
  }

  private show(): void {
    if (this.cards.size === 0) this.element.append(this.empty);
    else this.empty.remove();
    this.changed(this.waiting.length);
  }

  private tick(): void {
    if (document.visibilityState === 'visible') for (const card of this.cards.values()) card.tick();
  }

  private pressed(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    const target = event.target as HTMLElement;
    if (step === undefined || target.matches('input, textarea, select, pre')) return;
    const cards = this.waiting;
    const index = cards.findIndex((card) => card.element.contains(target));
    cards[Math.max(0, Math.min(cards.length - 1, index + step))]?.focus();
    event.preventDefault();
  }
}
