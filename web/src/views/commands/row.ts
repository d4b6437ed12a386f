/** One command of the timeline: what it is at a glance, and when it is opened its output and what can be done. */
import { t } from '../../i18n';
import { nameOf, shortPath } from '../../state/describe';
import { ask as askPerson } from '../../ui/dialogs';
import { h, replace, setAttributes } from '../../ui/dom';
import { icon } from '../../ui/icons';
import { toast } from '../../ui/toasts';
import { kindIcon } from '../../ui/widgets';
import type { ViewContext } from '../registry';
import { ask, type CommandResult } from '../shared/api';
import { codeLine, shownText } from '../shared/code';
import { bytes, exactly, firstLine, took, when } from '../shared/format';
import { button, copy, may, tellError } from '../shared/frame';
import { w } from '../words';
import { hasFailed, tail, type Entry } from './timeline';
import { seen } from '../../ui/unseen';

const PREVIEW_LINES = 12;

export function stateWords(entry: Pick<Entry, 'isRunning' | 'state' | 'exitCode' | 'signal'>): string {
  if (entry.isRunning || entry.state !== 'done') return w.states[entry.state] ?? entry.state;
  if (entry.signal !== null) return entry.signal;
  if (entry.exitCode === null) return t.endUnknown;
  return entry.exitCode === 0 ? w.succeeded : w.exitCode(entry.exitCode);
}

export function stateChip(entry: Entry): HTMLElement {
  const kind = entry.isRunning ? (entry.state === 'needs_input' ? 'input' : 'running') : hasFailed(entry) ? 'failed' : 'ok';
  const sign = { input: 'keyboard', running: 'play', failed: 'close', ok: 'check' } as const;
  return h('span', { class: `state ${kind}` }, icon(sign[kind], 13), stateWords(entry));
}

export class Row {
  readonly element: HTMLElement;
  private readonly summary: HTMLButtonElement;
  private readonly body = h('div', { class: 'command-body', hidden: true });
  private readonly preview = h('pre', { class: 'preview output-preview', tabindex: 0, 'aria-label': w.output });
  private readonly note = h('p', { class: 'soft' });
  private readonly tools = h('div', { class: 'row command-tools' });
  private key = '';
  private isOpen = false;
  private result: CommandResult | null = null;

  constructor(
    private entry: Entry,
    private readonly context: ViewContext,
  ) {
    this.summary = h('button', { type: 'button', class: 'command-summary', 'aria-expanded': false, onclick: () => this.open(!this.isOpen) });
    this.element = h('li', { class: 'command', 'data-command': entry.id }, this.summary, this.body);
    this.update(entry, true);
  }

  update(entry: Entry, isFirst = false): void {
    const key = JSON.stringify({ ...entry, durationS: entry.isRunning ? null : entry.durationS });
    if (key === this.key) {
      if (this.isOpen && entry.isRunning) void this.load();
      return;
    }
    this.key = key;
    this.entry = entry;
    this.element.className = `command ${entry.isRunning ? 'running' : hasFailed(entry) ? 'failed' : 'ok'}`;
    this.head();
    if (!isFirst && this.isOpen) {
      this.fill();
      void this.load();
    }
  }

  open(isOpen: boolean): void {
    this.isOpen = isOpen;
    setAttributes(this.summary, { 'aria-expanded': isOpen });
    this.body.hidden = !isOpen;
    if (!isOpen) return;
    this.fill();
    void this.load();
    this.element.scrollIntoView({ block: 'nearest' });
  }

  private head(): void {
    const { entry } = this;
    const terminal = this.terminal();
    const facts = [entry.session, terminal === undefined ? null : nameOf(terminal), shortPath(entry.cwd, 40)];
    const duration = entry.isRunning
      ? h('span', { class: 'elapsed', 'data-since': entry.startedAt }, took(Math.max(1, Date.now() / 1000 - entry.startedAt)))
      : h('span', {}, took(entry.durationS));
    replace(
      this.summary,
      h('span', { class: 'command-state' }, stateChip(entry)),
      h(
        'span',
        { class: 'command-main' },
        entry.command === '' ? h('span', { class: 'soft ellipsis' }, w.unknownLine) : h('code', { class: 'ellipsis' }, firstLine(entry.command)),
        h('span', { class: 'soft ellipsis' }, seen(facts.filter((each) => each !== null && each !== '').join(' · '))),
      ),
      h('span', { class: 'command-side' }, duration, h('time', { class: 'soft', title: exactly(entry.startedAt) }, when(entry.startedAt))),
      kindIcon(entry.source),
    );
  }

