/** The keyboard help: every action that has keys. */
import { t } from '../i18n';
import { actions, shownKeys, type Action } from '../ui/actions';
import { Dialog } from '../ui/dialogs';
import { h } from '../ui/dom';

export function showHelp(): void {
  const groups = new Map<string, Action[]>();
  for (const action of actions.value) {
    if (action.hidden === true || action.keys === undefined) continue;
    groups.set(action.group, [...(groups.get(action.group) ?? []), action]);
  }
  new Dialog(
    { title: t.help, class: 'wide' },
    h(
      'div',
      { class: 'help' },
      [...groups].map(([group, found]) =>
        h(
          'section',
          {},
          h('h3', {}, group),
          h(
            'dl',
            {},
            found.map((action) => [
              h('dt', {}, action.title),
              h('dd', {}, (action.keys ?? []).map((keys) => h('kbd', {}, shownKeys(keys)))),
            ]),
          ),
        ),
      ),
    ),
  );
}
