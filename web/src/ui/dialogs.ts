/**
 * Dialogs: the browser's own modal ones, which keep the focus inside, close with Escape and give the focus back.
 */
import { t } from '../i18n';
import { h, newId, type Child } from './dom';
import { icon } from './icons';
import { closeMenu } from './menus';

export interface DialogOptions {
  title: string;
  class?: string;
  /** What Enter does in a field; the value of the button that is pressed. */
  submit?: string;
  buttons?: readonly DialogButton[];
}

export interface DialogButton {
  label: string;
  value: string;
  kind?: 'primary' | 'danger' | 'plain';
}

export class Dialog {
  readonly element: HTMLDialogElement;
  readonly body: HTMLElement;
  /** The value of the button that was pressed; null when the dialog was dismissed. */
  readonly closed: Promise<string | null>;

  constructor(options: DialogOptions, ...children: Child[]) {
    const title = newId('title');
    this.body = h('div', { class: 'dialog-body' }, ...children);
    const buttons = (options.buttons ?? []).map((each) =>
      h(
        'button',
        { type: 'button', class: `button ${each.kind ?? 'plain'}`, onclick: () => this.close(each.value) },
        each.label,
      ),
    );
    this.element = h(
      'dialog',
      { class: `dialog ${options.class ?? ''}`, 'aria-labelledby': title },
      h(
        'form',
        {
          method: 'dialog',
          onsubmit: (event: Event) => {
            event.preventDefault();
            if (options.submit !== undefined) this.close(options.submit);
          },
        },
        h(
          'header',
          { class: 'dialog-head' },
          h('h2', { id: title }, options.title),
          h(
            'button',
            { type: 'button', class: 'icon-button', 'aria-label': t.close, onclick: () => this.close(null) },
            icon('close'),
          ),
        ),
        this.body,
        buttons.length > 0 && h('footer', { class: 'dialog-foot' }, ...buttons),
        // Enter in a field presses the first submit button of a form, which has to exist.
        options.submit !== undefined && h('button', { type: 'submit', hidden: true, tabindex: -1 }),
      ),
    );
    this.closed = new Promise((resolve) => {
      this.element.addEventListener('close', () => {
        this.element.remove();
        resolve(this.element.returnValue === '' ? null : this.element.returnValue);
      });
    });
    // A press that starts and ends on the backdrop dismisses; one that ends there after selecting text does not.
    let startedOutside = false;
    this.element.addEventListener('pointerdown', (event) => {
      startedOutside = event.target === this.element;
    });
    this.element.addEventListener('click', (event) => {
      if (startedOutside && event.target === this.element) this.close(null);
    });
    closeMenu();
    document.body.append(this.element);
    this.element.showModal();
  }

  close(value: string | null): void {
    this.element.close(value ?? '');
  }
}

/** Asks a question with buttons. Enter presses the last one that does no harm. */
export function ask(title: string, text: Child, buttons: readonly DialogButton[]): Promise<string | null> {
  const dialog = new Dialog({ title, buttons }, h('div', { class: 'dialog-text' }, text));
  [...dialog.element.querySelectorAll<HTMLElement>('.dialog-foot .button:not(.danger)')].at(-1)?.focus();
  return dialog.closed;
}

/** Asks for one line of text. */
export async function askText(title: string, label: string, value: string): Promise<string | null> {
  const input = h('input', { class: 'input', type: 'text', value, autocomplete: 'off', maxlength: 200 });
  const dialog = new Dialog(
    {
      title,
      submit: 'save',
      buttons: [
        { label: t.cancel, value: '' },
        { label: t.save, value: 'save', kind: 'primary' },
      ],
    },
    h('label', { class: 'field' }, h('span', {}, label), input),
  );
  input.select();
  return (await dialog.closed) === 'save' ? input.value.trim() : null;
}
