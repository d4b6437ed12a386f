/** Rules: what people decided for longer than once. They can be removed. */
import { t } from '../../i18n';
import { ask as askPerson } from '../../ui/dialogs';
import { h, replace } from '../../ui/dom';
import { toast } from '../../ui/toasts';
import { iconButton } from '../../ui/widgets';
import type { MountedView, ViewContext } from '../registry';
import { ask, type Rule } from '../shared/api';
import { codeLine } from '../shared/code';
import { exactly, when } from '../shared/format';
import { Frame, may, nothing, problem, tellError } from '../shared/frame';
import { w } from '../words';

/** A rule, and where it was found: those of sessions and workspaces are asked for one by one. */
interface Found {
  rule: Rule;
  at: { session?: string; workspace?: string };
}

export function mount(root: HTMLElement, context: ViewContext): MountedView {
  const frame = new Frame(root, context, 'rules', t.viewRules);
  const list = h('div', { class: 'rows' });
  frame.body.append(h('p', { class: 'soft lead' }, w.rulesHint), list);
  const load = () => void show(list, context, load);
  frame.tools.append(iconButton('rerun', w.refresh, load));
  frame.onGone(
    context.live.onEvent((event) => (event.type === 'rules_changed' || event.type === 'approval_answered') && load()),
  );
  load();
  return frame.mounted();
}

async function show(list: HTMLElement, context: ViewContext, again: () => void): Promise<void> {
  try {
    const { found, problems } = await collect(context);
    replace(
      list,
      problems.length > 0 &&
        h(
          'section',
          { class: 'notice' },
          h('h3', {}, w.ruleProblems),
          h('ul', { class: 'reasons' }, problems.map((each) => h('li', {}, each))),
        ),
      found.length === 0
        ? nothing('list', w.noRules, w.noRulesHint)
        : found.map((each) => row(each, may(context, 'approve'), again)),
    );
  } catch (error) {
    replace(list, problem(error, again));
  }
}

async function collect(context: ViewContext): Promise<{ found: Found[]; problems: string[] }> {
  const { workspaces, terminals, questions } = context.live.state.value;
  const sessions = (await ask.sessions()).map((each) => each.id);
  const roots = new Set(
    [...workspaces.map((each) => each.root), ...[...questions.values()].map((each) => each.workspace)].filter(
      (each): each is string => each?.startsWith('/') === true,
    ),
  );
  for (const terminal of terminals.values()) if (terminal.cwd !== null) roots.add(terminal.cwd);
  const places: Found['at'][] = [
    {},
    ...sessions.map((session) => ({ session })),
    ...[...roots].slice(0, 20).map((workspace) => ({ workspace })),
  ];
  const answers = await Promise.all(places.map(async (at) => ({ at, ...(await ask.rules(at)) })));
  const found = new Map<string, Found>();
  const problems = new Set<string>();
  for (const { at, rules, problems: some } of answers) {
    for (const rule of rules) if (!found.has(rule.id)) found.set(rule.id, { rule, at });
    for (const each of some) problems.add(each);
  }
  return { found: [...found.values()], problems: [...problems] };
}

function row({ rule, at }: Found, mayRemove: boolean, again: () => void): HTMLElement {
  const words = rule.command.length === 0 ? w.anyCommand : rule.command.join(' ');
  const where = at.session ?? at.workspace ?? '';
  const layer = w.layers[rule.layer] ?? rule.layer;
  const remove = async () => {
    const answer = await askPerson(w.removeRule, h('div', { class: 'dialog-text' }, codeLine(words, 'wrap'), h('p', {}, w.removeRuleText)), [
      { label: t.cancel, value: '' },
      { label: w.remove, value: 'remove', kind: 'danger' },
    ]);
    if (answer !== 'remove') return;
    try {
      await ask.removeRule(rule.id, at);
      toast(w.ruleRemoved);
    } catch (error) {
      tellError(error);
    }
    again();
  };
  return h(
    'article',
    { class: 'row-card', 'data-rule': rule.id },
    h(
      'div',
      { class: 'row-top' },
      h('span', { class: `decision ${rule.decision}` }, w.decisions[rule.decision] ?? rule.decision),
      codeLine(words, 'wrap grow'),
      mayRemove && rule.layer !== 'built-in' && iconButton('close', `${w.removeRule}: ${words}`, () => void remove()),
    ),
    h(
      'p',
      { class: 'soft row-facts' },
      [
        where === '' ? layer : `${layer}: ${where}`,
        extra(rule.rule),
        rule.reason,
        rule.expires_at === null ? '' : w.expires(when(rule.expires_at)),
        rule.origin,
      ]
        .filter((each) => each !== '')
        .join(' · '),
    ),
    rule.expires_at !== null && h('span', { class: 'visually-hidden' }, exactly(rule.expires_at)),
  );
}

/** What else a rule says, as files of rules have it. */
function extra(rule: Record<string, unknown>): string {
  const told = new Set(['id', 'decision', 'command', 'reason', 'expires', 'expires_at', 'examples', 'not_examples']);
  return Object.entries(rule)
    .filter(([name, value]) => !told.has(name) && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(' ') : typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');
}
