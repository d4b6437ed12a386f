import { describe, expect, it } from 'vitest';
import type { Question } from '../src/api/types';
import { fitsVerdict } from '../src/views/approvals/filtering';
import { ruleWords, segments } from '../src/views/approvals/marking';
import { plainLine, readLine } from '../src/views/artifact/ansi';
import { cut } from '../src/views/artifact/pager';
import { TextLines } from '../src/views/artifact/source';
import { Heights, MOST_BLOCKS } from '../src/views/artifact/viewport';
import { hasFailed, merged, ofHistory, tail, type Wanted } from '../src/views/commands/timeline';
import { bars, ceiling, CHART } from '../src/views/dashboard/chart';
import { readHash, writeHash } from '../src/views/hash';
import { match, pieces, rank } from '../src/views/palette/fuzzy';
import { grouped, textOf, valueOf } from '../src/views/settings/values';
import { queryOf, type HistoryEntry, type LiveCommand, type Setting, type Verdict } from '../src/views/shared/api';
import { bytes, firstLine, lasting, took } from '../src/views/shared/format';
import { visible } from '../src/ui/unseen';
import { en } from '../src/views/words/en';
import { zh } from '../src/views/words/zh';

describe('places in the address', () => {
  it.each([
    ['#/commands', { view: 'commands', params: {} }],
    ['#/artifact?id=a_1&search=x%20y', { view: 'artifact', params: { id: 'a_1', search: 'x y' } }],
    ['', null],
    ['#dock', null],
    ['#/../etc', null],
  ])('%s', (hash, place) => expect(readHash(hash)).toEqual(place));

  it('are read as they were written', () => {
    const place = { view: 'commands', params: { session: 'a&b=c', text: '中 #/?' } };
    expect(readHash(writeHash(place))).toEqual(place);
  });
});

describe('numbers and times', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [2048, '2.0 KB'],
    [408_894, '399 KB'],
    [5 * 1024 ** 3, '5.0 GB'],
  ])('%d bytes', (count, text) => expect(bytes(count)).toBe(text));

  it.each([
    [null, ''],
    [0.0081, '8 ms'],
    [1.25, '1.3 s'],
    [187, '3:07'],
  ])('%s seconds', (seconds, text) => expect(took(seconds)).toBe(text));

  it.each([
    [5, '5 s'],
    [125, '2 min'],
    [7500, '2 h 5 min'],
    [273_600, '3 d 4 h'],
  ])('%d seconds are long', (seconds, text) => expect(lasting(seconds)).toBe(text));
});

describe('what cannot be seen', () => {
  it('becomes a sign', () => {
    expect(visible('a\u001b[31m\u202eb\n\tc')).toEqual([
      { text: 'a', isSign: false },
      { text: '^[', isSign: true },
      { text: '[31m', isSign: false },
      { text: 'U+202E', isSign: true },
      { text: 'b\n\tc', isSign: false },
    ]);
  });

  it('ordinary text of any language stays', () => {
    expect(visible('中文 😀 é')).toEqual([{ text: '中文 😀 é', isSign: false }]);
  });

  it('the first line tells that there are more', () => {
    expect(firstLine('one\ntwo')).toBe('one …');
    expect(firstLine('one')).toBe('one');
  });
});

