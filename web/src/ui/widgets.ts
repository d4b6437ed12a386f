/** Small pieces that several parts show. */
import type { TerminalKind } from '../api/types';
import { t } from '../i18n';
import { clock, statusWords, type Status } from '../state/describe';
import { h } from './dom';
import { icon, type IconName } from './icons';

export function iconButton(name: IconName, label: string, run: (event: MouseEvent) => void, keys?: string): HTMLButtonElement {
  return h(
    'button',
    {
      type: 'button',
      class: 'icon-button',
      'aria-label': label,
      title: keys === undefined ? label : `${label} (${keys})`,
      onclick: run,
    },
    icon(name),
  );
}

export function kindLabel(kind: TerminalKind): string {
  return { agent: t.agent, user: t.user, system: t.system }[kind];
}

export function kindIcon(kind: TerminalKind): HTMLElement {
  return h(
    'span',
    { class: `kind ${kind}`, role: 'img', 'aria-label': kindLabel(kind), title: kindLabel(kind) },
    icon(kind),
  );
}

/** A status: a dot with a shape of its own for each state, and words. Elapsed times tick by themselves. */
export function statusChip(status: Status): HTMLElement {
  const words = statusWords(status);
  const chip = h('span', { class: `status ${status.kind}`, title: words });
  chip.append(h('span', { class: 'status-dot', 'aria-hidden': 'true' }));
  if (status.kind === 'running') {
    chip.append(h('span', { class: 'visually-hidden' }, words), elapsed(status.since));
  } else if (status.kind === 'failed') {
    chip.append(h('span', { class: 'visually-hidden' }, words), h('span', { 'aria-hidden': 'true' }, String(status.code)));
  } else chip.append(h('span', { class: status.kind === 'idle' ? 'visually-hidden' : '' }, words));
  return chip;
}

/** A status as a dot alone: where it stands, words tell the same. */
export function statusDot(status: Status): HTMLElement {
  const dot = h('span', { class: 'status-dot', 'aria-hidden': 'true' });
  return h('span', { class: `status ${status.kind}`, title: statusWords(status) }, dot);
}

function elapsed(since: number): HTMLElement {
  const text = clock(Date.now() / 1000 - since);
  return h('span', { class: 'elapsed', 'data-since': since, 'aria-hidden': 'true' }, text);
}

/** Lets all elapsed times on the page tick, while somebody can see it. */
export function tick(): void {
  setInterval(() => {
    if (document.visibilityState !== 'visible') return;
    const now = Date.now() / 1000;
    for (const element of document.querySelectorAll<HTMLElement>('[data-since]')) {
      const text = clock(now - Number(element.dataset['since']));
      if (element.textContent !== text) element.textContent = text;
    }
  }, 1_000);
}
