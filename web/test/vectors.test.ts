/** The messages that every implementation of the protocol must read, or refuse, alike. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseServer } from '../src/attach/messages';

interface Vectors {
  messages: { from: 'server' | 'client'; message: Record<string, unknown> }[];
  refused: { from: 'server' | 'client'; text: string }[];
}

const vectors = JSON.parse(
  readFileSync(new URL('../../tests/vectors/attach.json', import.meta.url), 'utf8'),
) as Vectors;

describe('shared vectors', () => {
  it.each(vectors.messages.filter((each) => each.from === 'server'))('$message.type is read', ({ message }) => {
    expect(parseServer(JSON.stringify(message))).toEqual(message);
  });

  it.each(vectors.refused.filter((each) => each.from === 'server'))('$text is refused', ({ text }) => {
    expect(parseServer(text)).toBeNull();
  });
});
