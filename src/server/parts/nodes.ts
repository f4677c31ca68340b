/** How each node of the server is (`nodes` of /millrace/status). */
import { ClusterNodeStates } from '../../cluster/peers/node-states.ts';
import type { MqttServer } from '../../mqtt/server.ts';
import type { NodeState, NodeStates } from '../../ports/node-states.ts';
import { VERSION } from '../../config/project.ts';
import type { ServerCore } from '../cores/core.ts';
import { rolesOf } from '../cores/node-roles.ts';

/** Of all stages the lag of the slowest: records, in a cluster groups. */
const lagOf = (parts: readonly Readonly<Record<string, unknown>>[]): number =>
  Math.max(0, ...parts.map(({ lagRecords, lagGroups }) => Number(lagRecords ?? lagGroups ?? 0)));

/** @param node name of this one. */
export function nodeStates(core: ServerCore, mqtt: MqttServer, node: string): NodeStates {
  const { cluster, config } = core;
  const local = (): NodeState => {
    const { ready, parts } = core.health();
    const notReady = Object.entries(parts).flatMap(([name, part]) => (part.ready ? [] : [name]));
    return {
      node,
      state: ready ? 'ready' : 'not-ready',
      roles: cluster === undefined ? [] : rolesOf(config),
      lag: lagOf(Object.values(parts)),
      connections: mqtt.connectionsCount,
      ...(cluster === undefined ? {} : { shards: cluster.leases.owned.size }),
      uptimeSeconds: Math.floor(process.uptime()),
      version: VERSION,
      ...(notReady.length === 0 ? {} : { notReady }),
    };
  };
  return cluster === undefined
    ? { all: async () => [local()] }
    : new ClusterNodeStates({ ...cluster, local, now: () => performance.now() });
}
