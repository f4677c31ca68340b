/** Live data over Bayeux, and who stays connected when rights or links between objects end. */
import { RightsWatch } from '../../accounts/login/rights-watch.ts';
import { tenantOfHost } from '../../api/request/login-host.ts';
import { PollRelay } from '../../cluster/peers/poll-relay.ts';
import type { ConnectedUsers } from '../../model/access/principal.ts';
import { PacedAction } from '../../pacing/paced-action.ts';
import { softwareListInPlace } from '../../model/entities/software-in-place.ts';
import { DocumentHierarchy, OwnerAccess } from '../../realtime/bayeux/document-hierarchy.ts';
import { BayeuxServer } from '../../realtime/bayeux/server.ts';
import type { ServerCore } from '../cores/core.ts';
import { endConnections } from './tenant-services.ts';
import type { AccountsPart } from './accounts.ts';
import type { BindingsPart } from './bindings.ts';
import type { DevicesPart } from './devices.ts';
import type { NotificationsPart } from './notifications.ts';
import type { Part } from './part.ts';
import type { SmartRestPart } from './smartrest.ts';
import type { RemoteAccessPart } from './remote-access.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

/** Between two looks at what links between objects have opened, while many of them end. */
const LINKS_PAUSE_MS = 250;

export interface RealtimePart extends Part {
  readonly bayeux: BayeuxServer;
}

export function realtimePart(
  core: ServerCore,
  { tenantServices }: AccountsPart,
  { traffic }: DevicesPart,
): RealtimePart {
  const { documents, metrics, log, tenants } = core;
  const pollRelay = core.cluster === undefined ? undefined : new PollRelay({ ...core.cluster, refusals: metrics, log });
  if (pollRelay !== undefined) {
    metrics.gauges(
      'millrace_realtime_relayed_polls',
      'Long polls between nodes: of clients of this node, of sessions of this node',
      'of',
      () => [
        ['clients', pollRelay.counts.waiting],
        ['sessions', pollRelay.counts.answering],
      ],
    );
  }
  const bayeux = new BayeuxServer({
    bus: core.bus,
    hierarchy: new DocumentHierarchy(documents),
    software: { listInPlace: (tenant, operation) => softwareListInPlace(documents, tenant, operation) },
    access: new OwnerAccess(documents),
    traffic,
    authenticator: core.authenticator,
    log,
    refusals: metrics,
    tokenAuthenticator: { authenticateToken: (token) => core.tokens.authenticate(token) },
    placeOf: (host) => {
      const called = tenantOfHost(tenants, host);
      return called === undefined ? {} : { tenantNumber: called.number };
    },
    mayUseBasic: (tenant, userAgent) => tenantServices.basicRestrictions.mayUseBasic(tenant, userAgent),
    elsewhere: pollRelay,
  });
  return { bayeux };
}

/** Ends what connected devices, subscribers and tunnels may no longer have. */
export function rightsPart(
  core: ServerCore,
  { tenantServices }: AccountsPart,
  { device, mqtt }: DevicesPart,
  { bayeux }: RealtimePart,
  { collections }: SmartRestPart,
  { tunnels }: RemoteAccessPart,
  notifications: NotificationsPart,
  { bindings }: BindingsPart,
): Part {
  const { events, tenants, documents, metrics, log, authenticator } = core;
  const tenantId = (tenant: number): string => tenants.byNumber(tenant)?.id ?? '';
  const linksEnded = new PacedAction(() => {
    device.linksEnded();
    bayeux.checkObjects();
  }, LINKS_PAUSE_MS);
  const rights = new RightsWatch({
    authenticator,
    documents,
    refusals: metrics,
    log,
    endUsers: (tenant, userNames) => events.onUsersEnded?.(tenant, userNames),
    endTokenSessions: (tenant, userName) => {
      bayeux.endTokenSessions(tenantId(tenant), userName);
      tunnels.endTokenSessions(tenant, userName);
    },
    endDeviceSessions: (tenant) => bayeux.endDeviceSessions(tenant),
  });
  events.onTenantsEnded = (ended) => {
    for (const { number } of ended) if (tenants.byNumber(number) === undefined) tenantServices.forgetTenant(number);
    endConnections({ mqtt, bayeux, tunnels }, ended);
    for (const { number } of ended) {
      notifications.tenantEnded(number);
      if (tenants.byNumber(number) === undefined) bindings.forgetTenant(number);
    }
  };
  events.onUsersEnded = (tenant, userNames) => {
    mqtt.disconnectUsers(tenant, userNames);
    for (const userName of userNames) bayeux.endUser(tenantId(tenant), userName);
    tunnels.endUsers(tenant, userNames);
  };
  events.onObjectChanged = (id) => {
    device.objectChanged(id);
    bayeux.objectChanged(id);
    collections.objectChanged(id);
  };
  events.onLinksEnded = () => linksEnded.note();
  events.onMissed = async (isOf) => {
    collections.forgetAll();
    const connected: ConnectedUsers = new Map();
    mqtt.addConnectedUsers(connected);
    bayeux.addConnectedUsers(connected);
    tunnels.addConnectedUsers(connected);
    await rights.recheck(new Map([...connected].filter(([tenant]) => isOf(tenant, TENANT_KEY))));
    await device.objectsMissed(isOf);
    linksEnded.note();
  };
  return { recordsChanged: (tenant, changes) => rights.recordsChanged(tenant, changes), stop: () => linksEnded.stop() };
}
