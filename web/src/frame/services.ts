/** What the parts of the page share. */
import type { ClusterNode, Terminal } from '../api/types';
import type { TerminalParams } from '../dock/layout';
import type { Live } from '../state/live';
import type { Nodes } from '../state/nodes';
import type { Signal } from '../ui/signal';

export type Place = 'tab' | 'right' | 'down';

export interface Services {
  live: Live;
  nodes: Nodes;
  workspace: Signal<string>;
  /** The terminal whose panel is in front, if it is one. */
  activeTerminal: Signal<string | null>;
  may(scope: 'type' | 'run' | 'approve' | 'admin'): boolean;
  /** Shows a terminal: in its panel, or in a new one. */
  openTerminal(id: string, place?: Place): void;
  /** Makes a terminal and shows it. */
  newTerminal(options?: { cwd?: string | null; shell?: string | null; name?: string | null; place?: Place }): Promise<void>;
  newTerminalDialog(): void;
  openView(id: string, params?: Record<string, string>): void;
  rename(id: string): Promise<void>;
  /** Closes a terminal and its panel: asks if something runs, can be undone for a while. */
  closeTerminal(id: string): Promise<void>;
  /** Whether a terminal is being closed, and can be kept. */
  readonly canUndoClose: boolean;
  /** Keeps the terminal that was closed last. */
  undoClose(): void;
  hidePanel(panel: string): void;
  /** Returns a terminal in place of one that does not exist (any more). */
  replacement(panel: string, gone: TerminalParams): Promise<Terminal>;
  switchWorkspace(id: string): void;
  /** Gives a machine of the cluster no new terminals, or again. */
  drain(node: ClusterNode, draining: boolean): Promise<void>;
  login(): void;
}
