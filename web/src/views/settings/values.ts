/** Values of settings as text in a field, and back. Pure. The server checks them; here only their form is made. */
import type { Setting } from '../shared/api';

export class BadValue extends Error {}

export function textOf(setting: Pick<Setting, 'type'>, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (setting.type === 'list') return (value as unknown[]).map(String).join('\n');
  if (setting.type === 'table') {
    return Object.entries(value as Record<string, unknown>)
      .map(([name, text]) => `${name}=${String(text)}`)
      .join('\n');
  }
  return String(value);
}

/** Makes the value that is sent. What is no number stays a text: the server says what is wrong with it. */
export function valueOf(setting: Pick<Setting, 'type' | 'optional'>, text: string, complaint: string): unknown {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  switch (setting.type) {
    case 'boolean':
      return text === 'true';
    case 'list':
      return lines.map((line) => line.trim());
    case 'table':
      return Object.fromEntries(
        lines.map((line) => {
          const at = line.indexOf('=');
          if (at < 1) throw new BadValue(complaint);
          return [line.slice(0, at).trim(), line.slice(at + 1)];
        }),
      );
    case 'integer':
    case 'number': {
      if (text.trim() === '') return setting.optional ? null : '';
      const number = Number(text);
      return Number.isFinite(number) ? number : text;
    }
    case 'string':
      return text === '' && setting.optional ? null : text;
  }
}

export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export interface Group {
  name: string;
  settings: Setting[];
}

export function grouped(settings: readonly Setting[], text: string, onlyChanged: boolean): Group[] {
  const words = text.trim().toLowerCase().split(/\s+/).filter((each) => each !== '');
  const groups = new Map<string, Setting[]>();
  for (const setting of settings) {
    const about = `${setting.name} ${setting.explanation}`.toLowerCase();
    if (onlyChanged && setting.origin_kind === 'default') continue;
    if (!words.every((word) => about.includes(word))) continue;
    const name = setting.name.split('.')[0] ?? '';
    groups.set(name, [...(groups.get(name) ?? []), setting]);
  }
  return [...groups].map(([name, found]) => ({ name, settings: found }));
}
