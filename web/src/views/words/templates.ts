/** Sentences with places for names in them, in two languages. Pure. */

interface Template {
  pattern: RegExp;
  words: string;
}

export type Translate = (text: string) => string;

/**
 * Makes a translator of sentences. `table` has them in English, with {0} and {1} where something stands that is not
 * translated, such as a path; what fits no sentence stays as it is. The sentence with most words of its own counts.
 * `isPhrase` tells of which what stands in a place is a sentence again: "{0}, which holds secrets".
 */
export function translator(table: Readonly<Record<string, string>>, isPhrase: (sentence: string) => boolean): Translate {
  const ownWords = (sentence: string) => sentence.replace(/\{\d\}/g, '').length;
  const exact = new Map(Object.entries(table).filter(([sentence]) => !sentence.includes('{')));
  const templates: (Template & { hasPhrase: boolean })[] = Object.entries(table)
    .filter(([sentence]) => sentence.includes('{'))
    .sort(([one], [other]) => ownWords(other) - ownWords(one))
    .map(([sentence, words]) => ({ pattern: patternOf(sentence), words, hasPhrase: isPhrase(sentence) }));
  const translate = (text: string): string => {
    const whole = exact.get(text);
    if (whole !== undefined) return whole;
    for (const { pattern, words, hasPhrase } of templates) {
      const found = pattern.exec(text);
      if (found === null) continue;
      return words.replace(/\{(\d)\}/g, (_, index: string) => {
        const part = found[Number(index) + 1] ?? '';
        return hasPhrase ? translate(part) : part;
      });
    }
    return text;
  };
  return translate;
}

/** What stands in a place is as long as it can be: names may have any words in them. */
function patternOf(sentence: string): RegExp {
  const parts = sentence.split(/\{\d\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('(.+)')}$`, 's');
}
