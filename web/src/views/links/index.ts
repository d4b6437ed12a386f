/** View-only links: made, shown once, listed and revoked. */
import { t } from '../../i18n';
import { ask as askPerson } from '../../ui/dialogs';
import { h, replace, setText } from '../../ui/dom';
import { toast } from '../../ui/toasts';
import type { MountedView, ViewContext } from '../registry';
import { ask, type Token } from '../shared/api';
import { exactly, when } from '../shared/format';
import { button, copy, Frame, may, messageOf, nothing, problem, tellError } from '../shared/frame';
import { w } from '../words';

const HOUR = 3600;
const SECONDS = { hour: HOUR, day: 24 * HOUR, week: 7 * 24 * HOUR, month: 30 * 24 * HOUR, never: null } as const;

export function mount(root: HTMLElement, context: ViewContext): MountedView {
  const frame = new Frame(root, context, 'links', t.viewLinks);
  if (!may(context, 'admin')) {
    frame.body.append(nothing('lock', w.notAllowed));
    return frame.mounted();
  }
  const list = h('div', { class: 'rows' });
  const load = () => void show(list, load);
  const name = h('input', { class: 'input', type: 'text', required: true, maxlength: 200, autocomplete: 'off', placeholder: w.linkNamePlaceholder });
  frame.body.append(
    h('p', { class: 'soft lead' }, w.linksHint),
    form(name, load),
    h('section', {}, h('h3', { class: 'section-title' }, w.tokenList), list),
  );
  load();
  return frame.mounted(() => name.focus({ preventScroll: true }));
}

function form(name: HTMLInputElement, made: () => void): HTMLElement {
  const expiry = h('select', { class: 'input' }, Object.entries(w.expiries).map(([value, label]) => h('option', { value, selected: value === 'day' }, label)));
  const result = h('div', { class: 'link-result', role: 'status' });
  const trouble = h('p', { class: 'ask-trouble', role: 'alert' });
  const create = async () => {
    setText(trouble, '');
    replace(result);
    try {
      const token = await ask.newToken(name.value.trim(), ['view'], SECONDS[expiry.value as keyof typeof SECONDS]);
      const url = `${location.origin}/?token=${encodeURIComponent(token.token)}`;
      const field = h('input', { class: 'input mono', type: 'text', readonly: true, value: url, 'aria-label': w.linkLabel, onfocus: () => field.select() });
      replace(
        result,
        h('p', {}, w.linkOnce),
        h('div', { class: 'link-row' }, field, button(w.copyLink, () => void copy(url), { icon: 'copy', kind: 'primary' })),
      );
      name.value = '';
      field.focus();
      made();
    } catch (error) {
      setText(trouble, messageOf(error));
    }
  };
  return h(
    'form',
    {
      class: 'panel-card link-form',
      onsubmit: (event: Event) => {
        event.preventDefault();
        void create();
      },
    },
    h('h3', { class: 'section-title' }, w.newLink),
    h(
      'div',
      { class: 'link-fields' },
      h('label', { class: 'field' }, h('span', {}, w.linkName), name),
      h('label', { class: 'field' }, h('span', {}, w.linkExpiry), expiry),
      h('button', { type: 'submit', class: 'button primary' }, w.createLink),
    ),
    trouble,
    result,
  );
}

async function show(list: HTMLElement, again: () => void): Promise<void> {
  try {
    const tokens = await ask.tokens();
    tokens.sort((a, b) => b.created_at - a.created_at);
    replace(list, tokens.length === 0 ? nothing('link', w.noLinks) : tokens.map((each) => row(each, again)));
  } catch (error) {
    replace(list, problem(error, again));
  }
}

function row(token: Token, again: () => void): HTMLElement {
  const isOver = token.expires_at !== null && token.expires_at < Date.now() / 1000;
  const until = token.expires_at === null ? w.forever : isOver ? w.expired : `${w.validUntil} ${when(token.expires_at)}`;
  const revoke = async () => {
    const answer = await askPerson(w.revokeTitle(token.name), h('p', {}, w.revokeText), [
      { label: t.cancel, value: '' },
      { label: w.revoke, value: 'revoke', kind: 'danger' },
    ]);
    if (answer !== 'revoke') return;
    try {
      await ask.removeToken(token.id);
      toast(w.revoked);
    } catch (error) {
      tellError(error);
    }
    again();
  };
  return h(
    'article',
    { class: `row-card ${isOver ? 'over' : ''}`, 'data-token': token.id },
    h(
      'div',
      { class: 'row-top' },
      h('strong', { class: 'grow' }, token.name),
      h('span', { class: 'chips' }, token.scopes.map((scope) => h('span', { class: 'chip' }, w.scopesOf[scope] ?? scope))),
      button(w.revoke, () => void revoke(), { kind: 'small' }),
    ),
    h(
      'p',
      { class: 'soft row-facts', title: token.expires_at === null ? '' : exactly(token.expires_at) },
      `${w.created} ${when(token.created_at)} · ${until}`,
    ),
  );
}
