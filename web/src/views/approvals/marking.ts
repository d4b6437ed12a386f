/** Which parts of a command are marked: those that the policy asks about, and the words that its reasons name. Pure. */
import type { Part } from '../shared/api';

export interface Segment {
  text: string;
  verdict: 'none' | 'ask' | 'block';
  /** A reason names this word. */
  isNamed: boolean;
}

const WORD = /[^\s;&|()<>"'`]+/g;
const COMMON = new Set(['a', 'an', 'and', 'in', 'is', 'it', 'of', 'on', 'or', 'that', 'the', 'to', 'with', 'without', 'for']);

/** Cuts a line into segments. The parts count characters as Python does: one for each code point. */
export function segments(line: string, parts: readonly Part[], reasons: readonly string[]): Segment[] {
  const at = unitOffsets(line);
  const verdicts = new Array<Segment['verdict']>(line.length).fill('none');
  const isNamed = new Array<boolean>(line.length).fill(false);
  // The innermost command counts: the longest parts are painted first.
  const painted = [...parts].sort((a, b) => b.end - b.start - (a.end - a.start));
  for (const { start, end, verdict } of painted) {
    const from = at[Math.min(start, at.length - 1)] ?? 0;
    const to = at[Math.min(end, at.length - 1)] ?? line.length;
    verdicts.fill(verdict === 'ask' || verdict === 'block' ? verdict : 'none', from, to);
  }
  const named = namedWords(reasons);
  for (const found of line.matchAll(WORD)) {
    if (named.has(found[0])) isNamed.fill(true, found.index, found.index + found[0].length);
  }
  const found: Segment[] = [];
  for (let start = 0; start < line.length; ) {
    let end = start + 1;
    while (end < line.length && verdicts[end] === verdicts[start] && isNamed[end] === isNamed[start]) end += 1;
    found.push({ text: line.slice(start, end), verdict: verdicts[start] ?? 'none', isNamed: isNamed[start] ?? false });
    start = end;
  }
  return found;
}

/** The words of reasons that may stand in a line. */
function namedWords(reasons: readonly string[]): Set<string> {
  const words = reasons.flatMap((reason) => reason.match(WORD) ?? []).map((word) => word.replace(/[,.:]+$/, ''));
  return new Set(words.filter((word) => !COMMON.has(word) && word !== ''));
}

/** Where each code point begins in a string, and where the last one ends. */
function unitOffsets(text: string): number[] {
  const offsets: number[] = [];
  let at = 0;
  for (const character of text) {
    offsets.push(at);
    at += character.length;
  }
  return [...offsets, at];
}

/** Writes a suggested rule as words: what would be remembered. */
export function ruleWords(rule: Record<string, unknown> | null): string {
  if (rule === null) return '';
  const command = Array.isArray(rule['command']) ? rule['command'].map(String).join(' ') : String(rule['command'] ?? '');
  const flags = Array.isArray(rule['flags']) ? rule['flags'].map(String).join(' ') : '';
  return [command, flags].filter((each) => each !== '').join(' ') || '*';
}
