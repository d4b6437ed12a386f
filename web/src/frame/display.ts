/** How this browser shows the page: appearance, language, letters, pasting. */
import { t } from '../i18n';
import { en } from '../i18n/en';
import { zh } from '../i18n/zh';
import { Dialog } from '../ui/dialogs';
import { h } from '../ui/dom';
import { FONT_SIZES, prefer, preferences, type Preferences } from '../ui/preferences';

export function showDisplaySettings(): void {
  const now = preferences.value;
  const language = choice('language', t.languageChoice, [
    ['system', t.languageSystem],
    ['en', en.language],
    ['zh', zh.language],
  ]);
  const dialog = new Dialog(
    { title: t.settings },
    choice('theme', t.theme, Object.entries(t.themes)),
    language,
    h(
      'label',
      { class: 'field' },
      h('span', {}, t.fontSize),
      h('input', {
        class: 'input',
        type: 'number',
        min: FONT_SIZES.least,
        max: FONT_SIZES.most,
        step: 0.5,
        value: now.fontSize,
        onchange: (event: Event) => changeFontSize((event.target as HTMLInputElement).valueAsNumber),
      }),
    ),
    choice('pasteWarning', t.pasteWarning, Object.entries(t.pasteWarnings)),
    toggle('bell', t.bell),
    toggle('autoOpen', t.autoOpen),
    toggle('screenReader', t.screenReader),
  );
  void dialog.closed.then(() => {
    // Every text of the page is in the language that it was loaded with.
    if (preferences.value.language !== now.language) location.reload();
  });
}

export function changeFontSize(size: number): void {
  if (Number.isFinite(size)) prefer({ fontSize: Math.min(FONT_SIZES.most, Math.max(FONT_SIZES.least, Math.round(size * 2) / 2)) });
}

function choice(name: 'theme' | 'language' | 'pasteWarning', label: string, options: [string, string][]): HTMLElement {
  const select = h('select', {
    class: 'input',
    onchange: () => prefer({ [name]: select.value } as Partial<Preferences>),
  });
  for (const [value, text] of options) {
    select.append(h('option', { value, selected: preferences.value[name] === value }, text));
  }
  return h('label', { class: 'field' }, h('span', {}, label), select);
}

function toggle(name: 'bell' | 'autoOpen' | 'screenReader', label: string): HTMLElement {
  const input = h('input', {
    type: 'checkbox',
    checked: preferences.value[name],
    onchange: () => prefer({ [name]: input.checked }),
  });
  return h('label', { class: 'check' }, input, h('span', {}, label));
}
