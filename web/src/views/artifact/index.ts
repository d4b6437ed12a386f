/** The whole output of a command: scrolled, searched, downloaded. */
import { t } from '../../i18n';
import { h, replace, setText } from '../../ui/dom';
import { iconButton } from '../../ui/widgets';
import type { MountedView, ViewContext } from '../registry';
import { ask, rawUrl, type ArtifactMatches } from '../shared/api';
import { bytes, firstLine, whole } from '../shared/format';
import { button, Frame, messageOf, nothing, problem, tellError } from '../shared/frame';
import { w } from '../words';
import { plainLine } from './ansi';
import { Pager } from './pager';
import { ArtifactLines, TextLines, type Lines } from './source';

const PIECE = 1024 * 1024;

export function mount(root: HTMLElement, context: ViewContext): MountedView {
  const frame = new Frame(root, context, 'artifact', t.viewOutput, 'fills');
  let shown: Output | null = null;
  const show = async (params: Record<string, string>) => {
    shown?.dispose();
    shown = null;
    replace(frame.tools);
    const { artifact, command } = params;
    if (artifact === undefined && command === undefined) {
      const open = button(t.viewCommands, () => context.openView('commands'), { kind: 'primary' });
      replace(frame.body, nothing('list', t.viewOutput, w.chooseCommand, open));
      return;
    }
    replace(frame.body, h('p', { class: 'empty', role: 'status' }, t.loading));
    try {
      const found = await sourceOf(artifact, command);
      if (context.params.value !== params || frame.isGone) return;
      shown = new Output(frame, found.lines, found.artifact, found.title);
      await shown.start(params['line'], params['search']);
    } catch (error) {
      if (!frame.isGone) replace(frame.body, problem(error, () => void show(params)));
    }
  };
  frame.onGone(context.params.watch((params) => void show(params)), () => shown?.dispose());
  return frame.mounted(() => shown?.focus());
}

async function sourceOf(artifact: string | undefined, command: string | undefined): Promise<{ lines: Lines; artifact: string | null; title: string }> {
  // An artifact outlives what is known about its command.
  const result = command === undefined ? null : await ask.command(command).catch((error: unknown) => {
    if (artifact === undefined) throw error;
    return null;
  });
  const id = artifact ?? result?.artifact ?? null;
  const title = result === null ? (id ?? '') : firstLine(result.command, 80);
  if (id !== null) return { lines: new ArtifactLines(id), artifact: id, title };
  return { lines: new TextLines(result?.text ?? ''), artifact: null, title };
}

class Output {
  private readonly pager: Pager;
  private readonly facts = h('span', { class: 'soft', role: 'status' });
  private readonly found = h('aside', { class: 'matches', 'aria-label': w.matches, hidden: true });
  private readonly search: HTMLInputElement;
  private readonly line: HTMLInputElement;
  private matches: ArtifactMatches['matches'] = [];
  private chosen = -1;
  private asked = 0;

  constructor(
    private readonly frame: Frame,
    private readonly lines: Lines,
    private readonly artifact: string | null,
    title: string,
  ) {
    this.pager = new Pager(lines, () => this.count());
    this.search = h('input', {
      class: 'input small search-field',
      type: 'search',
      'aria-label': w.findInOutput,
      placeholder: w.findInOutput,
      title: w.findHint,
      autocomplete: 'off',
      spellcheck: 'false',
      onkeydown: (event: KeyboardEvent) => this.searchKey(event),
    });
    this.line = h('input', {
      class: 'input small line-field',
      type: 'number',
      min: 1,
      'aria-label': w.goToLine,
      placeholder: w.goToLine,
      onkeydown: (event: KeyboardEvent) => {
        if (event.key === 'Enter') void this.goTo(this.line.valueAsNumber);
      },
    });
    frame.title = w.outputOf(title);
    const wrap = this.toggle(w.wrap, true, (isOn) => (this.pager.wraps = isOn));
    const colours = this.toggle(w.colours, true, (isOn) => {
      this.pager.isColoured = isOn;
      this.pager.redraw();
    });
    replace(
      frame.body,
      h('div', { class: 'filters' }, this.search, this.line, wrap, colours, this.facts),
      h('div', { class: 'output-main' }, this.pager.element, this.found),
    );
    this.pager.element.classList.add('wraps');
    replace(frame.tools, iconButton('download', w.download, () => void this.download().catch(tellError)));
  }

  async start(line: string | undefined, search: string | undefined): Promise<void> {
    if (this.lines.isExact && this.lines.total === 0) {
      replace(this.frame.body, nothing('list', w.noOutput));
      return;
    }
    await this.pager.start();
    if (line !== undefined) await this.goTo(Number(line));
    if (search !== undefined) {
      this.search.value = search;
      await this.find(0);
    }
  }

  focus(): void {
    this.search.focus({ preventScroll: true });
  }

  dispose(): void {
    this.pager.dispose();
  }

