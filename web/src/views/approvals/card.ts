/** One question: the whole command, what it does and why it is asked about, and the ways to answer. */
import { ApiError } from '../../api/client';
import type { Question } from '../../api/types';
import { clock, nameOf } from '../../state/describe';
import { h, newId, replace, setAttributes, setText } from '../../ui/dom';
import { icon } from '../../ui/icons';
import { toast } from '../../ui/toasts';
import type { ViewContext } from '../registry';
import { ask, type Part } from '../shared/api';
import { shownText } from '../shared/code';
import { exactly, when } from '../shared/format';
import { copy, may, messageOf } from '../shared/frame';
import { w } from '../words';
import { ruleWords, segments } from './marking';
import { seen, visible } from '../../ui/unseen';

export type Answer = 'allow' | 'deny' | 'skip';
export type CardContext = Pick<ViewContext, 'live' | 'openTerminal'>;

/** A question that has just come under somebody's fingers takes no keys for so long: they were meant for another. */
const DEAD_MS = 350;

/** Keys that are down, by their codes. One that was down when a question came under it must go up before keys count. */
const held = new Set<string>();
let ups = 0;
addEventListener('keydown', (event) => held.add(event.code), { capture: true });
addEventListener(
  'keyup',
  (event) => {
    // While the command key of a Mac is down, others go up without a word.
    if (event.key === 'Meta') held.clear();
    else held.delete(event.code);
    ups += 1;
  },
  { capture: true },
);
// What goes up elsewhere is not told.
addEventListener('blur', () => held.clear());

export function levelBadge(question: Pick<Question, 'level' | 'decision'>): HTMLElement {
  const isBlocked = question.decision === 'block';
  const words = w.levels[question.level] ?? question.level;
  return h(
    'span',
    { class: `level ${question.level}` },
    icon(question.level === 'low' ? 'help' : 'warning', 14),
    isBlocked ? `${w.blocked} · ${words}` : words,
  );
}

export class Card {
  readonly element: HTMLElement;
  isOver = false;
  private readonly command = h('pre', { class: 'ask-command', tabindex: 0, 'aria-label': w.theCommand });
  private readonly whole = h('button', { type: 'button', class: 'link-button ask-whole', hidden: true, onclick: () => this.showWhole() });
  private readonly left = h('span', { class: 'ask-left' });
  private readonly note = h('input', { class: 'input', type: 'text', maxlength: 1000, autocomplete: 'off' });
  private readonly typed = h('input', { class: 'input mono', type: 'text', autocomplete: 'off', spellcheck: 'false' });
  private readonly trouble = h('p', { class: 'ask-trouble', role: 'alert' });
  private readonly buttons = new Map<Answer, HTMLButtonElement>();
  private readonly remembered = h('p', { class: 'soft ask-rule' });
  private readonly scopes: readonly string[];
  private readonly radios: HTMLInputElement[] = [];
  private readonly foot = h('div', { class: 'ask-foot' });
  /** It is measured when it is laid out, and again when its marks are known. */
  private readonly sized = new ResizeObserver(() => this.measure());
  private aliveAt = 0;
  /** So many keys must have gone up before one counts. */
  private aliveUps = 0;
  private isBusy = false;

  constructor(
    readonly question: Question,
    private readonly context: CardContext,
  ) {
    const title = newId('question');
    this.scopes = question.scopes ?? ['once'];
    const mayAnswer = may(context, 'approve');
    this.element = h(
      'article',
      {
        class: `ask ${question.level}`,
        'data-question': question.id,
        'aria-labelledby': title,
        tabindex: -1,
        onkeydown: (event: KeyboardEvent) => this.pressed(event),
      },
      h(
        'header',
        { class: 'ask-head' },
        levelBadge(question),
        h('h3', { id: title, class: 'ask-who' }, this.who()),
        this.left,
      ),
      this.command,
      this.whole,
      this.facts(),
      this.because(),
      mayAnswer ? this.form() : h('p', { class: 'soft' }, w.mayNotApprove),
      this.foot,
    );
    this.paint([]);
    this.tick();
    if (typeof question.line === 'string' && question.line !== '') {
      ask.parts(question).then(
        (parts) => {
          this.paint(parts);
          this.measure();
        },
        () => undefined, // it is shown without marks
      );
    }
  }

  /** Lets the time that is left go on. */
  tick(): void {
    const { expires_at: end } = this.question;
    if (this.isOver) return;
    const left = end == null ? null : end - Date.now() / 1000;
    setText(this.left, left === null ? '' : w.timeLeft(clock(left)));
    this.left.classList.toggle('soon', left !== null && left < 30);
  }

  /** A long command is not shown whole at once: what it is asked about must be in sight, and that there is more. */
  private measure(): void {
    const { command } = this;
    if (command.classList.contains('whole') || command.clientHeight === 0) return;
    this.whole.hidden = command.scrollHeight <= command.clientHeight + 4;
    replace(this.whole, icon('warning', 14), w.showWhole((this.question.line ?? this.question.command).length));
    const mark = command.querySelector<HTMLElement>('mark');
    if (mark !== null && mark.offsetTop > command.clientHeight - 20) {
      command.scrollTop = mark.offsetTop - 40;
    }
  }

