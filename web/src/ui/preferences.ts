/** How this browser shows the page. Kept in the browser; everything about terminals is kept on the server. */
import type { Language } from '../i18n';
import type { PasteWarning } from '../terminal/pasting';
import { Signal } from './signal';

export interface Preferences {
  theme: 'system' | 'light' | 'dark' | 'contrast';
  language: Language | 'system';
  fontSize: number;
  pasteWarning: PasteWarning;
  bell: boolean;
  screenReader: boolean;
  autoOpen: boolean;
  sidebar: boolean;
  workspace: string | null;
}

const DEFAULTS: Preferences = {
  theme: 'system',
  language: 'system',
  // Letters are 0.6 as wide: with this they are drawn in cells of 8 whole pixels, without being squeezed.
  fontSize: 13.5,
  pasteWarning: 'unbracketed',
  bell: true,
  screenReader: false,
  autoOpen: false,
  sidebar: true,
  workspace: null,
};

const KEY = 'hermitty';
export const FONT_SIZES = { least: 8, most: 32 } as const;

/** Reads stored preferences; what is missing or of another type is as it is by default. */
export function readPreferences(text: string | null): Preferences {
  let stored: unknown;
  try {
    stored = JSON.parse(text ?? '{}');
  } catch {
    return DEFAULTS;
  }
  if (typeof stored !== 'object' || stored === null) return DEFAULTS;
  const found = Object.entries(stored).filter(([name, value]) => {
    const known = DEFAULTS[name as keyof Preferences];
    return name === 'workspace' ? typeof value === 'string' : typeof known === typeof value;
  });
  const read = { ...DEFAULTS, ...(Object.fromEntries(found) as Partial<Preferences>) };
  read.fontSize = Math.min(FONT_SIZES.most, Math.max(FONT_SIZES.least, read.fontSize));
  return read;
}

function stored(): string | null {
  try {
    return globalThis.localStorage?.getItem(KEY) ?? null;
  } catch {
    return null; // the browser keeps nothing for this page
  }
}

export const preferences = new Signal<Preferences>(readPreferences(stored()));

export function prefer(change: Partial<Preferences>): void {
  preferences.set({ ...preferences.value, ...change });
  try {
    localStorage.setItem(KEY, JSON.stringify(preferences.value));
  } catch {
    // It holds until the page is closed.
  }
}
