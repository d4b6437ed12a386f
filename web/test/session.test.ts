import { describe, expect, it } from 'vitest';
import { parseServer } from '../src/attach/messages';
import { afterClose, MOST_TRIES, Retry } from '../src/attach/retry';
import { ACK_BYTES, AttachSession, HELD_BYTES, type Step } from '../src/attach/session';

const bytes = (text: string) => new TextEncoder().encode(text);
const hello = (offset: number, replay: 'bytes' | 'snapshot' | 'none', more: object = {}) =>
  JSON.stringify({ type: 'hello', terminal: 't_1', offset, cols: 80, rows: 24, replay, ...more });
const text = (steps: Step[]) =>
  steps
    .filter((step) => step.do === 'write' || step.do === 'type')
    .map((step) => new TextDecoder().decode(step.data))
    .join('');

/** A session that is up to date at an offset. */
function ready(offset = 0): AttachSession {
  const session = new AttachSession();
  session.text(hello(offset, 'none'));
  return session;
}

describe('offsets', () => {
  it('asks for nothing special the first time, and for the next byte afterwards', () => {
    const session = new AttachSession();
    expect(session.since).toBeNull();
    session.text(hello(100, 'none'));
    session.binary(bytes('hello'));
    session.closed();
    expect(session.since).toBe(105);
  });

  it('does not count a snapshot', () => {
    const session = new AttachSession();
    session.text(hello(1000, 'snapshot'));
    session.text('{"type":"snapshot","bytes":7}');
    expect(session.binary(bytes('painted'))).toEqual([{ do: 'paint', data: bytes('painted') }]);
    expect(session.since).toBe(1000);
    expect(session.binary(bytes('ab'))).toEqual([{ do: 'write', data: bytes('ab'), until: 1002 }]);
  });

  it('goes on at the offset of a reset', () => {
    const session = ready(10);
    session.binary(bytes('abc'));
    expect(session.text('{"type":"reset","offset":5000}')).toEqual([]);
    session.text('{"type":"snapshot","bytes":1}');
    session.binary(bytes('x'));
    expect(session.since).toBe(5000);
  });

  it('ignores bytes before the hello', () => {
    const session = new AttachSession();
    expect(session.binary(bytes('early'))).toEqual([]);
    expect(session.since).toBeNull();
  });

  it('gives every byte once, wherever connections are cut', () => {
    const output = Array.from({ length: 400 }, (_, index) => `line ${index}\n`).join('');
    const data = bytes(output);
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    for (let round = 0; round < 50; round++) {
      const session = new AttachSession();
      let seen = '';
      session.text(hello(0, 'none'));
      while ((session.since ?? 0) < data.length) {
        const from = session.since ?? 0;
        seen += text(session.binary(data.subarray(from, from + 1 + random(500))));
        if (random(4) === 0) {
          session.closed();
          session.text(hello(session.since ?? 0, 'bytes'));
        }
      }
      expect(seen).toBe(output);
    }
  });
});

describe('acknowledgements', () => {
  it('asks for flow control with the hello', () => {
    expect(new AttachSession().text(hello(42, 'none'))).toContainEqual({
      do: 'send',
      message: { type: 'ack', offset: 42 },
    });
  });

  it('acknowledges what is on the screen, not what has come', () => {
    const session = ready();
    session.binary(new Uint8Array(ACK_BYTES * 3));
    expect(session.shown(ACK_BYTES - 1)).toEqual([]);
    expect(session.shown(ACK_BYTES)).toEqual([{ do: 'send', message: { type: 'ack', offset: ACK_BYTES } }]);
    expect(session.shown(ACK_BYTES * 2 - 1)).toEqual([]);
    expect(session.shown(ACK_BYTES * 2)).toHaveLength(1);
  });

  it('says nothing while there is no connection', () => {
    const session = ready();
    session.binary(new Uint8Array(ACK_BYTES * 2));
    session.closed();
    expect(session.shown(ACK_BYTES * 2)).toEqual([]);
  });
});

