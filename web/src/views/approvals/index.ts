/** Approvals: the questions that wait, and those that were answered. */
import { t } from '../../i18n';
import { h, replace, setAttributes } from '../../ui/dom';
import { icon } from '../../ui/icons';
import type { MountedView, ViewContext } from '../registry';
import { ask, type Verdict } from '../shared/api';
import { codeLine, shownText } from '../shared/code';
import { exactly, when } from '../shared/format';
import { button, calmly, Frame, may, nothing, problem, searchField, Select, Tabs } from '../shared/frame';
import { w } from '../words';
import { levelBadge } from './card';
import { fitsVerdict } from './filtering';
import { canNotify, isNotifying, toggleNotifications } from './notify';
import { Pending } from './pending';
import { shownPending } from './shown';

export function mount(root: HTMLElement, context: ViewContext): MountedView {
  const frame = new Frame(root, context, 'approvals', t.approvals);
  const past = new Past();
  const pendingPanel = h('div', { class: 'tab-panel' });
  const tabs = new Tabs(
    t.approvals,
    [
      { value: 'pending', label: w.pending, panel: pendingPanel },
      { value: 'history', label: w.history, panel: past.element },
    ],
    (value) => {
      if (value === 'history') void past.load();
      note();
    },
  );
  const pending = new Pending(context, (waiting) => tabs.label('pending', waiting > 0 ? `${w.pending} (${waiting})` : w.pending));
  const hint = may(context, 'approve') && h('p', { class: 'soft keys-hint' }, w.keysHint);
  replace(pendingPanel, hint, pending.element);
  frame.tools.append(
    ...(canNotify() ? [notifyButton(frame)] : []),
    button(t.viewRules, () => context.openView('rules'), { icon: 'list' }),
  );
  frame.body.append(tabs.element, pendingPanel, past.element);

  const shown = { focus: () => pending.focus() };
  const note = () => shownPending.set(context.isShown.value && tabs.value === 'pending' ? shown : null);
  const reload = calmly(300, () => tabs.value === 'history' && void past.load());
  frame.onGone(
    context.isShown.watch(note),
    context.live.onEvent((event) => event.type === 'approval_answered' && reload()),
    context.params.watch((params) => params['tab'] !== undefined && tabs.choose(params['tab'])),
    () => pending.dispose(),
    () => shownPending.set(null),
  );
  return frame.mounted(() => {
    if (tabs.value !== 'pending' || !pending.focus()) tabs.element.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  });
}

function notifyButton(frame: Frame): HTMLElement {
  const element = button('', () => void toggleNotifications(), { title: w.notifyHint });
  frame.onGone(
    isNotifying.watch((isOn) => {
      setAttributes(element, { 'aria-pressed': isOn });
      replace(element, icon('bell', 14), isOn ? w.notifyOff : w.notifyOn);
    }),
  );
  return element;
}

class Past {
  readonly element = h('div', { class: 'tab-panel' });
  private readonly list = h('div', { class: 'rows' });
  private readonly outcome: Select;
  private readonly session: Select;
  private readonly search: HTMLInputElement;
  private verdicts: Verdict[] = [];

  constructor() {
    const render = () => this.render();
    this.outcome = new Select(
      w.outcome,
      [{ value: '', label: w.allOutcomes }, ...Object.entries(w.outcomes).map(([value, label]) => ({ value, label }))],
      render,
    );
    this.session = new Select(w.session, [{ value: '', label: w.allSessions }], render);
    this.search = searchField(w.searchCommands, render, 120);
    this.element.append(h('div', { class: 'filters' }, this.search, this.outcome.element, this.session.element), this.list);
  }

  async load(): Promise<void> {
    try {
      this.verdicts = await ask.verdicts();
      const sessions = [...new Set(this.verdicts.map((each) => each.question.session).filter((each) => each !== null))];
      this.session.fill([{ value: '', label: w.allSessions }, ...sessions.map((each) => ({ value: each, label: each }))]);
      this.render();
    } catch (error) {
      replace(this.list, problem(error, () => void this.load()));
    }
  }

  private render(): void {
    const wanted = { outcome: this.outcome.value, session: this.session.value, text: this.search.value };
    const found = this.verdicts.filter((each) => fitsVerdict(each, wanted));
    if (found.length === 0) {
      replace(this.list, nothing('list', this.verdicts.length === 0 ? w.noHistory : w.noMatches));
      return;
    }
    replace(this.list, found.slice(0, 300).map((each) => this.row(each)));
  }

  private row({ question, outcome, scope, by, at, note }: Verdict): HTMLElement {
    const words = w.outcomes[outcome] ?? outcome;
    const isPerson = outcome !== 'timeout' && outcome !== 'cancelled';
    return h(
      'article',
      { class: 'row-card' },
      h(
        'div',
        { class: 'row-top' },
        h(
          'span',
          { class: `outcome ${outcome}` },
          icon(outcome === 'allow' ? 'check' : outcome === 'skip' ? 'hide' : 'close', 14),
          isPerson ? w.outcomeBy(words, by) : words,
        ),
        levelBadge(question),
        h('span', { class: 'spring' }),
        h('time', { class: 'soft', title: exactly(at) }, when(at)),
      ),
      codeLine(question.line ?? question.command, 'wrap'),
      h(
        'p',
        { class: 'soft row-facts' },
        [question.session, isPerson ? (w.scopes[scope] ?? scope) : null, question.cwd].filter((each) => each).join(' · '),
      ),
      note !== '' && h('p', { class: 'row-note' }, '“', ...shownText(note), '”'),
    );
  }
}
