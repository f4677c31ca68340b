/**
 * Availability of devices: in a cluster, the node that holds a device's connection tells the node that watches its
 * tenant.
 */
import { AvailabilityRelay } from '../../cluster/peers/availability-relay.ts';
import { AvailabilityMonitor } from '../../jobs/availability/monitor.ts';
import type { ServerCore } from '../cores/core.ts';
import type { DevicesPart } from './devices.ts';
import type { Part } from './part.ts';
import type { RealtimePart } from './realtime.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

export interface AvailabilityPart extends Part {
  readonly availability: AvailabilityRelay | AvailabilityMonitor;
}

export function availabilityPart(
  core: ServerCore,
  { device }: DevicesPart,
  { bayeux }: RealtimePart,
): AvailabilityPart {
  const { metrics, log } = core;
  const isConnectedHere = (tenant: number, source: number): boolean =>
    device.isPushed(tenant, source) || bayeux.presence.isConnected(tenant, source);
  const relay =
    core.cluster === undefined
      ? undefined
      : new AvailabilityRelay({ ...core.cluster, isConnectedHere, refusals: metrics, log, now: Date.now });
  const monitor = new AvailabilityMonitor({
    commands: core.commands,
    documents: core.documents,
    ids: core.ids,
    tenants: () => core.tenants.numbers,
    refusals: metrics,
    log,
    now: Date.now,
    ...(relay === undefined
      ? { isMine: (tenant: number) => core.isMine(tenant, TENANT_KEY), isConnected: isConnectedHere }
      : { isMine: relay.isMine, isConnected: relay.isConnected, ownedSince: relay.ownedSince }),
  });
  relay?.start(monitor);
  device.hooks.onHeard = relay?.heard ?? monitor.heard;
  const pushChanged = relay?.pushChanged ?? ((tenant: number, source: number) => monitor.lookAt(tenant, source));
  device.hooks.onPushChanged = pushChanged;
  bayeux.presence.onChanged = pushChanged;
  return {
    availability: relay ?? monitor,
    start: () => monitor.start(),
    stop: () => Promise.all([monitor.stop(), relay?.stop()]),
  };
}
