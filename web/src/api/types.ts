/** What the server tells, as far as the page needs it. Times are seconds since 1970. */

export type TerminalKind = 'agent' | 'user' | 'system';
export type Quality = 'rich' | 'basic' | 'none';
export type Scope = 'view' | 'type' | 'run' | 'approve' | 'admin';

export interface RunningCommand {
  id: string;
  command: string | null;
  source: 'agent' | 'user';
  started_at: number;
}

export interface LastCommand {
  id: string;
  command: string | null;
  exit_code: number | null;
  state: string;
  duration_s: number;
}

export interface Terminal {
  id: string;
  number: number;
  name: string | null;
  workspace: string | null;
  session: string | null;
  kind: TerminalKind;
  shell: string;
  cwd: string | null;
  cols: number;
  rows: number;
  pid: number | null;
  quality: Quality;
  state: 'idle' | 'running' | 'exited';
  command: RunningCommand | null;
  last: LastCommand | null;
  title: string;
  offset: number;
  start: number;
  opened_at: number | null;
  paused_by: string | null;
  viewers: number;
  sandbox: 'workspace' | 'strict' | null;
  sandbox_effective?: SandboxEffective;
}

/** What really confines a terminal: `weaker` than was asked for, perhaps. */
export interface SandboxEffective {
  mode: 'workspace' | 'strict';
  mechanism: 'bubblewrap' | 'landlock' | 'none';
  network: 'none' | 'host';
  weaker: boolean;
  enforced: Record<string, string>;
  not_enforced: { what: string; why: string }[];
}

export interface Question {
  id: string;
  command: string;
  line: string;
  cwd: string | null;
  shell: string;
  decision: 'ask' | 'block';
  level: 'low' | 'medium' | 'high' | 'critical';
  effects: string[];
  reasons: string[];
  scopes: string[];
  suggested_rule: Record<string, unknown> | null;
  confirmation: string | null;
  session: string | null;
  workspace: string | null;
  terminal: string | null;
  origin: string;
  asked_at: number;
  expires_at: number | null;
}

export interface Workspace {
  id: string;
  name: string | null;
  root: string | null;
  terminals: number;
}

export type NodeState = 'connecting' | 'live' | 'draining' | 'unreachable' | 'lost';

/** A machine of the cluster. `key` is a part of the ids of its terminals. */
export interface ClusterNode {
  id: string;
  name: string;
  key: string | null;
  incarnation: string | null;
  state: NodeState;
  since: number;
  terminals: number;
  cpus: number | null;
  memory_bytes: number | null;
  labels: Record<string, string>;
  problem: string | null;
}

/** The machines that the server has its terminals on; without a cluster, `backend` is null. */
export interface Cluster {
  backend: 'local' | 'list' | 'ray' | null;
  nodes: ClusterNode[];
}

export interface Me {
  name: string;
  scopes: Scope[];
}

export interface Info {
  version: string;
  host: string;
  platform: string;
  shells: string[];
  me: Me;
}

export interface OpenTerminal {
  workspace?: string | null;
  session?: string | null;
  name?: string | null;
  cwd?: string | null;
  shell?: string | null;
  cols?: number;
  rows?: number;
}

/** An event of the stream. Terminals are whole, unless they are gone. */
export interface ServerEvent {
  type: string;
  at: number;
  terminal?: Terminal | { id: string };
  command?: { id: string; terminal: string; command: string | null; source: string; exit_code?: number | null };
  approval?: Question | { id: string };
  reason?: string;
  /** Of `alive`: how often it comes at least. */
  every_s?: number;
  cwd?: string;
}
