/** The machines of a cluster. A server without one is asked once for each connection; one with a cluster, now and then. */
import { api } from '../api/client';
import type { Cluster, ClusterNode } from '../api/types';
import { Signal } from '../ui/signal';
import type { Live } from './live';

const EVERY_MS = 3_000;

export const NO_CLUSTER: Cluster = { backend: null, nodes: [] };

/** Returns the machine that a terminal is on: its id names it. Pure. */
export function nodeOf(terminal: string, cluster: Cluster): ClusterNode | undefined {
  const key = /^t_([0-9a-f]{8})_[0-9a-f]{8}_/.exec(terminal)?.[1];
  return key === undefined ? undefined : cluster.nodes.find((each) => each.key === key);
}

export class Nodes {
  readonly cluster = new Signal<Cluster>(NO_CLUSTER);
  private key = '';

  constructor(live: Live) {
    // Another server may have come with a new connection.
    live.stream.subscribe((stream) => stream === 'open' && void this.load());
    const again = () => this.cluster.value.backend !== null && document.visibilityState === 'visible' && void this.load();
    setInterval(again, EVERY_MS);
    document.addEventListener('visibilitychange', again);
  }

  /** Says whether a machine shall get no new terminals. */
  async drain(node: ClusterNode, draining: boolean): Promise<void> {
    await api.drainNode(node.name, draining);
    await this.load();
  }

  /** Asks how the machines are. Without an answer, what was known stays. */
  private async load(): Promise<void> {
    const cluster = await api.cluster().catch(() => null);
    if (cluster === null) return;
    const key = JSON.stringify(cluster);
    if (key === this.key) return;
    this.key = key;
    this.cluster.set(cluster);
  }
}
