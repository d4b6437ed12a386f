/**
 * The player of recordings. It emulates a terminal with WebAssembly, which the policy of the page forbids: that part runs
 * in a worker, whose own policy (the one of its file) allows it.
 */
import 'asciinema-player/dist/bundle/asciinema-player.css';
import { create } from 'asciinema-player/ui.js';
import workerUrl from 'asciinema-player/dist/bundle/asciinema-player-worker.min.js?url';
import { look } from '../../ui/theme';

export function start(stage: HTMLElement, url: string): () => void {
  const player = create({ url, fetchOpts: { credentials: 'same-origin' } }, stage, workerUrl, {
    autoPlay: true,
    fit: 'both',
    idleTimeLimit: 2,
    controls: true,
    terminalFontFamily: "'JetBrains Mono', ui-monospace, Menlo, Consolas, monospace",
    theme: look.value === 'light' ? 'hermitty-light' : 'hermitty-dark',
  });
  return () => player.dispose();
}
