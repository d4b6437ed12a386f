/** What is shown where no panel is. */
import type { IWatermarkRenderer } from 'dockview';
import type { Services } from '../frame/services';
import { t } from '../i18n';
import { shownKeys } from '../ui/actions';
import { h, replace } from '../ui/dom';
import { icon } from '../ui/icons';

export class Watermark implements IWatermarkRenderer {
  readonly element = h('div', { class: 'watermark' });
  private readonly stop: () => void;

  constructor(app: Services) {
    let mayRun: boolean | null = null;
    this.stop = app.live.state.watch(() => {
      if (mayRun === app.may('run')) return;
      mayRun = app.may('run');
      this.render(app, mayRun);
    });
  }

  init(): void {
    // Nothing of it depends on the group.
  }

  dispose(): void {
    this.stop();
  }

  private render(app: Services, mayRun: boolean): void {
    replace(
      this.element,
      h('div', { class: 'watermark-mark' }, icon('logo', 40)),
      h('h2', {}, t.welcome),
      h('p', {}, t.welcomeHint),
      mayRun &&
        h(
          'div',
          { class: 'row' },
          h(
            'button',
            { type: 'button', class: 'button primary', onclick: () => void app.newTerminal() },
            t.newTerminal,
            h('kbd', {}, shownKeys('Ctrl+Shift+Enter')),
          ),
          h('button', { type: 'button', class: 'button', onclick: () => app.newTerminalDialog() }, t.newTerminalDialog),
        ),
    );
  }
}
