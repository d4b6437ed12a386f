/** One setting: its explanation, a field for its value, where that comes from, and what the server says to it. */
import { h, newId, replace, setAttributes, setText } from '../../ui/dom';
import { icon } from '../../ui/icons';
import { ask, type Setting, type Settings } from '../shared/api';
import { messageOf } from '../shared/frame';
import { w } from '../words';
import { isSame, textOf, valueOf } from './values';

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export class Field {
  readonly element: HTMLElement;
  private readonly control: Control;
  private readonly trouble: HTMLElement;
  private readonly origin = h('span', { class: 'chip origin' });
  private readonly reset: HTMLButtonElement;
  private readonly saved = h('span', { class: 'saved', role: 'status' });
  private before = '';

  constructor(
    private setting: Setting,
    private readonly mayChange: boolean,
    private readonly changed: (settings: Settings) => void,
  ) {
    const [id, about, trouble] = [newId('setting'), newId('about'), newId('trouble')];
    this.trouble = h('p', { class: 'ask-trouble', id: trouble, role: 'alert' });
    this.control = this.makeControl();
    setAttributes(this.control, { id, 'aria-describedby': `${about} ${trouble}` });
    this.control.addEventListener('change', () => void this.save());
    this.control.addEventListener('keydown', (event) => {
      if ((event as KeyboardEvent).key !== 'Escape') return;
      this.put(this.before);
      setText(this.trouble, '');
    });
    this.reset = h(
      'button',
      { type: 'button', class: 'link-button', onclick: () => void this.send(() => ask.reset(this.setting.name)) },
      icon('rerun', 13),
      w.resetSetting,
      h('span', { class: 'visually-hidden' }, ` ${setting.name}`),
    );
    const name = setting.name.slice(setting.name.indexOf('.') + 1);
    this.element = h(
      'div',
      { class: 'setting', 'data-setting': setting.name },
      h(
        'div',
        { class: 'setting-about' },
        h('label', { for: id, class: 'setting-name' }, h('span', { class: 'visually-hidden' }, `${setting.name} `), h('code', { 'aria-hidden': 'true' }, name)),
        this.origin,
        h('p', { class: 'soft', id: about }, ...withCode(setting.explanation), h('span', { class: 'allowed' }, ` (${setting.allowed})`)),
      ),
      h('div', { class: 'setting-value' }, this.control, h('div', { class: 'setting-foot' }, this.defaultText(), this.reset, this.saved), this.trouble),
    );
    this.update(setting);
  }

  update(setting: Setting): void {
    this.setting = setting;
    const isFixed = !setting.can_change || !this.mayChange;
    setAttributes(this.control, { disabled: isFixed, 'aria-invalid': null });
    this.before = textOf(setting, setting.value);
    if (document.activeElement !== this.control || !this.element.classList.contains('wrong')) this.put(this.before);
    const kind = w.origins2[setting.origin_kind] ?? setting.origin_kind;
    setText(this.origin, kind);
    setAttributes(this.origin, {
      class: `chip origin ${setting.origin_kind}`,
      title: setting.can_change ? setting.origin : w.fixedBy(setting.origin),
      hidden: setting.origin_kind === 'default',
    });
    this.reset.hidden = isFixed || setting.origin_kind !== 'file';
    if (!setting.can_change && this.mayChange) setText(this.trouble, '');
    this.element.classList.toggle('changed', setting.origin_kind !== 'default');
  }

  private defaultText(): HTMLElement {
    const text = textOf(this.setting, this.setting.default).split('\n').join(', ');
    const shown = this.setting.type === 'boolean' ? (this.setting.default === true ? w.on : w.off) : text === '' ? w.empty : text;
    return h('span', { class: 'soft' }, w.byDefault(shown));
  }

  private makeControl(): Control {
    const { type, choices, optional } = this.setting;
    if (type === 'boolean') return h('input', { type: 'checkbox', class: 'switch', role: 'switch' });
    if (choices !== null) {
      return h(
        'select',
        { class: 'input' },
        optional && h('option', { value: '' }, w.empty),
        choices.map((each) => h('option', { value: each }, each)),
      );
    }
    if (type === 'list' || type === 'table') {
      const hint = type === 'list' ? w.onePerLine : w.namePerLine;
      return h('textarea', { class: 'input mono', rows: 2, placeholder: hint, spellcheck: 'false' });
    }
    // Numbers are written as text, too: whatever is wrong with one, the server says it in the same words everywhere.
    const isNumber = type === 'integer' || type === 'number';
    return h('input', {
      class: 'input mono',
      type: 'text',
      inputmode: isNumber ? 'decimal' : null,
      placeholder: optional ? w.empty : null,
      autocomplete: 'off',
      spellcheck: 'false',
    });
  }

  private get text(): string {
    return this.control instanceof HTMLInputElement && this.control.type === 'checkbox' ? String(this.control.checked) : this.control.value;
  }

  private put(text: string): void {
    if (this.control instanceof HTMLInputElement && this.control.type === 'checkbox') this.control.checked = text === 'true';
    else this.control.value = text;
  }

  private async save(): Promise<void> {
    let value: unknown;
    try {
      value = valueOf(this.setting, this.text, w.invalidJson);
    } catch (error) {
      this.wrong(messageOf(error));
      return;
    }
    if (isSame(value, this.setting.value)) {
      this.wrong('');
      return;
    }
    await this.send(() => ask.change(this.setting.name, value));
  }

  private async send(work: () => Promise<Settings>): Promise<void> {
    setText(this.saved, '');
    try {
      const settings = await work();
      this.wrong('');
      this.changed(settings);
      replace(this.saved, icon('check', 13), w.changed);
      setTimeout(() => replace(this.saved), 3_000);
    } catch (error) {
      this.wrong(messageOf(error));
      if (this.setting.type === 'boolean') this.put(this.before);
    }
  }

  private wrong(text: string): void {
    this.element.classList.toggle('wrong', text !== '');
    setAttributes(this.control, { 'aria-invalid': text === '' ? null : true });
    setText(this.trouble, text);
  }
}

/** Puts what stands between backquotes into code. */
function withCode(text: string): (string | HTMLElement)[] {
  return text.split('`').map((piece, index) => (index % 2 === 1 ? h('code', {}, piece) : piece));
}
