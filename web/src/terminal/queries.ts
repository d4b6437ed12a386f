/**
 * Keeps the terminal on the page from answering questions of programs.
 *
 * The server answers them, once and at once, whether anybody watches or not. Were the page to answer as well, programs
 * would get several answers, and shells would find them typed at their prompt. Parser handlers are exact where looking
 * at what is sent would have to guess: keys and mouse reports look much the same.
 */
import type { IDisposable, Terminal } from '@xterm/xterm';

/** Window operations that ask for something (XTWINOPS). */
const WINDOW_REPORTS = new Set([11, 13, 14, 15, 16, 18, 19, 20, 21]);
/** Colours: of the palette, foreground, background, cursor, and of the mouse, Tektronix windows and the selection. */
const COLOURS = [4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];

const drop = () => true;

export function suppressAnswers(terminal: Terminal): IDisposable[] {
  const { parser } = terminal;
  return [
    parser.registerCsiHandler({ final: 'c' }, drop), // DA1
    parser.registerCsiHandler({ prefix: '>', final: 'c' }, drop), // DA2
    parser.registerCsiHandler({ prefix: '=', final: 'c' }, drop), // DA3
    parser.registerCsiHandler({ final: 'n' }, drop), // DSR, CPR
    parser.registerCsiHandler({ prefix: '?', final: 'n' }, drop), // DECXCPR, colour scheme
    parser.registerCsiHandler({ intermediates: '$', final: 'p' }, drop), // DECRQM
    parser.registerCsiHandler({ prefix: '?', intermediates: '$', final: 'p' }, drop),
    parser.registerCsiHandler({ prefix: '>', final: 'q' }, drop), // XTVERSION
    parser.registerCsiHandler({ prefix: '?', final: 'u' }, drop), // kitty keyboard flags
    parser.registerCsiHandler({ prefix: '?', final: 'm' }, drop), // XTQMODKEYS
    parser.registerCsiHandler({ final: 'x' }, drop), // DECREQTPARM
    parser.registerCsiHandler({ final: 't' }, (params) => WINDOW_REPORTS.has(first(params))),
    parser.registerDcsHandler({ intermediates: '$', final: 'q' }, drop), // DECRQSS
    parser.registerDcsHandler({ intermediates: '+', final: 'q' }, drop), // XTGETTCAP
    ...COLOURS.map((number) => parser.registerOscHandler(number, (data) => data.split(';').includes('?'))),
  ];
}

function first(params: (number | number[])[]): number {
  const value = params[0];
  return typeof value === 'number' ? value : 0;
}