describe('marks in commands', () => {
  const line = 'cat log && rm -rf build';
  const parts = [
    { start: 0, end: 7, verdict: 'allow', level: 'low' },
    { start: 11, end: 23, verdict: 'ask', level: 'critical' },
  ];

  it('stand where the policy asks, and words that reasons name are named', () => {
    expect(segments(line, parts, ['deletes build'])).toEqual([
      { text: 'cat log && ', verdict: 'none', isNamed: false },
      { text: 'rm -rf ', verdict: 'ask', isNamed: false },
      { text: 'build', verdict: 'ask', isNamed: true },
    ]);
  });

  it('count characters as the server does', () => {
    const found = segments('echo 😀; rm x', [{ start: 8, end: 12, verdict: 'block', level: 'high' }], []);
    expect(found.filter((each) => each.verdict === 'block').map((each) => each.text)).toEqual(['rm x']);
  });

  it('lose no character, whatever the parts are', () => {
    for (const [start, end] of [[0, 0], [-1, 4], [3, 999], [50, 60], [10, 2]] as const) {
      const found = segments(line, [{ start, end, verdict: 'ask', level: 'low' }], ['rm']);
      expect(found.map((each) => each.text).join('')).toBe(line);
    }
  });

  it('the inner command counts', () => {
    const found = segments('a $(b)', [
      { start: 4, end: 5, verdict: 'allow', level: 'low' },
      { start: 0, end: 6, verdict: 'ask', level: 'high' },
    ], []);
    expect(found.find((each) => each.text === 'b')?.verdict).toBe('none');
  });

  it('a rule in words', () => {
    expect(ruleWords(null)).toBe('');
    expect(ruleWords({ command: ['npm', 'test'], decision: 'allow' })).toBe('npm test');
    expect(ruleWords({})).toBe('*');
  });
});

describe('answered questions', () => {
  const question = { session: 's1', command: 'rm x', line: 'rm x' } as Question;
  const verdict: Verdict = { question, outcome: 'deny', scope: 'once', by: 'ada', at: 0, note: 'too early' };

  it.each([
    [{ outcome: '', session: '', text: '' }, true],
    [{ outcome: 'deny', session: 's1', text: 'RM' }, true],
    [{ outcome: 'allow', session: '', text: '' }, false],
    [{ outcome: '', session: 's2', text: '' }, false],
    [{ outcome: '', session: '', text: 'early' }, true],
    [{ outcome: '', session: '', text: 'cp' }, false],
  ])('%o', (wanted, fits) => expect(fitsVerdict(verdict, wanted)).toBe(fits));
});

const past = (change: Partial<HistoryEntry> = {}): HistoryEntry => ({
  command_id: 'c_1',
  command: 'make',
  source: 'agent',
  started_at: 100,
  state: 'done',
  duration_s: 1,
  exit_code: 0,
  signal: null,
  session: 's1',
  workspace: null,
  terminal: 't_1',
  shell: 'bash',
  cwd: '/work',
  decision: 'safe',
  output_bytes: 3,
  artifact: null,
  ...change,
});

const live = (change: Partial<LiveCommand> = {}): LiveCommand => ({
  id: 'c_2',
  command: 'sleep 9',
  terminal: 't_1',
  session: 's1',
  workspace: null,
  source: 'user',
  state: 'running',
  exit_code: null,
  started_at: 200,
  duration_s: 5,
  ...change,
});

describe('the timeline', () => {
  const all: Wanted = { show: 'all', session: '', terminal: '', text: '' };
  const ids = (wanted: Partial<Wanted>, lives = [live()], pasts = [past()]) =>
    merged(lives, pasts, { ...all, ...wanted }).map((each) => each.id);

  it('has each command once, the newest first', () => {
    expect(ids({}, [live(), live({ id: 'c_1', state: 'done', started_at: 100 })])).toEqual(['c_2', 'c_1']);
  });

  it('a command that runs has no end, even if the past knows it', () => {
    const [entry] = merged([live({ id: 'c_1' })], [past({ state: 'running', duration_s: null })], all);
    expect(entry).toMatchObject({ isRunning: true, durationS: null, cwd: '/work' });
  });

  it('leaves what is older than the page to the next page', () => {
    expect(ids({}, [live({ id: 'c_0', state: 'done', started_at: 50 })])).toEqual(['c_1']);
  });

  it.each([
    [{ show: 'running' as const }, ['c_2']],
    [{ show: 'failed' as const }, []],
    [{ session: 's2' }, []],
    [{ terminal: 't_1' }, ['c_2', 'c_1']],
    [{ text: 'MAKE' }, ['c_1']],
  ])('%o', (wanted, found) => expect(ids(wanted)).toEqual(found));

  it.each([
    [{}, false],
    [{ exit_code: 2 }, true],
    [{ exit_code: null }, false],
    [{ exit_code: null, signal: 'SIGTERM' }, true],
    [{ state: 'lost' }, true],
    [{ state: 'running', exit_code: null }, false],
  ])('%o failed: %s', (change, failed) => expect(hasFailed(ofHistory(past(change)))).toBe(failed));

  it('a preview has the last lines', () => {
    expect(tail('a\nb\nc\n', 2)).toEqual({ text: 'b\nc', isCut: true });
    expect(tail('a\n', 2)).toEqual({ text: 'a', isCut: false });
  });
});

