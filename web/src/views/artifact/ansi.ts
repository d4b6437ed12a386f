/** Raw output as text: colours become classes, everything else that moves or asks is left out. Pure. */

export interface Run {
  text: string;
  /** Classes such as `fg-1 bold`; empty for plain text. */
  style: string;
}

// CSI, OSC and other strings, other escapes; then what is no text by itself.
const ESCAPE = /\u001b\[([0-9;:]*)([ -/]*)([@-~])|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g;

export interface Style {
  fg: number | null;
  bg: number | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
}

export const PLAIN: Style = { fg: null, bg: null, bold: false, dim: false, italic: false, underline: false, inverse: false };

/** Reads one line, beginning with the style in which the line before ended. Returns its runs and the style at its end. */
export function readLine(line: string, before: Style = PLAIN): { runs: Run[]; style: Style } {
  // What was printed over by a carriage return is not seen: the last one counts.
  const text = overwritten(line.replace(/\r+$/, ''));
  const runs: Run[] = [];
  let style = before;
  let at = 0;
  const add = (piece: string) => {
    if (piece === '') return;
    const classes = classesOf(style);
    const last = runs.at(-1);
    if (last !== undefined && last.style === classes) last.text += piece;
    else runs.push({ text: piece, style: classes });
  };
  for (const found of text.matchAll(ESCAPE)) {
    add(text.slice(at, found.index));
    at = found.index + found[0].length;
    if (found[3] === 'm' && found[2] === '') style = changed(style, found[1] ?? '');
  }
  add(text.slice(at));
  return { runs, style };
}

/** The text of a line without anything else. */
export function plainLine(line: string): string {
  return readLine(line)
    .runs.map((run) => run.text)
    .join('');
}

function overwritten(line: string): string {
  if (!line.includes('\r')) return line;
  const pieces = line.split('\r').filter((each) => each !== '');
  return pieces.at(-1) ?? '';
}

function changed(before: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map(Number);
  let style = { ...before };
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 0) style = { ...PLAIN };
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 22) style.bold = style.dim = false;
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code === 27) style.inverse = false;
    else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code === 39) style.fg = null;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code === 49) style.bg = null;
    else if (code >= 90 && code <= 97) style.fg = code - 82;
    else if (code >= 100 && code <= 107) style.bg = code - 92;
    else if (code === 38 || code === 48) {
      // 256 colours: the first sixteen are ours, others are not shown. True colours neither.
      const colour = codes[index + 1] === 5 ? (codes[index + 2] ?? null) : null;
      const shown = colour !== null && colour < 16 ? colour : null;
      if (code === 38) style.fg = shown;
      else style.bg = shown;
      index += codes[index + 1] === 5 ? 2 : 4;
    }
  }
  return style;
}

function classesOf(style: Style): string {
  const classes: string[] = [];
  if (style.fg !== null) classes.push(`fg-${style.fg}`);
  if (style.bg !== null) classes.push(`bg-${style.bg}`);
  for (const name of ['bold', 'dim', 'italic', 'underline', 'inverse'] as const) if (style[name]) classes.push(name);
  return classes.join(' ');
}