describe('what is typed', () => {
  it('goes out at once when everything is shown', () => {
    expect(ready().type(bytes('ls'))).toEqual([{ do: 'type', data: bytes('ls') }]);
  });

  it('waits until a snapshot is on the screen', () => {
    const session = new AttachSession();
    session.text(hello(0, 'snapshot'));
    expect(session.type(bytes('a'))).toEqual([]);
    session.text('{"type":"snapshot","bytes":1}');
    session.binary(bytes('x'));
    expect(session.type(bytes('b'))).toEqual([]);
    expect(text(session.painted())).toBe('ab');
    expect(text(session.type(bytes('c')))).toBe('c');
  });

  it('waits until replayed bytes are on the screen, which the first state tells', () => {
    const session = new AttachSession();
    session.text(hello(0, 'bytes'));
    session.binary(bytes('\x1b[c'));
    expect(session.type(bytes('a'))).toEqual([]);
    expect(session.caughtUp()).toEqual([]);
    expect(session.text('{"type":"viewers","count":1}')[0]).toEqual({ do: 'mark' });
    expect(session.text('{"type":"cwd","cwd":"/"}')[0]).toMatchObject({ do: 'tell' });
    expect(text(session.caughtUp())).toBe('a');
    expect(session.isReady).toBe(true);
  });

  it('is kept while there is no connection, and typed once there is', () => {
    const session = ready();
    session.closed();
    expect(session.type(bytes('echo '))).toEqual([]);
    expect(session.type(bytes('hi\r'))).toEqual([]);
    expect(text(session.text(hello(0, 'none')))).toBe('echo hi\r');
    expect(session.text(hello(0, 'none')).filter((step) => step.do === 'type')).toEqual([]);
  });

  it('is refused whole, once with a word, and with all that follows, when it does not fit', () => {
    const session = ready();
    session.closed();
    expect(session.type(new Uint8Array(HELD_BYTES - 1).fill(97))).toEqual([]);
    expect(session.type(bytes('long'))).toEqual([{ do: 'refuse', bytes: 4 }]);
    expect(session.type(bytes('x'))).toEqual([]);
    expect(text(session.text(hello(0, 'none')))).toHaveLength(HELD_BYTES - 1);
    expect(text(session.type(bytes('after')))).toBe('after');
    session.closed();
    expect(session.type(new Uint8Array(HELD_BYTES + 1))).toEqual([{ do: 'refuse', bytes: HELD_BYTES + 1 }]);
    expect(text(session.text(hello(0, 'none')))).toBe('');
  });

  it('is sent whole however long it is, while there is a connection', () => {
    const long = new Uint8Array(10 * HELD_BYTES);
    expect(ready().type(long)).toEqual([{ do: 'type', data: long }]);
  });

  it('is forgotten when nobody connects again', () => {
    const session = ready();
    session.closed();
    session.type(bytes('rm'));
    session.forget();
    expect(text(session.text(hello(0, 'none')))).toBe('');
  });

  it('is not sent by somebody who may only watch, nor to a terminal that has ended', () => {
    const watcher = new AttachSession();
    watcher.text(hello(0, 'none', { may_type: false }));
    expect(watcher.type(bytes('a'))).toEqual([]);
    const ended = ready();
    ended.text('{"type":"exit","reason":"its shell exited with 0"}');
    expect(ended.type(bytes('a'))).toEqual([]);
    expect(ended.isOver).toBe(true);
  });
});

describe('messages', () => {
  it('are told in their order with the bytes', () => {
    const session = ready();
    const steps = [
      ...session.binary(bytes('a')),
      ...session.text('{"type":"resize","cols":100,"rows":30,"by":"ann"}'),
      ...session.binary(bytes('b')),
    ];
    expect(steps.map((step) => step.do)).toEqual(['write', 'resize', 'tell', 'write']);
  });

  it.each(['', 'null', '[]', '{}', '{"type":1}', '{"type":"new"}', '{"type":"hello"}', '{"type":"__proto__"}', '{"type":"reset","offset":"5"}'])(
    'that are not understood are ignored: %s',
    (message) => {
      expect(parseServer(message)).toBeNull();
      expect(ready().text(message)).toEqual([]);
    },
  );
});

describe('retries', () => {
  it('wait 1, 2, 4, 8 and then 15 seconds, ten times', () => {
    const retry = new Retry();
    const waits = Array.from({ length: MOST_TRIES + 1 }, () => retry.next());
    expect(waits).toEqual([1000, 2000, 4000, 8000, 15000, 15000, 15000, 15000, 15000, 15000, null]);
  });

  it('begin anew after a success', () => {
    const retry = new Retry();
    retry.next();
    retry.next();
    retry.succeeded();
    expect(retry.next()).toBe(1000);
  });

  it.each([
    [4001, false, 'login'],
    [4003, false, 'refused'],
    [4004, false, 'replace'],
    [4004, true, 'over'],
    [4009, false, 'retry'],
    [1001, false, 'retry'],
    [1006, false, 'retry'],
    [1000, false, 'retry'],
    [1000, true, 'over'],
  ] as const)('depend on the close code: %d, ended: %s', (code, isOver, after) => {
    expect(afterClose(code, isOver)).toBe(after);
  });
});
