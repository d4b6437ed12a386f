/** Recordings of terminals: listed, played, downloaded. */
import { t } from '../../i18n';
import { nameOf } from '../../state/describe';
import { h, replace } from '../../ui/dom';
import { icon } from '../../ui/icons';
import { iconButton } from '../../ui/widgets';
import type { MountedView, ViewContext } from '../registry';
import { ask, castUrl, type Recording } from '../shared/api';
import { bytes, exactly, took, when } from '../shared/format';
import { button, Frame, nothing, problem, searchField } from '../shared/frame';
import { w } from '../words';

export function mount(root: HTMLElement, context: ViewContext): MountedView {
  const frame = new Frame(root, context, 'recordings', t.viewRecordings);
  let stop: (() => void) | null = null;
  const show = (params: Record<string, string>) => {
    stop?.();
    stop = null;
    replace(frame.tools);
    const terminal = params['terminal'];
    if (terminal === undefined) {
      frame.title = t.viewRecordings;
      frame.root.querySelector('.view')?.classList.remove('fills');
      void list(frame);
      return;
    }
    frame.root.querySelector('.view')?.classList.add('fills');
    frame.title = w.recordingOf(nameFor(context, terminal, null));
    stop = play(frame, terminal);
  };
  frame.onGone(context.params.watch(show), () => stop?.());
  return frame.mounted();
}

function nameFor(context: ViewContext, terminal: string, title: string | null): string {
  const found = context.live.state.value.terminals.get(terminal);
  return found === undefined ? (title ?? terminal) : nameOf(found);
}

async function list(frame: Frame): Promise<void> {
  const { context } = frame;
  frame.tools.append(iconButton('rerun', w.refresh, () => void list(frame)));
  while (frame.tools.childElementCount > 1) frame.tools.firstElementChild?.remove();
  try {
    const recordings = await ask.recordings();
    if (frame.isGone || context.params.value['terminal'] !== undefined) return;
    if (recordings.length === 0) {
      replace(frame.body, nothing('record', w.noRecordings, w.noRecordingsHint));
      return;
    }
    const rows = h('ul', { class: 'rows' });
    const fill = (text: string) => {
      const wanted = recordings.filter((each) =>
        `${nameFor(context, each.terminal, each.title)} ${each.terminal}`.toLowerCase().includes(text.toLowerCase()),
      );
      replace(rows, wanted.length === 0 ? h('li', {}, nothing('search', w.noMatches)) : wanted.map((each) => row(each, context)));
    };
    fill('');
    replace(frame.body, h('div', { class: 'filters' }, searchField(w.search, fill, 80)), rows);
  } catch (error) {
    replace(frame.body, problem(error, () => void list(frame)));
  }
}

function row(recording: Recording, context: ViewContext): HTMLElement {
  const name = nameFor(context, recording.terminal, recording.title);
  return h(
    'li',
    { class: 'row-card recording', 'data-recording': recording.terminal },
    h(
      'div',
      { class: 'row-top' },
      button(w.play, () => context.openView('recordings', { terminal: recording.terminal }), { icon: 'play', kind: 'primary' }),
      h('span', { class: 'recording-name' }, name),
      recording.is_live && h('span', { class: 'chip live' }, w.live),
      h('span', { class: 'spring' }),
      downloads(recording.terminal),
    ),
    h(
      'p',
      { class: 'soft row-facts' },
      h('time', { title: exactly(recording.started_at) }, when(recording.started_at)),
      ` · ${took(recording.duration_s)} · ${bytes(recording.bytes)}${recording.cut ? ` · ${w.cut}` : ''}`,
    ),
  );
}

function downloads(terminal: string): HTMLElement {
  return h(
    'span',
    { class: 'downloads' },
    [3, 2].map((version) =>
      h(
        'a',
        { class: 'link-button', href: castUrl(terminal, version), download: `${terminal}.v${version}.cast`, title: `${w.download} ${w.version(version)}` },
        icon('download', 14),
        `v${version}`,
      ),
    ),
  );
}

function play(frame: Frame, terminal: string): () => void {
  const stage = h('div', { class: 'player' });
  replace(frame.tools, button(w.backToList, () => frame.context.openView('recordings'), { icon: 'list' }), downloads(terminal));
  replace(frame.body, stage);
  let stop: (() => void) | null = null;
  let isGone = false;
  import('./player').then(
    async ({ start }) => {
      const dispose = await start(stage, castUrl(terminal, 3));
      if (isGone) dispose();
      else stop = dispose;
    },
  ).catch((error: unknown) => {
    if (!isGone) replace(stage, nothing('warning', w.playerFailed, error instanceof Error ? error.message : ''));
  });
  return () => {
    isGone = true;
    stop?.();
  };
}