  private fill(): void {
    const { entry } = this;
    const terminal = this.terminal();
    replace(
      this.body,
      // The heading shows a short one whole.
      (entry.command.length > 60 || entry.command.includes('\n')) && codeLine(entry.command, 'wrap block'),
      h(
        'p',
        { class: 'soft row-facts' },
        [
          entry.cwd,
          entry.shell,
          entry.outputBytes === null ? null : w.outputBytes(bytes(entry.outputBytes)),
          entry.decision === null ? null : `${w.decidedBy} ${w.how[entry.decision] ?? entry.decision}`,
        ]
          .filter((each) => each !== null && each !== '')
          .join(' · '),
      ),
      this.preview,
      this.note,
      this.tools,
    );
    const artifact = entry.artifact ?? this.result?.artifact ?? null;
    const params: Record<string, string> = artifact === null ? { command: entry.id } : { artifact, command: entry.id };
    replace(
      this.tools,
      terminal !== undefined && button(w.goToTerminal, () => this.context.openTerminal(terminal.id), { icon: 'terminal' }),
      button(w.copyCommand, () => void copy(entry.command), { icon: 'copy' }),
      button(w.copyOutput, () => void this.copyOutput(), { icon: 'copy' }),
      button(w.wholeOutput, () => this.context.openView('artifact', params), { icon: 'list' }),
      may(this.context, 'run') &&
        (entry.isRunning
          ? [
              button(w.interrupt, () => void this.stop('interrupt'), { icon: 'hand' }),
              button(w.kill, () => void this.kill(), { icon: 'close', kind: 'bad' }),
            ]
          : button(w.runAgain, () => void this.runAgain(), { icon: 'rerun' })),
    );
  }

  private terminal() {
    return this.entry.terminal === null ? undefined : this.context.live.state.value.terminals.get(this.entry.terminal);
  }

  private async load(): Promise<void> {
    const id = this.entry.id;
    try {
      const result = await ask.command(id);
      this.result = result;
      const { text, isCut } = tail(result.text, PREVIEW_LINES);
      const isAtEnd = this.preview.scrollHeight - this.preview.scrollTop - this.preview.clientHeight < 24;
      this.preview.hidden = text === '';
      replace(this.preview, ...shownText(text));
      if (isAtEnd) this.preview.scrollTop = this.preview.scrollHeight;
      replace(this.note, text === '' ? w.noOutput : isCut || result.truncated ? w.cutPreview(PREVIEW_LINES) : '');
      this.note.hidden = text !== '' && !isCut && !result.truncated;
    } catch {
      this.preview.hidden = true;
      this.note.hidden = false;
      replace(this.note, w.outputGone);
    }
  }

  private async copyOutput(): Promise<void> {
    try {
      const result = this.result ?? (await ask.command(this.entry.id));
      if (result.text === '') toast(t.nothingToCopy);
      else await copy(result.text);
    } catch (error) {
      tellError(error);
    }
  }

  private async runAgain(): Promise<void> {
    const { entry } = this;
    const terminal = this.terminal();
    const isFree = terminal?.state === 'idle' && terminal.paused_by === null;
    const where = isFree ? nameOf(terminal) : w.runAgainHere;
    const answer = await askPerson(
      w.runAgainTitle,
      h('div', { class: 'dialog-text' }, codeLine(entry.command, 'wrap block'), h('p', {}, w.runAgainWhere(where))),
      [
        { label: t.cancel, value: '' },
        { label: w.runAgain, value: 'run', kind: 'primary' },
      ],
    );
    if (answer !== 'run') return;
    const running = isFree
      ? ask.runIn(terminal.id, { command: entry.command, session: terminal.session, wait_s: 0 })
      : ask.run({ command: entry.command, cwd: entry.cwd, session: entry.session, workspace: entry.workspace, wait_s: 0 });
    // A question about it may take its time: the page goes on, and says so if it was refused.
    running.then(() => toast(w.started), tellError);
  }

  private async kill(): Promise<void> {
    const answer = await askPerson(w.killTitle, h('div', { class: 'dialog-text' }, codeLine(this.entry.command, 'wrap block'), h('p', {}, w.killText)), [
      { label: t.cancel, value: '' },
      { label: w.kill, value: 'kill', kind: 'danger' },
    ]);
    if (answer === 'kill') await this.stop('kill');
  }

  private async stop(how: 'interrupt' | 'kill'): Promise<void> {
    try {
      await ask.stop(this.entry.id, how);
    } catch (error) {
      tellError(error);
    }
  }
}
