import { describe, expect, it } from 'vitest';
import type { ClusterNode } from '../src/api/types';
import { factsOf, summaryOf } from '../src/frame/nodes';
import { NO_CLUSTER, nodeOf } from '../src/state/nodes';

const node = (change: Partial<ClusterNode> = {}): ClusterNode => ({
  id: 'a',
  name: 'node-1',
  key: '0123abcd',
  incarnation: 'fedcba9876543210',
  state: 'live',
  since: 0,
  terminals: 2,
  cpus: 4,
  memory_bytes: 8 * 1024 ** 3,
  labels: { zone: 'a' },
  problem: null,
  ...change,
});

describe('nodes', () => {
  it('finds the node of a terminal by its id', () => {
    const cluster = { backend: 'local' as const, nodes: [node({ key: null }), node({ id: 'b', name: 'node-2' })] };
    expect(nodeOf('t_0123abcd_fedcba98_0001', cluster)?.name).toBe('node-2');
    expect(nodeOf('t_99999999_fedcba98_0001', cluster)).toBeUndefined();
    expect(nodeOf('t_0123abcd0123', cluster)).toBeUndefined();
    expect(nodeOf('t_0123abcd_fedcba98_0001', NO_CLUSTER)).toBeUndefined();
  });

  it('counts nodes by their state, those that are well first', () => {
    const nodes = [node({ state: 'lost' }), node(), node({ state: 'draining' }), node()];
    expect(summaryOf({ backend: 'ray', nodes })).toBe('2 live, 1 draining, 1 lost');
    expect(summaryOf(NO_CLUSTER)).toBe('');
  });

  it('tells what is known, and nothing else', () => {
    const known = Object.fromEntries(factsOf(node()));
    expect(known).toMatchObject({ Terminals: '2', Processors: '4', Memory: '8.0 GB', Labels: 'zone=a', 'Run of its host': 'fedcba98' });
    const unknown = node({ incarnation: null, cpus: null, memory_bytes: null, labels: {}, problem: 'no\u202e way', state: 'lost' });
    expect(factsOf(unknown).map(([name]) => name)).toEqual(['State', 'Problem', 'Terminals']);
    expect(factsOf(unknown)[1]?.[1]).not.toContain('\u202e');
  });
});
