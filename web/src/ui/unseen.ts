/** Names, paths and commands come from anywhere: what cannot be seen in them, or turns the writing around, is shown as a sign. */

export interface Piece {
  text: string;
  /** Stands for a character that cannot be seen. */
  isSign: boolean;
}

// Controls, and what is not seen or turns the direction of writing. Line feeds and tabs are left.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\udb40-\udb7f][\udc00-\udfff]/g;

/** Cuts a text into what can be seen and signs for what cannot. */
export function visible(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(UNSEEN)) {
    if (found.index > at) pieces.push({ text: text.slice(at, found.index), isSign: false });
    pieces.push({ text: signOf(found[0]), isSign: true });
    at = found.index + found[0].length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), isSign: false });
  return pieces;
}

function signOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return `^${String.fromCharCode(code + 64)}`;
  if (code === 0x7f) return '^?';
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Writes a text so that every character of it can be seen; line feeds and tabs are left. */
export function seen(text: string): string {
  return visible(text)
    .map((piece) => piece.text)
    .join('');
}

/** Writes the first line of a text like that, in at most so many characters; a sign tells that there is more. */
export function shorten(text: string, most: number): string {
  const [first = '', ...rest] = text.split('\n');
  const line = seen(first);
  if (line.length > most) return `${line.slice(0, most - 1)}…`;
  return rest.length > 0 ? `${line} …` : line;
}
