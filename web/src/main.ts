import './styles/fonts.css';
import './styles/base.css';
import './styles/frame.css';
import './styles/dock.css';
import './styles/terminal.css';
import { App } from './frame/app';
import { language, t } from './i18n';
import { listenForKeys } from './ui/actions';
import { h } from './ui/dom';
import { followTheme } from './ui/theme';
import { tick } from './ui/widgets';
import { followAddress, startViews } from './views';

document.documentElement.lang = language;
followTheme();
listenForKeys();
tick();

const root = document.querySelector<HTMLElement>('#app');
if (root !== null) {
  const app = new App(root);
  startViews(app);
  const started = app.start().then(() => followAddress(app));
  started.catch(() => {
    const again = () => location.reload();
    root.replaceChildren(
      h(
        'main',
        { class: 'watermark full' },
        h('h1', {}, t.disconnected),
        h('button', { type: 'button', class: 'button primary', onclick: again }, t.retry),
      ),
    );
  });
}
