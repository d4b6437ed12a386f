/** The machines of a cluster, below the list of terminals: how each is, and draining it. Without a cluster, nothing. */
import type { Cluster, ClusterNode, NodeState } from '../api/types';
import { t } from '../i18n';
import { h, replace, setAttributes, setText, type Child } from '../ui/dom';
import { icon } from '../ui/icons';
import { seen } from '../ui/unseen';
import { bytes, exactly, when } from '../views/shared/format';
import type { Services } from './services';

const ORDER: readonly NodeState[] = ['live', 'draining', 'connecting', 'unreachable', 'lost'];

/** Says how many machines are how, those that are well first. Pure. */
export function summaryOf(cluster: Cluster): string {
  return ORDER.map((state) => [state, cluster.nodes.filter((each) => each.state === state).length] as const)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${t.nodeStates[state]}`)
    .join(', ');
}

/** What is known of a machine, as pairs of a name and a value. Pure, but for the language. */
export function factsOf(node: ClusterNode): [string, string][] {
  const labels = Object.entries(node.labels).map(([name, value]) => `${name}=${value}`);
  const facts: [string, string | null][] = [
    [t.nodeState, `${t.nodeStates[node.state]}, ${t.nodeSince(when(node.since))}`],
    [t.nodeProblem, node.problem],
    [t.nodeTerminals, String(node.terminals)],
    [t.nodeCpus, node.cpus === null ? null : String(node.cpus)],
    [t.nodeMemory, node.memory_bytes === null ? null : bytes(node.memory_bytes)],
    [t.nodeLabels, labels.length === 0 ? null : labels.join(', ')],
    [t.nodeRun, node.incarnation === null ? null : node.incarnation.slice(0, 8)],
  ];
  return facts.filter((each): each is [string, string] => each[1] !== null).map(([name, value]) => [name, seen(value)]);
}

export class NodesSection {
  readonly element = h('details', { class: 'nodes', open: true, hidden: true });
  private readonly counts = h('span', { class: 'nodes-counts ellipsis' });
  private readonly list = h('ul', { 'aria-label': t.nodes });
  private readonly rows = new Map<string, Row>();

  constructor(private readonly app: Services) {
    const heading = h('h2', {}, t.nodes);
    this.element.append(h('summary', { class: 'nodes-head' }, heading, this.counts, icon('chevronDown', 12)), this.list);
    app.nodes.cluster.watch((cluster) => this.render(cluster));
    // Who may drain is known when the server has told who we are.
    app.live.state.subscribe(() => this.render(app.nodes.cluster.value));
  }

  private render(cluster: Cluster): void {
    this.element.hidden = cluster.backend === null;
    setText(this.counts, summaryOf(cluster));
    for (const [id, row] of this.rows) {
      if (cluster.nodes.some((each) => each.id === id)) continue;
      row.element.remove();
      this.rows.delete(id);
    }
    for (const node of cluster.nodes) {
      let row = this.rows.get(node.id);
      if (row === undefined) {
        row = new Row((found) => void this.app.drain(found, found.state !== 'draining'));
        this.rows.set(node.id, row);
        this.list.append(row.element);
      }
      row.show(node, this.app.may('admin'));
    }
  }
}

/** One machine: it stays the same element, so that neither the focus nor what is open is lost with news. */
class Row {
  readonly element: HTMLLIElement;
  private readonly head = h('summary', {});
  private readonly facts = h('dl', { class: 'node-facts' });
  private readonly button = h('button', { type: 'button', class: 'button small', title: t.drainHint });
  private node: ClusterNode | null = null;
  private key = '';

  constructor(drain: (node: ClusterNode) => void) {
    this.button.addEventListener('click', () => this.node !== null && drain(this.node));
    this.element = h('li', {}, h('details', { class: 'node' }, this.head, this.facts, this.button));
  }

  show(node: ClusterNode, mayDrain: boolean): void {
    const key = JSON.stringify([node, mayDrain]);
    if (key === this.key) return;
    this.key = key;
    this.node = node;
    setAttributes(this.element, { 'data-node': node.name });
    const words = t.nodeStates[node.state];
    replace(
      this.head,
      h('span', { class: `node-dot ${node.state}`, 'aria-hidden': 'true' }),
      h('span', { class: 'ellipsis grow' }, seen(node.name)),
      h('span', { class: node.state === 'live' ? 'visually-hidden' : `node-state ${node.state}` }, words),
      h('span', { class: 'node-count', title: t.terminalCount(node.terminals) }, ...count(node.terminals)),
      icon('chevronDown', 12),
    );
    const facts = factsOf(node).map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)));
    replace(this.facts, facts);
    this.facts.title = exactly(node.since);
    const isDraining = node.state === 'draining';
    setText(this.button, isDraining ? t.nodeUseAgain : t.nodeDrain);
    this.button.hidden = !mayDrain || !(isDraining || node.state === 'live');
  }
}

function count(terminals: number): Child[] {
  return [
    h('span', { 'aria-hidden': 'true' }, String(terminals)),
    h('span', { class: 'visually-hidden' }, t.terminalCount(terminals)),
  ];
}
