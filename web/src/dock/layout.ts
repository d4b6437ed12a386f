/**
 * The layout of a workspace as it is kept on the server: what the docking library writes, and in each panel which
 * terminal or view it shows. Pure. What comes from the server may be old, damaged or by another version.
 */

export const VERSION = 1;

/** What a panel shows. The rest is for a terminal that takes its place when it is gone. */
export interface TerminalParams {
  kind: 'terminal';
  terminal: string;
  cwd: string | null;
  shell: string | null;
  name: string | null;
  session: string | null;
}

export interface ViewParams {
  kind: 'view';
  view: string;
}

export type PanelParams = TerminalParams | ViewParams;

export interface SavedPanel {
  id: string;
  contentComponent?: string;
  params?: unknown;
  [other: string]: unknown;
}

export interface SavedDock {
  grid: { root: unknown; [other: string]: unknown };
  panels: Record<string, SavedPanel>;
  [other: string]: unknown;
}

export interface SavedLayout {
  version: number;
  dock: SavedDock;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Reads what a panel shows; null when it cannot be known. */
export function readParams(value: unknown): PanelParams | null {
  if (!isObject(value)) return null;
  if (value['kind'] === 'view' && typeof value['view'] === 'string') return { kind: 'view', view: value['view'] };
  if (value['kind'] !== 'terminal' || typeof value['terminal'] !== 'string') return null;
  return {
    kind: 'terminal',
    terminal: value['terminal'],
    cwd: textOrNull(value['cwd']),
    shell: textOrNull(value['shell']),
    name: textOrNull(value['name']),
    session: textOrNull(value['session']),
  };
}

/** Reads a layout; null when there is none, or none that can be used. */
export function readLayout(value: unknown): SavedLayout | null {
  if (!isObject(value) || value['version'] !== VERSION) return null;
  const dock = value['dock'];
  if (!isObject(dock) || !isObject(dock['grid']) || !isObject(dock['panels'])) return null;
  const panels = Object.values(dock['panels']);
  if (panels.length === 0 || !panels.every((panel) => isObject(panel) && readParams(panel['params']) !== null)) return null;
  return value as unknown as SavedLayout;
}

/** Returns which terminal a panel shows in a layout. */
export function terminalOf(layout: SavedLayout | null, panel: string): string | null {
  const params = readParams(layout?.dock.panels[panel]?.params);
  return params?.kind === 'terminal' ? params.terminal : null;
}
