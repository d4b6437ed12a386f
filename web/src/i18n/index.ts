/** Which language the page speaks: that of the browser, unless somebody chose another. A change loads the page anew. */
import { preferences } from '../ui/preferences';
import { en, type Dictionary } from './en';
import { zh } from './zh';

export type Language = 'en' | 'zh';

const dictionaries: Record<Language, Dictionary> = { en, zh };

export function chooseLanguage(wished: readonly string[], chosen: Language | 'system'): Language {
  if (chosen !== 'system') return chosen;
  for (const each of wished) {
    const name = each.toLowerCase().split('-')[0];
    if (name === 'zh' || name === 'en') return name;
  }
  return 'en';
}

export const language: Language = chooseLanguage(
  typeof navigator === 'undefined' ? [] : navigator.languages,
  preferences.value.language,
);

export const t: Dictionary = dictionaries[language];
