/** Numbers, times and texts as people read them. Pure, but for the language. */
import { language } from '../../i18n';
import { clock } from '../../state/describe';

const locale = language === 'zh' ? 'zh-CN' : 'en-GB';
const time = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const date = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' });
const longDate = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
const number = new Intl.NumberFormat(locale);

/** Writes a time (seconds since 1970): of today as a clock, else with its day. */
export function when(at: number, now = Date.now() / 1000): string {
  const isToday = new Date(at * 1000).toDateString() === new Date(now * 1000).toDateString();
  return (isToday ? time : date).format(at * 1000);
}

export function exactly(at: number): string {
  return longDate.format(at * 1000);
}

export function whole(value: number): string {
  return number.format(value);
}

/** Writes how long something took: 8 ms, 1.2 s, 3:07. */
export function took(seconds: number | null): string {
  if (seconds === null) return '';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return clock(seconds);
}

/** Writes a long time: 3 d 4 h, 2 h 5 min. */
export function lasting(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1) return `${Math.floor(seconds)} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit] ?? ''}`;
}

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

/** The first line of a command, for where there is room for one. */
export function firstLine(command: string, longest = 200): string {
  const line = visible(command.trim().split('\n')[0] ?? '')
    .map((piece) => piece.text)
    .join('');
  const isCut = line.length > longest || command.trim().includes('\n');
  return isCut ? `${line.slice(0, longest)} …` : line;
}
