/** Numbers, times and texts as people read them. Pure, but for the language. */
import { language } from '../../i18n';
import { clock } from '../../state/describe';
import { seen } from '../../ui/unseen';

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

/** The first line of a command, for where there is room for one. */
export function firstLine(command: string, longest = 200): string {
  const line = seen(command.trim().split('\n')[0] ?? '');
  const isCut = line.length > longest || command.trim().includes('\n');
  return isCut ? `${line.slice(0, longest)} …` : line;
}
