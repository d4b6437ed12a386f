import { describe, expect, it } from 'vitest';
import type { ServerEvent, Terminal } from '../src/api/types';
import { readLayout, readParams, terminalOf, VERSION } from '../src/dock/layout';
import { grouped } from '../src/frame/sidebar';
import { chooseLanguage } from '../src/i18n';
import { en } from '../src/i18n/en';
import { zh } from '../src/i18n/zh';
import { clock, shortPath, statusOf } from '../src/state/describe';
import { apply, EMPTY, type State } from '../src/state/store';
import { cleaned, needsWarning } from '../src/terminal/pasting';
import { fontFor, gridFor } from '../src/terminal/sizes';
import { fits, type Pressed } from '../src/ui/actions';
import { readPreferences } from '../src/ui/preferences';

const terminal = (change: Partial<Terminal> = {}): Terminal => ({
  id: 't_1',
  number: 1,
  name: null,
  workspace: null,
  session: null,
  kind: 'user',
  shell: 'bash',
  cwd: '/work',
  cols: 80,
  rows: 24,
  pid: 1,
  quality: 'rich',
  state: 'idle',
  command: null,
  last: null,
  title: '',
  offset: 0,
  start: 0,
  opened_at: 0,
  paused_by: null,
  viewers: 0,
  sandbox: null,
  ...change,
});

describe('sizes', () => {
  const cell = { width: 8, height: 16 };

  it.each([
    [{ width: 800, height: 400 }, { cols: 100, rows: 25 }],
    [{ width: 807, height: 415 }, { cols: 100, rows: 25 }],
    [{ width: 10, height: 10 }, { cols: 20, rows: 5 }],
    [{ width: 0, height: 400 }, null],
  ])('a box of %o holds %o', (box, grid) => {
    expect(gridFor(box, cell)).toEqual(grid);
  });

  it('letters get no bigger than wished, and smaller only as far as needed', () => {
    const box = { width: 800, height: 400 };
    expect(fontFor({ cols: 80, rows: 20 }, box, cell, 13, 13)).toBe(13);
    expect(fontFor({ cols: 200, rows: 20 }, box, cell, 13, 13)).toBe(6.5);
    expect(fontFor({ cols: 1000, rows: 20 }, box, cell, 13, 13)).toBe(6);
  });
});

describe('pasting', () => {
  it('takes out what a terminal would obey', () => {
    expect(cleaned('a\x1b[201~b\x03\r\nc\td\x9be')).toBe('a[201~b\nc\tde');
    expect(cleaned('中文 😀')).toBe('中文 😀');
  });

  it.each([
    ['one', false, 'always', false],
    ['a\nb', false, 'unbracketed', true],
    ['a\nb', true, 'unbracketed', false],
    ['a\nb', true, 'always', true],
    ['a\nb', false, 'never', false],
  ] as const)('asks before %j (bracketed: %s, setting: %s): %s', (text, isBracketed, warn, asks) => {
    expect(needsWarning(text, isBracketed, warn)).toBe(asks);
  });
});

describe('the state', () => {
  const running = { id: 'c_1', command: 'make', source: 'agent' as const, started_at: 5 };
  const told = (state: State, ...events: Partial<ServerEvent>[]) =>
    events.reduce<State>((before, event) => apply(before, { at: 5, type: '', ...event }), state);

  it('knows a terminal from its opening to its end', () => {
    const opened = told(EMPTY, { type: 'terminal_opened', terminal: terminal() });
    expect([...opened.terminals.keys()]).toEqual(['t_1']);
    expect(told(opened, { type: 'terminal_ended', terminal: { id: 't_1' } }).terminals.size).toBe(0);
  });

  it('believes the event rather than a terminal of a moment before', () => {
    const command = { id: 'c_1', terminal: 't_1', command: 'make', source: 'agent' };
    const started = told(EMPTY, { type: 'command_started', terminal: terminal(), command });
    expect(started.terminals.get('t_1')).toMatchObject({ state: 'running', command: running });
    const ended = told(started, {
      type: 'command_finished',
      terminal: terminal({ state: 'running', command: running }),
      command: { ...command, exit_code: 2 },
    });
    expect(ended.terminals.get('t_1')).toMatchObject({ state: 'idle', command: null, last: { id: 'c_1', exit_code: 2 } });
  });

  it('keeps a terminal whose event only names it', () => {
    const state = told(EMPTY, { type: 'terminal_opened', terminal: terminal() }, { type: 'cwd_changed', terminal: { id: 't_1' } });
    expect(state.terminals.get('t_1')?.shell).toBe('bash');
  });

  it('counts questions until they are answered', () => {
    const question = { id: 'a_1', command: 'rm x' } as never;
    const asked = told(EMPTY, { type: 'approval_asked', approval: question });
    expect(asked.questions.size).toBe(1);
    expect(told(asked, { type: 'approval_answered', approval: { id: 'a_1' } }).questions.size).toBe(0);
  });

  it('ignores what it does not know', () => {
    expect(told(EMPTY, { type: 'something_new' })).toBe(EMPTY);
  });
});

