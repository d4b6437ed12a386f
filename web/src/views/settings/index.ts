/** Settings: those of the server, each explained, and those of this browser. */
import { t } from '../../i18n';
import { en } from '../../i18n/en';
import { zh } from '../../i18n/zh';
import { h, replace } from '../../ui/dom';
import { prefer, preferences, type Preferences } from '../../ui/preferences';
import type { MountedView, ViewContext } from '../registry';
import { ask, type Settings } from '../shared/api';
import { calmly, Frame, may, nothing, problem, searchField } from '../shared/frame';
import { w } from '../words';
import { Field } from './field';
import { grouped } from './values';

export function mount(root: HTMLElement, context: ViewContext): MountedView {
  const frame = new Frame(root, context, 'settings', t.viewSettings, 'settings');
  const mayChange = may(context, 'admin');
  const fields = new Map<string, Field>();
  const content = h('div', { class: 'settings-groups' });
  const about = h('div', { class: 'settings-about' });
  const changedOnly = h('input', { type: 'checkbox', onchange: () => show() });
  const search = searchField(w.searchSettings, () => show(), 100);
  let settings: Settings | null = null;

  const take = (given: Settings) => {
    settings = given;
    for (const each of given.settings) fields.get(each.name)?.update(each);
    replace(
      about,
      h('p', { class: 'soft' }, given.config_file === null ? w.noConfigFile : w.configFile(given.config_file)),
      !mayChange && h('p', { class: 'soft' }, w.mayNotChange),
      given.warnings.length > 0 &&
        h('section', { class: 'notice' }, h('h3', {}, w.warnings), h('ul', { class: 'reasons' }, given.warnings.map((each) => h('li', {}, each)))),
    );
  };
  const show = () => {
    if (settings === null) return;
    const groups = grouped(settings.settings, search.value, changedOnly.checked);
    const own = search.value === '' && !changedOnly.checked;
    replace(
      content,
      own && browserGroup(),
      groups.map((group) =>
        h(
          'section',
          { class: 'settings-group', 'aria-label': w.groups[group.name] ?? group.name },
          h('h3', {}, w.groups[group.name] ?? group.name),
          group.settings.map((each) => {
            const field = fields.get(each.name) ?? new Field(each, mayChange, take);
            fields.set(each.name, field);
            return field.element;
          }),
        ),
      ),
      groups.length === 0 && nothing('search', w.noMatches),
    );
  };
  const load = async () => {
    try {
      take(await ask.settings());
      if (content.childElementCount === 0) show();
    } catch (error) {
      if (settings === null) replace(content, problem(error, () => void load()));
    }
  };
  frame.body.append(
    h('div', { class: 'filters' }, search, h('label', { class: 'check' }, changedOnly, h('span', {}, w.onlyChanged))),
    about,
    content,
  );
  const soon = calmly(200, () => void load());
  frame.onGone(context.live.onEvent((event) => event.type === 'settings_changed' && soon()));
  void load();
  return frame.mounted(() => search.focus({ preventScroll: true }));
}

function browserGroup(): HTMLElement {
  return h(
    'section',
    { class: 'settings-group', 'aria-label': w.thisBrowser },
    h('h3', {}, w.thisBrowser),
    choice('theme', t.theme, Object.entries(t.themes)),
    choice('language', t.languageChoice, [
      ['system', t.languageSystem],
      ['en', en.language],
      ['zh', zh.language],
    ]),
  );
}

function choice(name: 'theme' | 'language', label: string, options: [string, string][]): HTMLElement {
  const select = h('select', {
    class: 'input',
    'aria-label': label,
    onchange: () => {
      prefer({ [name]: select.value } as Partial<Preferences>);
      // Every text of the page is in the language that it was loaded with.
      if (name === 'language') location.reload();
    },
  });
  for (const [value, text] of options) select.append(h('option', { value, selected: preferences.value[name] === value }, text));
  return h(
    'div',
    { class: 'setting' },
    h('div', { class: 'setting-about' }, h('span', { class: 'setting-name' }, label), h('p', { class: 'soft' }, w.thisBrowserHint)),
    h('div', { class: 'setting-value' }, select),
  );
}
