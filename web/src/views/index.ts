/** The views of the page. Each is registered here; its code is loaded when it is opened. */
import type { Services } from '../frame/services';
import { t } from '../i18n';
import { registerAction } from '../ui/actions';
import type { Drawer } from './approvals/drawer';
import { readHash } from './hash';
import { findView, registerView, views } from './registry';

/** As it was when the page was loaded: views of the layout write their own. */
const ASKED = location.hash;

registerView({
  id: 'approvals',
  title: () => t.approvals,
  icon: 'bell',
  order: 10,
  badge: (state) => state.questions.size,
  load: () => import('./approvals'),
});
registerView({ id: 'commands', title: () => t.viewCommands, icon: 'list', order: 20, keys: ['Ctrl+Shift+L'], load: () => import('./commands') });
registerView({ id: 'dashboard', title: () => t.viewDashboard, icon: 'chart', order: 30, load: () => import('./dashboard') });
registerView({ id: 'settings', title: () => t.viewSettings, icon: 'gear', order: 40, keys: ['Ctrl+Shift+Comma'], load: () => import('./settings') });
registerView({ id: 'recordings', title: () => t.viewRecordings, icon: 'record', load: () => import('./recordings') });
registerView({ id: 'rules', title: () => t.viewRules, icon: 'rules', load: () => import('./rules') });
registerView({ id: 'links', title: () => t.viewLinks, icon: 'link', load: () => import('./links') });
registerView({ id: 'artifact', title: () => t.viewOutput, icon: 'terminal', load: () => import('./artifact') });
registerView({ id: 'help', title: () => t.viewHelp, icon: 'help', load: () => import('./help') });

/** Starts what views need of the page: questions as they come, the palette, keys, and views by address. */
export function startViews(app: Services): void {
  let drawer: Promise<Drawer> | null = null;
  const questions = () => (drawer ??= import('./approvals/drawer').then(({ Drawer }) => new Drawer(app)));
  const stop = app.live.state.watch(({ questions: waiting }) => {
    if (waiting.size > 0) void questions().then(() => stop());
  });
  registerAction(
    {
      id: 'palette',
      title: t.palette,
      group: t.groupPage,
      keys: ['Ctrl+Shift+P'],
      inTerminal: true,
      run: () => void import('./palette').then(({ showPalette }) => showPalette(app)),
    },
    {
      // Shells use Ctrl+K: in a terminal it is theirs.
      id: 'palette.plain',
      title: t.palette,
      group: t.groupPage,
      keys: ['Ctrl+K', 'Meta+K'],
      hidden: true,
      run: () => void import('./palette').then(({ showPalette }) => showPalette(app)),
    },
    {
      id: 'approvals.review',
      title: t.reviewQuestions,
      group: t.groupPage,
      keys: ['Ctrl+Shift+A'],
      inTerminal: true,
      run: () => void questions().then((found) => found.review()),
    },
    ...views.value.map((view) => ({
      id: `view.${view.id}`,
      title: view.title(),
      group: t.groupViews,
      ...(view.keys === undefined ? {} : { keys: view.keys, inTerminal: true }),
      run: () => app.openView(view.id),
    })),
  );
}

/** Opens the view that the address names, now and whenever it names another. Call it when the panels are there. */
export function followAddress(app: Services): void {
  const open = (hash: string) => {
    const place = readHash(hash);
    if (place !== null && findView(place.view) !== undefined) app.openView(place.view, place.params);
  };
  window.addEventListener('hashchange', () => open(location.hash));
  open(ASKED);
}