  private toggle(label: string, isOn: boolean, changed: (isOn: boolean) => void): HTMLElement {
    const input = h('input', { type: 'checkbox', checked: isOn, onchange: () => changed(input.checked) });
    return h('label', { class: 'check' }, input, h('span', {}, label));
  }

  private count(): void {
    setText(this.facts, `${w.lineCount(whole(this.lines.total), this.lines.isExact)} · ${bytes(this.lines.bytes)}`);
  }

  private async goTo(line: number): Promise<void> {
    if (!Number.isFinite(line) || line < 1) return;
    try {
      await this.pager.goTo(line);
      if (this.lines.isExact && line > this.lines.total) {
        setText(this.facts, w.onlyLines(this.lines.total));
        await this.pager.goTo(this.lines.total);
      }
    } catch (error) {
      tellError(error);
    }
  }

  private searchKey(event: KeyboardEvent): void {
    if (event.key === 'Enter') {
      event.preventDefault();
      if (this.search.value === this.search.dataset['found'] && this.matches.length > 0) this.step(event.shiftKey ? -1 : 1);
      else void this.find(0);
    } else if (event.key === 'Escape' && !this.found.hidden) {
      event.preventDefault();
      this.clear();
    }
  }

  private clear(): void {
    this.matches = [];
    this.found.hidden = true;
    delete this.search.dataset['found'];
    this.pager.showMatches([], null);
  }

  private async find(offset: number): Promise<void> {
    const search = this.search.value;
    if (search === '') return this.clear();
    this.asked += 1;
    const mine = this.asked;
    try {
      const answer = await this.lines.find(search, offset);
      if (mine !== this.asked) return;
      this.search.dataset['found'] = search;
      this.matches = offset === 0 ? answer.matches : [...this.matches, ...answer.matches];
      this.pager.showMatches(this.matches.map((each) => each.line), expression(search, answer.literal));
      this.list(answer);
      if (offset === 0) {
        this.chosen = -1;
        this.step(1);
      }
    } catch (error) {
      this.found.hidden = false;
      replace(this.found, h('p', { class: 'empty', role: 'alert' }, messageOf(error)));
    }
  }

  private list(answer: ArtifactMatches): void {
    this.found.hidden = false;
    const words = this.matches.length === 0 ? w.noMatch : w.matchCount(this.matches.length, answer.next === null);
    replace(
      this.found,
      h(
        'header',
        { class: 'matches-head' },
        h('p', { role: 'status' }, words, answer.literal && answer.problem !== null ? ` (${w.takenLiterally})` : ''),
        iconButton('close', w.closeMatches, () => this.clear()),
      ),
      h(
        'ol',
        { class: 'matches-list' },
        this.matches.map((match, index) =>
          h(
            'li',
            {},
            h(
              'button',
              { type: 'button', class: 'match', 'data-index': index, 'aria-label': `${w.line(match.line)}: ${plainLine(match.text)}`, onclick: () => this.choose(index) },
              h('span', { class: 'match-line' }, whole(match.line)),
              h('code', { class: 'ellipsis' }, plainLine(match.text).trim()),
            ),
          ),
        ),
      ),
      answer.next !== null && button(w.moreMatches, () => void this.find(answer.next ?? 0)),
    );
  }

  private step(by: 1 | -1): void {
    if (this.matches.length === 0) return;
    this.choose((this.chosen + by + this.matches.length) % this.matches.length);
  }

  private choose(index: number): void {
    this.chosen = index;
    for (const each of this.found.querySelectorAll<HTMLElement>('.match')) {
      if (each.dataset['index'] === String(index)) {
        each.setAttribute('aria-current', 'true');
        each.scrollIntoView({ block: 'nearest' });
      } else each.removeAttribute('aria-current');
    }
    const match = this.matches[index];
    if (match !== undefined) void this.goTo(match.line);
  }

  /** Puts the pieces together here: the server sends at most a megabyte at once. */
  private async download(): Promise<void> {
    const parts: BlobPart[] = [];
    if (this.artifact === null) {
      for (let index = 0; index * 100 < this.lines.total; index += 1) parts.push(`${(await this.lines.block(index)).lines.join('\n')}\n`);
    } else {
      for (let offset: number | null = 0; offset !== null; ) {
        const answer: Response = await fetch(rawUrl(this.artifact, offset, PIECE), { credentials: 'same-origin' });
        if (!answer.ok) throw new Error(answer.statusText);
        parts.push(await answer.blob());
        const next: string = answer.headers.get('X-Hermitty-Next') ?? '';
        offset = next === '' ? null : Number(next);
      }
    }
    const url = URL.createObjectURL(new Blob(parts, { type: 'text/plain' }));
    h('a', { href: url, download: `${this.artifact ?? 'output'}.log` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}

/** The same search in the page, to mark what was found; null where the languages of expressions differ. */
function expression(search: string, isLiteral: boolean): RegExp | null {
  try {
    return new RegExp(isLiteral ? search.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') : search, 'gi');
  } catch {
    return null;
  }
}
