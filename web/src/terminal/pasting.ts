/** What may be pasted, and what a person should see before. Pure. */

// Everything that a terminal takes as a command rather than as text; tab and line breaks are text.
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

/** Takes out control characters: pasted text must not be able to end its own brackets, or to press keys. */
export function cleaned(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(CONTROLS, '');
}

export type PasteWarning = 'always' | 'unbracketed' | 'never';

/** Says whether to ask first. Without bracketed paste, each line break is a pressed Enter. */
export function needsWarning(text: string, isBracketed: boolean, warn: PasteWarning): boolean {
  if (!text.includes('\n') || warn === 'never') return false;
  return warn === 'always' || !isBracketed;
}
