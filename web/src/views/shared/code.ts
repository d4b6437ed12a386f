/** Commands and paths as they are: every character can be seen, and none is taken for HTML. */
import { h } from '../../ui/dom';
import { visible } from '../../ui/unseen';

/** Text in which what cannot be seen stands as a sign. */
export function shownText(text: string): (string | HTMLElement)[] {
  return visible(text).map((piece) => (piece.isSign ? h('span', { class: 'sign' }, piece.text) : piece.text));
}

export function codeLine(text: string, className = ''): HTMLElement {
  return h('code', { class: `code-line ${className}`, title: text }, ...shownText(text));
}
