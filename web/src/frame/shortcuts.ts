/** What keys do. Programs in terminals get all keys but those with Ctrl+Shift, which no terminal can send. */
import type { Dock } from '../dock/dock';
import { t } from '../i18n';
import { registerAction } from '../ui/actions';
import { preferences } from '../ui/preferences';
import { changeFontSize } from './display';
import { showHelp } from './help';
import type { Services } from './services';
import type { Sidebar } from './sidebar';

export const UNDO_KEYS = 'Ctrl+Shift+Z';

export function registerActions(
  app: Services,
  dock: Dock,
  sidebar: Sidebar,
  toggleSidebar: () => void,
  showSidebar: () => void,
): void {
  const isTerminal = () => dock.current !== null;
  const active = () => app.live.state.value.terminals.get(app.activeTerminal.value ?? '');
  const split = (place: 'right' | 'down') =>
    void app.newTerminal({ place, cwd: active()?.cwd ?? null, shell: active()?.shell ?? null });
  const mayRun = () => app.may('run');
  registerAction(
    {
      id: 'terminal.new',
      title: t.newTerminal,
      group: t.groupTerminal,
      keys: ['Ctrl+Shift+Enter'],
      inTerminal: true,
      isEnabled: mayRun,
      run: () => void app.newTerminal(),
    },
    {
      id: 'terminal.newDialog',
      title: t.newTerminalDialog,
      group: t.groupTerminal,
      keys: ['Ctrl+Shift+K'],
      inTerminal: true,
      isEnabled: mayRun,
      run: () => app.newTerminalDialog(),
    },
    {
      id: 'terminal.copy',
      title: t.copy,
      group: t.groupTerminal,
      keys: ['Ctrl+Shift+C'],
      inTerminal: true,
      isEnabled: isTerminal,
      run: () => dock.current?.copySelection(),
    },
    {
      id: 'terminal.find',
      title: t.find,
      group: t.groupTerminal,
      keys: ['Ctrl+Shift+F'],
      inTerminal: true,
      isEnabled: isTerminal,
      run: () => dock.current?.showFind(),
    },
    {
      id: 'terminal.rename',
      title: t.renameTerminal,
      group: t.groupTerminal,
      isEnabled: () => isTerminal() && mayRun(),
      run: () => void app.rename(app.activeTerminal.value ?? ''),
    },
    {
      id: 'terminal.lockSize',
      title: t.lockOrUnlockSize,
      group: t.groupTerminal,
      isEnabled: () => dock.current?.canLock() === true,
      run: () => dock.current?.toggleLock(),
    },
    {
      id: 'terminal.zoomIn',
      title: t.zoomIn,
      group: t.groupTerminal,
      keys: ['Ctrl+Shift+Equal'],
      inTerminal: true,
      run: () => changeFontSize(preferences.value.fontSize + 1),
    },
    {
      id: 'terminal.zoomOut',
      title: t.zoomOut,
      group: t.groupTerminal,
      keys: ['Ctrl+Shift+Minus'],
      inTerminal: true,
      run: () => changeFontSize(preferences.value.fontSize - 1),
    },
    {
      id: 'terminal.leave',
      title: t.leaveTerminal,
      group: t.groupTerminal,
      keys: ['Ctrl+Shift+O'],
      inTerminal: true,
      run: () => {
        showSidebar();
        sidebar.focus();
      },
    },
    {
      id: 'terminal.focus',
      title: t.focusTerminal,
      group: t.groupTerminal,
      keys: ['Ctrl+Shift+J'],
      inTerminal: true,
      run: () => dock.focus(),
    },
    {
      id: 'command.previous',
      title: t.previousCommand,
      group: t.groupCommands,
      keys: ['Ctrl+Shift+ArrowUp'],
      inTerminal: true,
      isEnabled: isTerminal,
      run: () => dock.current?.jump('up'),
    },
    {
      id: 'command.next',
      title: t.nextCommand,
      group: t.groupCommands,
      keys: ['Ctrl+Shift+ArrowDown'],
      inTerminal: true,
      isEnabled: isTerminal,
      run: () => dock.current?.jump('down'),
    },
    {
      id: 'command.copyOutput',
      title: t.copyLastOutput,
      group: t.groupCommands,
      keys: ['Ctrl+Shift+Y'],
      inTerminal: true,
      isEnabled: isTerminal,
      run: () => dock.current?.copyLastOutput(),
    },
    {
      id: 'command.runAgain',
      title: t.runAgainLast,
      group: t.groupCommands,
      isEnabled: () => isTerminal() && app.may('type'),
      run: () => dock.current?.runLastAgain(),
    },
    {
      id: 'panel.splitRight',
      title: t.splitRight,
      group: t.groupPanels,
      keys: ['Ctrl+Shift+D'],
      inTerminal: true,
      isEnabled: mayRun,
      run: () => split('right'),
    },
    {
      id: 'panel.splitDown',
      title: t.splitDown,
      group: t.groupPanels,
      keys: ['Ctrl+Shift+E'],
      inTerminal: true,
      isEnabled: mayRun,
      run: () => split('down'),
    },
    {
      id: 'panel.close',
      title: t.closePanel,
      group: t.groupPanels,
      keys: ['Ctrl+Shift+X'],
      inTerminal: true,
      isEnabled: () => dock.activePanel !== null,
      run: () => {
        const terminal = app.activeTerminal.value;
        if (terminal !== null) void app.closeTerminal(terminal);
        else if (dock.activePanel !== null) app.hidePanel(dock.activePanel);
      },
    },
    {
      id: 'panel.undoClose',
      title: t.undoClose,
      group: t.groupPanels,
      keys: [UNDO_KEYS],
      inTerminal: true,
      isEnabled: () => app.canUndoClose,
      run: () => app.undoClose(),
    },
    {
      id: 'panel.hide',
      title: t.hidePanel,
      group: t.groupPanels,
      isEnabled: () => dock.activePanel !== null,
      run: () => app.hidePanel(dock.activePanel ?? ''),
    },
    {
      id: 'panel.nextTab',
      title: t.nextTab,
      group: t.groupPanels,
      keys: ['Ctrl+Shift+BracketRight'],
      inTerminal: true,
      run: () => dock.moveTab(1),
    },
    {
      id: 'panel.previousTab',
      title: t.previousTab,
      group: t.groupPanels,
      keys: ['Ctrl+Shift+BracketLeft'],
      inTerminal: true,
      run: () => dock.moveTab(-1),
    },
    {
      id: 'panel.nextGroup',
      title: t.nextGroup,
      group: t.groupPanels,
      keys: ['Ctrl+Shift+ArrowRight'],
      inTerminal: true,
      run: () => dock.moveGroup(),
    },
    {
      id: 'page.sidebar',
      title: t.toggleSidebar,
      group: t.groupPage,
      keys: ['Ctrl+Shift+B'],
      inTerminal: true,
      run: toggleSidebar,
    },
    {
      id: 'page.help',
      title: t.help,
      group: t.groupPage,
      keys: ['Ctrl+Shift+Slash'],
      inTerminal: true,
      run: showHelp,
    },
  );
}
