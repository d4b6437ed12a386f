/** The dialog for a new terminal: shell, directory, name. */
import { t } from '../i18n';
import { Dialog } from '../ui/dialogs';
import { h } from '../ui/dom';
import type { Services } from './services';

export async function newTerminalDialog(app: Services): Promise<void> {
  const state = app.live.state.value;
  const active = state.terminals.get(app.activeTerminal.value ?? '');
  const root = state.workspaces.find((each) => each.id === app.workspace.value)?.root ?? null;
  const shell = h('select', { class: 'input' }, h('option', { value: '' }, t.defaultShell));
  for (const name of state.info?.shells ?? []) shell.append(h('option', { value: name }, name));
  const cwd = h('input', {
    class: 'input mono',
    type: 'text',
    value: active?.cwd ?? root ?? '',
    placeholder: t.directoryHint,
    spellcheck: 'false',
    autocomplete: 'off',
    list: 'known-directories',
  });
  const known = new Set([...state.terminals.values()].map((each) => each.cwd).filter((each) => each !== null));
  const name = h('input', { class: 'input', type: 'text', placeholder: t.nameHint, maxlength: 200, autocomplete: 'off' });
  const dialog = new Dialog(
    {
      title: t.newTerminal,
      submit: 'open',
      buttons: [
        { label: t.cancel, value: '' },
        { label: t.create, value: 'open', kind: 'primary' },
      ],
    },
    h('label', { class: 'field' }, h('span', {}, t.shell), shell),
    h('label', { class: 'field' }, h('span', {}, t.directory), cwd),
    h('datalist', { id: 'known-directories' }, ...[...known].map((each) => h('option', { value: each }))),
    h('label', { class: 'field' }, h('span', {}, t.name), name),
  );
  shell.focus();
  if ((await dialog.closed) !== 'open') return;
  const text = (value: string) => (value.trim() === '' ? null : value.trim());
  await app.newTerminal({ shell: text(shell.value), cwd: text(cwd.value), name: text(name.value) });
}