describe('lines of an output', () => {
  it('have colours as classes and nothing else of what moves', () => {
    expect(readLine('\u001b[1;31mbad\u001b[0m ok\u001b[2K\u001b]0;title\u0007\u001b(B.').runs).toEqual([
      { text: 'bad', style: 'fg-1 bold' },
      { text: ' ok.', style: '' },
    ]);
  });

  it('go on in the colour of the line before', () => {
    const { style } = readLine('\u001b[32mone');
    expect(readLine('two', style).runs).toEqual([{ text: 'two', style: 'fg-2' }]);
  });

  it('show what was printed last over a carriage return', () => {
    expect(plainLine('10%\r50%\r100%\r')).toBe('100%');
  });

  it('256 colours and true colours take their parameters with them', () => {
    expect(readLine('\u001b[38;5;9ma\u001b[38;2;1;2;3mb\u001b[48;5;200mc').runs).toEqual([
      { text: 'a', style: 'fg-9' },
      { text: 'bc', style: '' },
    ]);
  });

  it('never have a control character, whatever is printed', () => {
    for (let seed = 0; seed < 300; seed += 1) {
      const text = Array.from({ length: 30 }, (_, index) => String.fromCharCode((seed * 31 + index * index * 17) % 160)).join('');
      expect(plainLine(text.replaceAll('\n', ''))).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
    }
  });

  it('are cut at what was found', () => {
    expect(cut('one two one', /one/g)).toEqual(['', 'one', ' two ', 'one', '']);
    expect(cut('abc', /x*/g)).toEqual(['abc']);
  });

  it('of a text are searched by an expression, or as they are', async () => {
    const lines = new TextLines('alpha\nbeta (1)\ngamma\n');
    expect(lines.total).toBe(3);
    expect((await lines.find('^b')).matches.map((each) => each.line)).toEqual([2]);
    const plain = await lines.find('(1');
    expect([plain.literal, plain.matches.map((each) => each.line)]).toEqual([true, [2]]);
  });
});

describe('what can be seen of an output', () => {
  it('is what the window shows, and a block beside it', () => {
    const heights = new Heights(100, 1000);
    expect(heights.within(0, 500)).toEqual({ first: 0, last: 1 });
    expect(heights.within(5_200, 500)).toEqual({ first: 4, last: 6 });
    expect(heights.within(1e9, 500)).toEqual({ first: 98, last: 99 });
  });

  it('follows true heights', () => {
    const heights = new Heights(10, 1000);
    expect(heights.measure(0, 3000)).toBe(2000);
    expect(heights.topOf(1)).toBe(3000);
    expect(heights.total).toBe(12_000);
  });

  it('is a window of a very long output that moves', () => {
    const heights = new Heights(MOST_BLOCKS * 10, 1000);
    expect(heights.end).toBe(MOST_BLOCKS);
    heights.include(MOST_BLOCKS * 9);
    expect(heights.base).toBeLessThanOrEqual(MOST_BLOCKS * 9);
    expect(heights.end).toBeGreaterThan(MOST_BLOCKS * 9);
    heights.include(3);
    expect(heights.base).toBe(0);
  });
});

