/** Help: the keys of the page, what its signs mean, and where there is more. */
import { t } from '../../i18n';
import { actions, shownKeys, type Action } from '../../ui/actions';
import { h, replace } from '../../ui/dom';
import { icon } from '../../ui/icons';
import { kindIcon, statusDot } from '../../ui/widgets';
import type { MountedView, ViewContext } from '../registry';
import { Frame } from '../shared/frame';
import { w } from '../words';

export function mount(root: HTMLElement, context: ViewContext): MountedView {
  const frame = new Frame(root, context, 'help', t.viewHelp);
  const keys = h('div', { class: 'help' });
  frame.onGone(actions.watch((all) => replace(keys, keyGroups(all))));
  frame.body.append(
    h('section', {}, h('h3', { class: 'section-title' }, w.helpKeys), h('p', { class: 'soft lead' }, w.helpIntro), keys),
    h('section', {}, h('h3', { class: 'section-title' }, w.helpMarks), marks()),
    h('section', {}, h('h3', { class: 'section-title' }, w.helpMore), links()),
  );
  return frame.mounted();
}

function keyGroups(all: readonly Action[]): HTMLElement[] {
  const groups = new Map<string, [string, readonly string[]][]>();
  for (const action of all) {
    if (action.hidden === true || action.keys === undefined) continue;
    groups.set(action.group, [...(groups.get(action.group) ?? []), [action.title, action.keys.map(shownKeys)]]);
  }
  groups.set(w.helpApprovalKeys, [
    [w.allow, ['a']],
    [w.deny, ['d']],
    [w.skip, ['s']],
    [w.countsFor, ['1 – 4']],
    [t.close, ['Esc']],
  ]);
  return [...groups].map(([group, found]) =>
    h(
      'section',
      {},
      h('h4', {}, group),
      h('dl', {}, found.map(([title, keys]) => [h('dt', {}, title), h('dd', {}, keys.map((each) => h('kbd', {}, each)))])),
    ),
  );
}

function marks(): HTMLElement {
  const now = Date.now() / 1000;
  const rows: [HTMLElement, string][] = [
    [kindIcon('agent'), w.helpMark.agent],
    [kindIcon('user'), w.helpMark.user],
    [kindIcon('system'), w.helpMark.system],
    [statusDot({ kind: 'idle' }), w.helpMark.idle],
    [statusDot({ kind: 'running', since: now, command: null }), w.helpMark.running],
    [statusDot({ kind: 'input', command: null }), w.helpMark.input],
    [statusDot({ kind: 'failed', code: 1 }), w.helpMark.failed],
    [statusDot({ kind: 'exited' }), w.helpMark.exited],
    [h('span', { class: 'mark-sample ok' }, icon('check', 12)), w.helpMark.ok],
    [h('span', { class: 'mark-sample failed' }, icon('close', 12)), w.helpMark.bad],
  ];
  return h('dl', { class: 'marks' }, rows.map(([sign, text]) => h('div', {}, h('dt', { 'aria-hidden': 'true' }, sign), h('dd', {}, text))));
}

function links(): HTMLElement {
  const places: [string, string][] = [
    ['/openapi.json', w.helpLinks.openapi],
    ['/metrics', w.helpLinks.metrics],
    ['/licenses.txt', w.helpLinks.licences],
  ];
  return h(
    'ul',
    { class: 'help-links' },
    places.map(([href, text]) => h('li', {}, h('a', { href, target: '_blank', rel: 'noopener noreferrer' }, icon('link', 14), text))),
  );
}
