/** Remote access to devices: tunnels of this node, and of others. */
import { TunnelRelay } from '../../cluster/peers/tunnel-relay.ts';
import { TotalCache } from '../../history/total-cache.ts';
import { Tunnels } from '../../remote-access/tunnels.ts';
import type { ServerCore } from '../cores/core.ts';
import type { Part } from './part.ts';

export interface RemoteAccessPart extends Part {
  readonly tunnels: Tunnels;
}

export function remoteAccessPart(core: ServerCore): RemoteAccessPart {
  const { commands, documents, ids, metrics, log, bus, tenants, cluster, config } = core;
  const moved = metrics.counter(
    'millrace_remote_access_bytes_total',
    'Bytes that tunnels of remote access have handed on, counted when they end: to clients, to devices',
    ['to'],
  );
  const relay = cluster === undefined ? undefined : new TunnelRelay({ ...cluster, refusals: metrics, log });
  const tunnels = new Tunnels({
    commands,
    documents,
    ids,
    history: core.historyReader,
    totals: new TotalCache(Date.now),
    textBytesMax: config.jsonBodyMaxBytes,
    now: Date.now,
    bus,
    refusals: metrics,
    log,
    isOnlyTenant: () => tenants.isOnlyOne,
    elsewhere: relay,
    onMoved: (to, bytes) => moved.inc({ to }, bytes),
  });
  metrics.gauges('millrace_remote_access_tunnels', 'Tunnels of remote access on this node', 'state', () => [
    ['joined', tunnels.counts.joined],
    ['waiting', tunnels.counts.waiting],
  ]);
  metrics.gauge(
    'millrace_remote_access_held_bytes',
    'Bytes of tunnels that wait for an end that reads slowly',
    () => tunnels.counts.heldBytes,
  );
  return { tunnels, stop: () => tunnels.close() };
}
