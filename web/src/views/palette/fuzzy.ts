/** Finds texts that have the letters of a search in their order, the best first. Pure. */

export interface Found {
  score: number;
  /** Where the letters stand. */
  at: number[];
}

const BEFORE_WORD = /[\s/\\._:·-]/;

/** Matches one text; null when letters are missing. Words of the search may stand in any order. */
export function match(search: string, text: string): Found | null {
  const words = search.toLowerCase().split(/\s+/).filter((each) => each !== '');
  let score = 0;
  const at = new Set<number>();
  for (const word of words) {
    const found = matchWord(word, text);
    if (found === null) return null;
    score += found.score;
    for (const each of found.at) at.add(each);
  }
  return { score: score - text.length * 0.01, at: [...at].sort((a, b) => a - b) };
}

function matchWord(word: string, text: string): Found | null {
  const lower = text.toLowerCase();
  const whole = wholeAt(word, lower);
  if (whole !== -1) {
    const isStart = whole === 0 || BEFORE_WORD.test(lower[whole - 1] ?? '');
    return { score: word.length * 4 + (isStart ? 8 : 0) + (whole === 0 ? 4 : 0), at: Array.from(word, (_, index) => whole + index) };
  }
  const at: number[] = [];
  let score = 0;
  let from = 0;
  for (const letter of word) {
    const index = lower.indexOf(letter, from);
    if (index === -1) return null;
    if (index === from && from > 0) score += 2;
    if (index === 0 || BEFORE_WORD.test(lower[index - 1] ?? '')) score += 3;
    score -= Math.min(3, (index - from) * 0.1);
    at.push(index);
    from = index + 1;
  }
  return { score, at };
}

/** Where a word stands as it is, at the beginning of a word if that is so anywhere. */
function wholeAt(word: string, lower: string): number {
  const first = lower.indexOf(word);
  for (let index = first; index !== -1; index = lower.indexOf(word, index + 1)) {
    if (index === 0 || BEFORE_WORD.test(lower[index - 1] ?? '')) return index;
  }
  return first;
}

/** Cuts a text where letters were found: every second piece is found. */
export function pieces(text: string, at: readonly number[]): string[] {
  const found = new Set(at);
  const cut: string[] = [''];
  for (let index = 0; index < text.length; index += 1) {
    const isFound = found.has(index);
    if (isFound !== (cut.length % 2 === 0)) cut.push('');
    cut[cut.length - 1] += text[index] ?? '';
  }
  return cut;
}

function hasWords(search: string, text: string): boolean {
  const lower = text.toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => lower.includes(word));
}

export interface Ranked<T> {
  item: T;
  at: number[];
}

/** Returns the items that fit, the best first; without a search all of them, as they come. */
export function rank<T>(search: string, items: readonly T[], textOf: (item: T) => string, moreOf: (item: T) => string): Ranked<T>[] {
  if (search.trim() === '') return items.map((item) => ({ item, at: [] }));
  const found: (Ranked<T> & { score: number })[] = [];
  for (const item of items) {
    const own = match(search, textOf(item));
    if (own !== null) found.push({ item, at: own.at, score: own.score + 5 });
    // What is said beside it counts less, is not marked, and has to have the words as they are.
    else if (hasWords(search, `${textOf(item)} ${moreOf(item)}`)) found.push({ item, at: [], score: -5 });
  }
  return found.sort((a, b) => b.score - a.score);
}
