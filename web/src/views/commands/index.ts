/** Commands: what agents and people ran and run, as a timeline. */
import { t } from '../../i18n';
import { nameOf } from '../../state/describe';
import { h, replace, setText } from '../../ui/dom';
import { iconButton } from '../../ui/widgets';
import type { MountedView, ViewContext } from '../registry';
import { ask, type HistoryEntry, type LiveCommand } from '../shared/api';
import { button, calmly, Frame, nothing, problem, searchField, Segments, Select, type Choice } from '../shared/frame';
import { w } from '../words';
import { Row } from './row';
import { merged, type Entry, type Wanted } from './timeline';

const PAGE = 60;

export function mount(root: HTMLElement, context: ViewContext): MountedView {
  const frame = new Frame(root, context, 'commands', t.viewCommands);
  const view = new Timeline(frame);
  return frame.mounted(() => view.focus());
}

class Timeline {
  private readonly list = h('ul', { class: 'timeline', 'aria-label': t.viewCommands });
  private readonly status = h('p', { class: 'soft', role: 'status' });
  private readonly more = button(w.moreToLoad, () => void this.loadMore());
  private readonly rows = new Map<string, Row>();
  private readonly search: HTMLInputElement;
  private readonly shown: Segments;
  private readonly session: Select;
  private readonly terminal: Select;
  private readonly wanted: Wanted = { show: 'all', session: '', terminal: '', text: '' };
  private live: LiveCommand[] = [];
  private past: HistoryEntry[] = [];
  private next: string | null = null;
  private missing = 0;
  private asked = 0;

  constructor(private readonly frame: Frame) {
    const { context } = frame;
    const anew = () => {
      this.past = [];
      void this.load();
    };
    this.search = searchField(w.searchCommands, (text) => {
      this.wanted.text = text;
      anew();
    });
    this.shown = new Segments(
      w.show,
      [
        { value: 'all', label: w.onlyAll },
        { value: 'running', label: w.onlyRunning },
        { value: 'failed', label: w.onlyFailed },
      ],
      'all',
      (value) => {
        this.wanted.show = value as Wanted['show'];
        anew();
      },
    );
    this.session = new Select(w.session, [], (value) => {
      this.wanted.session = value;
      anew();
    });
    this.terminal = new Select(w.terminal, [], (value) => {
      this.wanted.terminal = value;
      anew();
    });
    frame.tools.append(iconButton('rerun', w.refresh, () => void this.load()));
    frame.body.append(
      h('div', { class: 'filters' }, this.search, this.shown.element, this.session.element, this.terminal.element),
      this.list,
      h('div', { class: 'list-foot' }, this.more, this.status),
    );
    this.more.hidden = true;
    const soon = calmly(250, () => void this.load());
    frame.onGone(
      context.live.onEvent((event) => {
        if (event.type.startsWith('command_') || event.type === 'input_wanted' || event.type === 'reset') soon();
      }),
      context.params.subscribe((params) => this.follow(params)),
    );
    this.follow(context.params.value);
  }

  focus(): void {
    this.search.focus({ preventScroll: true });
  }

  private follow(params: Record<string, string>): void {
    this.fillChoices();
    this.wanted.session = params['session'] ?? this.wanted.session;
    this.wanted.terminal = params['terminal'] ?? this.wanted.terminal;
    if (params['show'] === 'failed' || params['show'] === 'running' || params['show'] === 'all') this.wanted.show = params['show'];
    this.shown.choose(this.wanted.show);
    this.past = [];
    void this.load(params['command']);
  }

  private fillChoices(): void {
    const { terminals } = this.frame.context.live.state.value;
    const commands = [...this.live, ...this.past];
    const sessions = new Set<string>();
    for (const each of [...commands, ...terminals.values()]) if (each.session !== null) sessions.add(each.session);
    if (this.wanted.session !== '') sessions.add(this.wanted.session);
    const found: Choice[] = [...terminals.values()].map((each) => ({ value: each.id, label: nameOf(each) }));
    if (this.wanted.terminal !== '' && !terminals.has(this.wanted.terminal)) {
      found.push({ value: this.wanted.terminal, label: this.wanted.terminal });
    }
    this.session.fill([{ value: '', label: w.allSessions }, ...[...sessions].sort().map((each) => ({ value: each, label: each }))]);
    this.terminal.fill([{ value: '', label: w.allTerminals }, ...found]);
    this.session.value = this.wanted.session;
    this.terminal.value = this.wanted.terminal;
  }

  private query(before: string | null): Record<string, string | number | boolean | null> {
    const { text, session, show } = this.wanted;
    return { search: text, session, failed: show === 'failed' ? true : null, limit: PAGE, before };
  }

  /** Asks for what runs and the newest of what ran. Pages that were loaded before stay. */
  private async load(open?: string): Promise<void> {
    this.asked += 1;
    const mine = this.asked;
    try {
      const [live, page] = await Promise.all([ask.commands(), ask.history(this.query(null))]);
      if (mine !== this.asked || this.frame.isGone) return;
      const fresh = new Set(page.entries.map((each) => each.command_id));
      const oldest = page.entries.at(-1)?.started_at ?? Infinity;
      const kept = this.past.filter((each) => !fresh.has(each.command_id) && each.started_at <= oldest);
      this.live = live;
      this.past = [...page.entries, ...kept];
      if (kept.length === 0) this.next = page.next;
      this.missing = page.missing;
      this.render();
      if (open !== undefined) this.rows.get(open)?.open(true);
    } catch (error) {
      if (mine === this.asked && this.rows.size === 0) replace(this.list, h('li', {}, problem(error, () => void this.load())));
    }
  }

  private async loadMore(): Promise<void> {
    if (this.next === null) return;
    try {
      const page = await ask.history(this.query(this.next));
      this.past = [...this.past, ...page.entries];
      this.next = page.next;
      this.render();
    } catch (error) {
      setText(this.status, error instanceof Error ? error.message : t.failed);
    }
  }

  private render(): void {
    this.fillChoices();
    const entries = merged(this.live, this.past, this.wanted);
    this.more.hidden = this.next === null || this.wanted.show === 'running';
    const told = [entries.length === 0 ? '' : w.commandCount(entries.length), this.missing > 0 ? w.missing(this.missing) : ''];
    setText(this.status, told.filter((each) => each !== '').join(' · '));
    if (entries.length === 0) {
      this.rows.clear();
      const isFiltered = JSON.stringify({ ...this.wanted, show: this.wanted.show }) !== '{"show":"all","session":"","terminal":"","text":""}';
      replace(this.list, h('li', {}, isFiltered ? nothing('search', w.noMatches) : nothing('list', w.noCommands, w.noCommandsHint)));
      return;
    }
    this.place(entries);
  }

  /** Changes the list as little as it can: what has the focus or is open stays as it is. */
  private place(entries: readonly Entry[]): void {
    const wanted = new Set(entries.map((each) => each.id));
    for (const [id, row] of this.rows) {
      if (wanted.has(id)) continue;
      row.element.remove();
      this.rows.delete(id);
    }
    for (const other of [...this.list.children]) if (!(other instanceof HTMLElement) || other.dataset['command'] === undefined) other.remove();
    let before: Element | null = this.list.firstElementChild;
    for (const entry of entries) {
      let row = this.rows.get(entry.id);
      if (row === undefined) {
        row = new Row(entry, this.frame.context);
        this.rows.set(entry.id, row);
      } else row.update(entry);
      if (row.element === before) before = before.nextElementSibling;
      else this.list.insertBefore(row.element, before);
    }
  }
}
