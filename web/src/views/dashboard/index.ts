/** The dashboard: numbers of the server, commands per minute, and what failed lately. */
import { t } from '../../i18n';
import { h, replace, setText } from '../../ui/dom';
import { icon, type IconName } from '../../ui/icons';
import { iconButton } from '../../ui/widgets';
import type { MountedView, ViewContext } from '../registry';
import { ask, type HistoryEntry, type Stats } from '../shared/api';
import { bytes, exactly, firstLine, lasting, whole, when } from '../shared/format';
import { calmly, Frame, problem } from '../shared/frame';
import { stateChip } from '../commands/row';
import { ofHistory } from '../commands/timeline';
import { w } from '../words';
import { chart } from './chart';

const EVERY_MS = 4_000;

export function mount(root: HTMLElement, context: ViewContext): MountedView {
  const frame = new Frame(root, context, 'dashboard', t.viewDashboard);
  const tiles = h('dl', { class: 'tiles' });
  const figure = h('div', { class: 'panel-card' });
  const failures = h('section', { class: 'panel-card', 'aria-label': w.recentFailures });
  const about = h('p', { class: 'soft' });
  const stale = h('p', { class: 'ask-warning', role: 'status', hidden: true }, icon('warning', 14), w.stale);
  let drawn = '';
  let listed = '';
  const load = async () => {
    try {
      const [stats, page] = await Promise.all([ask.stats(), ask.history({ failed: true, limit: 8 })]);
      if (frame.isGone) return;
      stale.hidden = true;
      if (figure.parentElement === null) replace(frame.body, stale, tiles, figure, failures, about);
      fillTiles(tiles, stats, context);
      const minutes = JSON.stringify(stats.commands_per_minute);
      if (minutes !== drawn) {
        drawn = minutes;
        replace(figure, chart(stats.commands_per_minute));
      }
      const failed = JSON.stringify(page.entries.map((each) => each.command_id));
      if (failed !== listed) {
        listed = failed;
        replace(failures, h('h3', { class: 'section-title' }, w.recentFailures), failureList(page.entries, context));
      }
      const info = context.live.state.value.info;
      setText(about, info === null ? '' : w.server(info.version, info.host));
    } catch (error) {
      if (drawn === '') replace(frame.body, problem(error, () => void load()));
      else stale.hidden = false;
    }
  };
  frame.tools.append(iconButton('rerun', w.refresh, () => void load()));
  replace(frame.body, h('p', { class: 'empty', role: 'status' }, t.loading));
  const soon = calmly(1_000, () => void load());
  frame.onGone(context.live.onEvent((event) => event.type !== 'cwd_changed' && context.isShown.value && soon()));
  frame.every(EVERY_MS, () => void load());
  void load();
  return frame.mounted();
}

interface Tile {
  key: string;
  label: string;
  sign: IconName;
  value: string;
  detail?: string;
  kind?: 'bad' | 'warn' | '';
  open?: () => void;
}

function fillTiles(element: HTMLElement, stats: Stats, context: ViewContext): void {
  const view = (id: string, params: Record<string, string> = {}) => () => context.openView(id, params);
  const { pending, answered } = stats.approvals;
  const tiles: Tile[] = [
    { key: 'terminals', label: w.terminals, sign: 'terminal', value: whole(stats.terminals) },
    { key: 'running', label: w.runningNow, sign: 'play', value: whole(stats.running), open: view('commands', { show: 'running' }) },
    { key: 'sessions', label: w.sessions, sign: 'agent', value: whole(stats.sessions) },
    { key: 'viewers', label: w.viewers, sign: 'eye', value: whole(stats.viewers), detail: `${w.pages}: ${whole(stats.streams)}` },
    {
      key: 'approvals',
      label: w.waitingQuestions,
      sign: 'bell',
      value: whole(pending),
      detail: w.answeredQuestions(answered),
      kind: pending > 0 ? 'warn' : '',
      open: view('approvals'),
    },
    { key: 'commands', label: w.commandsTotal, sign: 'command', value: whole(stats.commands), open: view('commands', { show: 'all' }) },
    { key: 'memory', label: w.memory, sign: 'chart', value: stats.memory_bytes === null ? '–' : bytes(stats.memory_bytes) },
    { key: 'uptime', label: w.uptime, sign: 'rerun', value: lasting(stats.uptime_s) },
    { key: 'requests', label: w.requests, sign: 'list', value: whole(stats.requests) },
    { key: 'errors', label: w.errors, sign: 'warning', value: whole(stats.errors), kind: stats.errors > 0 ? 'bad' : '' },
  ];
  if (element.childElementCount === 0) replace(element, tiles.map(tileElement));
  for (const tile of tiles) {
    const found = element.querySelector<HTMLElement>(`[data-tile="${tile.key}"]`);
    if (found === null) continue;
    found.className = `tile ${tile.kind ?? ''}`;
    const value = found.querySelector('.tile-value');
    if (value !== null) setText(value, tile.value);
    const detail = found.querySelector('.tile-detail');
    if (detail !== null) setText(detail, tile.detail ?? '');
  }
}

function tileElement(tile: Tile): HTMLElement {
  const value = h('span', { class: 'tile-value' });
  return h(
    'div',
    { class: 'tile', 'data-tile': tile.key },
    h('dt', {}, icon(tile.sign, 14), tile.label),
    h(
      'dd',
      {},
      tile.open === undefined ? value : h('button', { type: 'button', class: 'tile-button', onclick: tile.open }, value, h('span', { class: 'visually-hidden' }, ` ${tile.label}`)),
      h('span', { class: 'tile-detail soft' }),
    ),
  );
}

function failureList(entries: readonly HistoryEntry[], context: ViewContext): HTMLElement {
  if (entries.length === 0) return h('p', { class: 'soft' }, w.noFailures);
  return h(
    'ul',
    { class: 'failures' },
    entries.map((entry) =>
      h(
        'li',
        {},
        h(
          'button',
          { type: 'button', class: 'failure', onclick: () => context.openView('commands', { show: 'failed', command: entry.command_id }) },
          stateChip(ofHistory(entry)),
          h('code', { class: 'ellipsis' }, firstLine(entry.command)),
          h('time', { class: 'soft', title: exactly(entry.started_at) }, when(entry.started_at)),
        ),
      ),
    ),
  );
}