describe('the palette', () => {
  it('finds letters in their order', () => {
    expect(match('stg', 'Settings')?.at).toEqual([0, 2, 6]);
    expect(match('xyz', 'Settings')).toBeNull();
    expect(match('dash set', 'Settings of the dashboard')).not.toBeNull();
  });

  it('the beginning of a word comes first', () => {
    const found = rank('set', ['reset all', 'Close the tab', 'Settings'], (each) => each, () => '');
    expect(found.map((each) => each.item)[0]).toBe('Settings');
  });

  it('what is said beside it counts, too, but less', () => {
    const items = [
      { name: 'bash 1', more: 'server' },
      { name: 'server', more: '' },
    ];
    expect(rank('server', items, (each) => each.name, (each) => each.more).map((each) => each.item.name)).toEqual(['server', 'bash 1']);
    expect(rank('svr', items, (each) => each.name, (each) => each.more).map((each) => each.item.name)).toEqual(['server']);
  });

  it('marks no more and no less', () => {
    expect(pieces('Settings', [0, 1])).toEqual(['', 'Se', 'ttings']);
    expect(pieces('Settings', [])).toEqual(['Settings']);
    expect(pieces('', [])).toEqual(['']);
  });
});

describe('values of settings', () => {
  const number = { type: 'integer' as const, optional: false };

  it.each([
    [number, '12', 12],
    [number, 'x', 'x'],
    [{ ...number, optional: true }, '', null],
    [{ type: 'string' as const, optional: true }, '', null],
    [{ type: 'string' as const, optional: false }, '', ''],
    [{ type: 'boolean' as const, optional: false }, 'true', true],
    [{ type: 'list' as const, optional: false }, 'a\n\n b \n', ['a', 'b']],
    [{ type: 'table' as const, optional: false }, 'A=1\nB=x=y', { A: '1', B: 'x=y' }],
  ])('%o %s', (setting, text, value) => {
    expect(valueOf(setting, text, '')).toEqual(value);
    if (text === text.trim() && !text.includes('\n\n')) expect(textOf(setting, value)).toBe(text);
  });

  it('a line of a table without a name is told', () => {
    expect(() => valueOf({ type: 'table', optional: false }, 'nothing', 'wrong')).toThrow('wrong');
  });

  it('are grouped and found', () => {
    const setting = (name: string, kind: string): Setting => ({ name, origin_kind: kind, explanation: 'how many' }) as Setting;
    const all = [setting('run.wait_s', 'default'), setting('run.kill', 'file'), setting('terminal.cols', 'default')];
    expect(grouped(all, '', false).map((each) => [each.name, each.settings.length])).toEqual([['run', 2], ['terminal', 1]]);
    expect(grouped(all, 'cols many', false).map((each) => each.name)).toEqual(['terminal']);
    expect(grouped(all, '', true).flatMap((each) => each.settings.map((one) => one.name))).toEqual(['run.kill']);
  });
});

describe('the chart', () => {
  it.each([
    [[0, 0], 4],
    [[3, 7], 10],
    [[41], 50],
    [[100], 100],
  ])('%o fits under %d', (values, top) => expect(ceiling(values)).toBe(top));

  it('bars stay inside', () => {
    for (const bar of bars(Array.from({ length: 60 }, (_, index) => (index * 7) % 13))) {
      expect(bar.y).toBeGreaterThanOrEqual(0);
      expect(bar.y + bar.height).toBeCloseTo(CHART.height);
      expect(bar.x + bar.width).toBeLessThanOrEqual(CHART.width);
    }
  });
});

describe('queries and words', () => {
  it('leave out what is not given', () => {
    expect(queryOf({ a: null, b: undefined, c: '', d: false, e: 0, f: 'x y' })).toBe('?d=false&e=0&f=x+y');
    expect(queryOf({})).toBe('');
  });

  it('every effect that the server names has Chinese words', () => {
    expect(Object.values(zh.effectWords).every((each) => /[\u4e00-\u9fff]/.test(each))).toBe(true);
    expect(Object.keys(zh.effectWords)).toHaveLength(11);
  });

  it('every state and every level has words', () => {
    for (const words of [en, zh]) {
      expect(Object.keys(words.levels)).toEqual(['low', 'medium', 'high', 'critical']);
      expect(Object.keys(words.scopes)).toEqual(['once', 'session', 'workspace', 'user']);
      expect(Object.keys(words.outcomes)).toEqual(['allow', 'deny', 'skip', 'timeout', 'cancelled']);
    }
  });
});