  private showWhole(): void {
    this.command.classList.add('whole');
    this.whole.hidden = true;
    this.command.focus();
  }

  /** Gives it the focus. `isSudden`: nobody asked for that, so keys are not taken at once. */
  focus(isSudden = false): void {
    if (isSudden) {
      this.aliveAt = performance.now() + DEAD_MS;
      this.aliveUps = held.size > 0 ? ups + 1 : 0;
    }
    this.element.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: 'nearest' });
  }

  /** Shows how it ended. */
  end(outcome: string, by: string): void {
    this.isOver = true;
    const hadFocus = this.element.contains(document.activeElement);
    const words = w.outcomes[outcome] ?? outcome;
    const isPerson = outcome !== 'timeout' && outcome !== 'cancelled';
    this.element.classList.add('over');
    this.element.querySelector('.ask-form')?.remove();
    setText(this.left, '');
    replace(
      this.foot,
      h(
        'p',
        { class: `outcome ${outcome}`, role: 'status' },
        icon(outcome === 'allow' ? 'check' : outcome === 'skip' ? 'hide' : 'close', 14),
        isPerson && by !== '' ? w.outcomeBy(words, by) : words,
      ),
    );
    if (hadFocus) this.element.focus({ preventScroll: true });
  }

  private who(): string {
    const { origin, session } = this.question;
    const who = w.origins[origin ?? ''] ?? (origin || w.unknownWho);
    return session == null ? w.asks(who) : w.asksIn(who, seen(session));
  }

  private paint(parts: readonly Part[]): void {
    const { line, command, reasons } = this.question;
    const text = typeof line === 'string' ? line : command;
    replace(
      this.command,
      segments(text, parts, reasons ?? []).map(({ text: piece, verdict, isNamed }) => {
        if (verdict === 'none' && !isNamed) return h('span', {}, ...shownText(piece));
        const classes = [verdict === 'none' ? '' : `part-${verdict}`, isNamed ? 'named' : ''].join(' ').trim();
        return h('mark', { class: classes }, ...shownText(piece));
      }),
    );
    this.sized.observe(this.command);
    this.command.title = this.command.querySelector('mark') === null ? '' : w.markedParts;
  }

  private facts(): HTMLElement {
    const { cwd, terminal, asked_at: at, shell } = this.question;
    const found = terminal == null ? undefined : this.context.live.state.value.terminals.get(terminal);
    const text = this.question.line ?? this.question.command;
    const facts = h('div', { class: 'ask-facts' });
    if (cwd != null) facts.append(h('span', { class: 'fact-item', title: w.where }, icon('folder', 14), h('code', {}, ...shownText(cwd))));
    if (shell) facts.append(h('span', { class: 'fact-item', title: w.shell }, icon('command', 14), shell));
    if (found !== undefined) {
      const open = () => this.context.openTerminal(found.id);
      facts.append(h('button', { type: 'button', class: 'link-button', onclick: open }, icon('terminal', 14), nameOf(found)));
    }
    if (at !== undefined) facts.append(h('time', { class: 'fact-item', title: exactly(at) }, when(at)));
    facts.append(
      h('button', { type: 'button', class: 'link-button', onclick: () => void copy(text) }, icon('copy', 14), w.copyCommand),
    );
    if (visible(text).some((piece) => piece.isSign)) {
      facts.append(h('p', { class: 'ask-warning' }, icon('warning', 14), w.controlCharacters));
    }
    return facts;
  }

  private because(): HTMLElement {
    const { effects = [], reasons = [] } = this.question;
    return h(
      'div',
      { class: 'ask-because' },
      effects.length > 0 &&
        h(
          'section',
          {},
          h('h4', {}, w.effects),
          h('ul', { class: 'chips' }, effects.map((each) => h('li', { class: 'chip' }, w.effectWords[each] ?? each))),
        ),
      reasons.length > 0 &&
        h(
          'section',
          {},
          h('h4', {}, w.reasons),
          h('ul', { class: 'reasons' }, reasons.map(reasonItem)),
        ),
    );
  }

  private form(): HTMLElement {
    const { confirmation } = this.question;
    const form = h('div', { class: 'ask-form' });
    if (this.scopes.length > 1) form.append(this.scopeChoice());
    if (confirmation != null) {
      const hint = newId('hint');
      this.typed.setAttribute('aria-describedby', hint);
      form.append(
        h(
          'div',
          { class: 'ask-confirm' },
          h('p', { id: hint }, w.blockedHint, ' ', h('code', { class: 'confirmation' }, ...shownText(confirmation))),
          h('label', { class: 'field' }, h('span', {}, w.typed), this.typed),
        ),
      );
    }
    form.append(h('label', { class: 'field' }, h('span', { class: 'visually-hidden' }, w.note), this.note), this.trouble);
    this.note.placeholder = w.note;
    const answers = h(
      'div',
      { class: 'ask-answers' },
      this.answerButton('allow', w.allow, w.allowHint, 'a'),
      this.answerButton('deny', w.deny, w.denyHint, 'd'),
      this.answerButton('skip', w.skip, w.skipHint, 's'),
      this.scopes.length <= 1 && h('span', { class: 'soft ask-once' }, w.countsOnce),
    );
    form.append(answers);
    return form;
  }

  private scopeChoice(): HTMLElement {
    const name = newId('scope');
    const group = h('fieldset', { class: 'scope-choice' }, h('legend', {}, w.countsFor));
    const row = h('div', { class: 'scope-row' });
    this.scopes.forEach((scope, index) => {
      const radio = h('input', { type: 'radio', name, value: scope, checked: index === 0, onchange: () => this.rule() });
      this.radios.push(radio);
      row.append(
        h('label', { class: 'scope' }, radio, h('span', {}, w.scopes[scope] ?? scope), h('kbd', { 'aria-hidden': 'true' }, String(index + 1))),
      );
    });
    group.append(row, this.remembered);
    this.rule();
    return group;
  }

  private get scope(): string {
    return this.radios.find((each) => each.checked)?.value ?? this.scopes[0] ?? 'once';
  }

  private rule(): void {
    const rule = ruleWords(this.question.suggested_rule ?? null);
    const isKept = this.scope !== 'once' && rule !== '';
    this.remembered.hidden = !isKept;
    setText(this.remembered, isKept ? w.remembers(rule) : '');
  }

  private answerButton(answer: Answer, label: string, hint: string, key: string): HTMLElement {
    const isGrave = this.question.level === 'critical' || this.question.decision === 'block';
    // The strong one is what people press in a hurry.
    const kind = answer === (isGrave ? 'deny' : 'allow') ? 'primary' : '';
    const button = h(
      'button',
      { type: 'button', class: `button ${kind}`, title: `${hint} (${key})`, onclick: () => void this.answer(answer) },
      label,
      h('kbd', { 'aria-hidden': 'true' }, key),
    );
    this.buttons.set(answer, button);
    return button;
  }

  private pressed(event: KeyboardEvent): void {
    const isField = event.target === this.note || event.target === this.typed;
    if (isField && event.key === 'Escape') this.element.focus();
    else if (event.target === this.typed && event.key === 'Enter') {
      if (!event.repeat) void this.answer('allow');
    } else if (isField || event.ctrlKey || event.metaKey || event.altKey || this.isOver) return;
    else if (/^[ads1-4]$/i.test(event.key) && (event.repeat || !this.isAlive)) {
      // Meant for whatever had the focus a moment ago: nobody answers by holding a key down.
    } else if (event.key === 'a') void this.answer('allow');
    else if (event.key === 'd') void this.answer('deny');
    else if (event.key === 's') void this.answer('skip');
    else if (/^[1-4]$/.test(event.key)) this.chooseScope(Number(event.key) - 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private get isAlive(): boolean {
    return performance.now() >= this.aliveAt && ups >= this.aliveUps;
  }

  private chooseScope(index: number): void {
    const radio = this.radios[index];
    if (radio === undefined) return;
    radio.checked = true;
    this.rule();
  }

  private async answer(answer: Answer): Promise<void> {
    if (this.isOver || this.isBusy || !may(this.context, 'approve')) return;
    const typed = this.typed.value.trim();
    const { confirmation } = this.question;
    if (answer === 'allow' && confirmation != null && typed === '') {
      setText(this.trouble, w.typedMissing);
      this.typed.focus();
      return;
    }
    setText(this.trouble, '');
    this.busy(true);
    const note = this.note.value.trim();
    try {
      const verdict = await ask.answer(this.question.id, {
        answer,
        scope: answer === 'skip' ? 'once' : this.scope,
        ...(answer === 'allow' && confirmation != null ? { typed } : {}),
        ...(note === '' ? {} : { note }),
      });
      this.end(verdict.outcome, verdict.by);
    } catch (error) {
      this.busy(false);
      if (error instanceof ApiError && (error.code === 'already_answered' || error.code === 'approval_not_found')) {
        toast(messageOf(error));
        void this.context.live.load().catch(() => undefined);
        return;
      }
      setText(this.trouble, messageOf(error));
      if (confirmation != null && answer === 'allow') this.typed.focus();
    }
  }

  private busy(isBusy: boolean): void {
    this.isBusy = isBusy;
    for (const button of this.buttons.values()) setAttributes(button, { disabled: isBusy });
    this.element.setAttribute('aria-busy', String(isBusy));
  }
}

/** A reason in the language of the page, with the words of the policy for whoever wants to look them up. */
function reasonItem(reason: string): HTMLElement {
  const words = w.reasonWords(reason);
  return h('li', words === reason ? {} : { title: reason }, ...shownText(words));
}