describe('descriptions', () => {
  it.each([
    [0, '0:00'],
    [67.9, '1:07'],
    [3723, '1:02:03'],
    [-5, '0:00'],
  ])('%d seconds are %s', (seconds, text) => expect(clock(seconds)).toBe(text));

  it.each([
    ['/home/ann/src', '~/src'],
    ['/root', '~'],
    ['/rooted/x', '/rooted/x'],
    ['/a/very/long/directory/with/many/parts/in/it', '…/directory/with/many/parts/in/it'],
    [null, ''],
  ])('%s is shown as %s', (path, short) => expect(shortPath(path, 36)).toBe(short));

  it('a failed command shows until the next one', () => {
    const last = { id: 'c', command: 'x', exit_code: 3, state: 'done', duration_s: 1 };
    expect(statusOf(terminal({ last }), false)).toEqual({ kind: 'failed', code: 3 });
    expect(statusOf(terminal({ last: { ...last, exit_code: 0 } }), false)).toEqual({ kind: 'idle' });
    expect(statusOf(terminal({ last: { ...last, exit_code: null } }), false)).toEqual({ kind: 'idle' });
  });

  it('groups put a person first, then sessions', () => {
    const groups = grouped([
      terminal({ id: 'a', number: 1, session: 's1' }),
      terminal({ id: 'b', number: 3 }),
      terminal({ id: 'c', number: 2 }),
    ]);
    expect(groups.map((group) => [group.session, group.terminals.map((each) => each.id)])).toEqual([
      [null, ['c', 'b']],
      ['s1', ['a']],
    ]);
  });
});

describe('layouts', () => {
  const params = { kind: 'terminal', terminal: 't_1', cwd: '/', shell: 'bash', name: null, session: null };
  const layout = { version: VERSION, dock: { grid: { root: {} }, panels: { p1: { id: 'p1', params } } } };

  it('tell which terminal a panel shows', () => {
    const read = readLayout(JSON.parse(JSON.stringify(layout)));
    expect(terminalOf(read, 'p1')).toBe('t_1');
    expect(terminalOf(read, 'p2')).toBeNull();
  });

  it.each([null, 5, [], {}, { version: 99 }, { version: VERSION, dock: { grid: {}, panels: {} } }, { version: VERSION, dock: { grid: {}, panels: { p: 1 } } }])(
    'that cannot be used are none: %j',
    (value) => expect(readLayout(value)).toBeNull(),
  );

  it('may lack what newer panels have', () => {
    expect(readParams({ kind: 'terminal', terminal: 't' })).toMatchObject({ cwd: null, shell: null });
    expect(readParams({ kind: 'other' })).toBeNull();
  });
});

describe('keys', () => {
  const pressed = (change: Partial<Pressed>): Pressed => ({
    key: '',
    code: '',
    ctrlKey: false,
    shiftKey: false,
    altKey: false,
    metaKey: false,
    ...change,
  });

  it.each([
    ['Ctrl+Shift+F', { key: 'F', code: 'KeyF', ctrlKey: true, shiftKey: true }, true],
    ['Ctrl+Shift+F', { key: 'f', code: 'KeyF', ctrlKey: true }, false],
    ['Ctrl+Shift+F', { key: 'А', code: 'KeyF', ctrlKey: true, shiftKey: true }, true],
    ['F2', { key: 'F2', code: 'F2' }, true],
    ['F2', { key: 'F2', code: 'F2', altKey: true }, false],
    ['Ctrl+Shift+BracketRight', { key: '}', code: 'BracketRight', ctrlKey: true, shiftKey: true }, true],
  ])('%s fits %o: %s', (written, keys, result) => expect(fits(written, pressed(keys))).toBe(result));
});

describe('words', () => {
  it('are in every language, and none is empty', () => {
    const keys = (of: object): string[] =>
      Object.entries(of).flatMap(([key, value]) =>
        typeof value === 'object' ? keys(value as object).map((each) => `${key}.${each}`) : value === '' ? [] : [key],
      );
    expect(keys(zh)).toEqual(keys(en));
  });

  it.each([
    [['zh-CN', 'en'], 'system', 'zh'],
    [['de', 'en-GB'], 'system', 'en'],
    [['de'], 'system', 'en'],
    [['zh'], 'en', 'en'],
  ] as const)('browser: %j, chosen: %s gives %s', (wished, chosen, language) =>
    expect(chooseLanguage(wished, chosen)).toBe(language),
  );
});

describe('preferences', () => {
  it('are as they are by default where what is stored is of no use', () => {
    const defaults = readPreferences(null);
    expect(readPreferences('{')).toEqual(defaults);
    expect(readPreferences('"x"')).toEqual(defaults);
    expect(readPreferences('{"fontSize":"big","bell":false,"other":1}')).toMatchObject({ fontSize: 13.5, bell: false });
    expect(readPreferences('{"fontSize":500}').fontSize).toBe(32);
  });
});
