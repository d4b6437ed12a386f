// Reads cases, one JSON object a line: a recording, where it is cut, and the picture of the screen there. Feeds one
// xterm.js the whole recording and another the picture and the rest, and says which cases look different.

const readline = require("node:readline");
const path = require("node:path");
const fs = require("node:fs");

const [headless, cols, rows] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const { Terminal } = require(headless);
const unicode11 = path.join(headless, "..", "addon-unicode11");

function fresh() {
  const terminal = new Terminal({ cols, rows, scrollback: 10000, allowProposedApi: true });
  if (fs.existsSync(unicode11)) {
    const { Unicode11Addon } = require(unicode11);
    terminal.loadAddon(new Unicode11Addon());
    terminal.unicode.activeVersion = "11";
  }
  return terminal;
}

const write = (terminal, data) => new Promise((done) => terminal.write(data, done));

// The first 16 colours are the same whether they are named by their own codes or as those of 256.
const color = (isRgb, number) => (isRgb ? "#" : "") + number;

function rowsOf(buffer) {
  const found = [];
  for (let y = buffer.baseY; y < buffer.baseY + rows; y++) {
    const line = buffer.getLine(y);
    const cells = [];
    for (let x = 0; line && x < cols; x++) {
      const cell = line.getCell(x);
      const chars = cell.getChars() || " ";
      const colors = [color(cell.isFgRGB(), cell.getFgColor()), color(cell.isBgRGB(), cell.getBgColor())];
      const flags = [cell.isBold(), cell.isItalic(), cell.isDim(), cell.isUnderline(), cell.isInverse(),
        cell.isInvisible(), cell.isStrikethrough()].map(Boolean);
      // A line that is erased right behind its last column: xterm.js leaves that column alone, and its cursor behind
      // it; others, xterm among them, erase that column and stay in it.
      cells.push(chars === " " ? [chars, colors[1]] : [chars, cell.getWidth(), colors, flags]);
    }
    found.push(cells);
  }
  return found;
}

function facts(terminal) {
  const { active, normal } = terminal.buffer;
  const shown = rowsOf(active);
  const text = (found) => found.map((cells) => cells.map((cell) => cell[0]).join("").trimEnd()).join("\n");
  return {
    text: text(shown),
    styles: JSON.stringify(shown),
    cursor: [Math.min(active.cursorX, cols - 1), active.cursorY],
    alternate: active.type,
    modes: modesOf(terminal),
    under: text(rowsOf(normal)),
    history: normal.baseY,
  };
}

function modesOf(terminal) {
  const found = {};
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(terminal.modes)).concat(Object.keys(terminal.modes))) {
    if (name !== "constructor") found[name] = terminal.modes[name];
  }
  const core = terminal._core;
  found.hidden = core.coreService.isCursorHidden;
  found.encoding = core.coreMouseService?.activeEncoding ?? core.mouseStateService?.activeEncoding;
  return found;
}

async function main() {
  const different = [];
  let cases = 0;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const given = JSON.parse(line);
    const whole = Buffer.from(given.whole, "base64");
    const picture = Buffer.from(given.picture, "base64");
    const [one, two] = [fresh(), fresh()];
    await write(one, whole.subarray(0, given.cut));
    await write(two, picture);
    for (const moment of ["then", "later"]) {
      const [expected, got] = [facts(one), facts(two)];
      for (const name of Object.keys(expected)) {
        if (name === "history" && (expected.alternate === "alternate" || moment === "later")) continue;
        if (JSON.stringify(expected[name]) !== JSON.stringify(got[name])) {
          different.push({ case: given.name, moment, name, expected: expected[name], got: got[name] });
        }
      }
      await write(one, whole.subarray(given.cut));
      await write(two, whole.subarray(given.cut));
    }
    one.dispose();
    two.dispose();
    cases += 1;
  }
  process.stdout.write(JSON.stringify({ cases, different }));
}

main();
