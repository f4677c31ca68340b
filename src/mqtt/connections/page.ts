/** Open connections of a tenant as rows. */
import type { ConnectionPage, ConnectionQuery, DeviceConnectionRow } from '../../ports/device-connections.ts';
import { STATE } from './connection.ts';
import type { Connection } from './connection.ts';

const VERSIONS = { 3: '3.1', 4: '3.1.1', 5: '5.0' } as const;

/** Looks at all connections of the server, and makes rows of the page alone. */
export function connectionPage(
  connections: Iterable<Connection>,
  tenant: number,
  { text, offset, limit }: ConnectionQuery,
  node: string,
): ConnectionPage {
  const rows: DeviceConnectionRow[] = [];
  let total = 0;
  for (const connection of connections) {
    if (connection.state !== STATE.OPEN || connection.principal.tenantNumber !== tenant) continue;
    if (text !== '' && !hasText(connection, text)) continue;
    if (total >= offset && rows.length < limit) rows.push(rowOf(connection, node));
    total += 1;
  }
  return { total, rows };
}

const hasText = ({ clientId, principal, remoteAddress }: Connection, text: string): boolean =>
  clientId.includes(text) || principal.userName.includes(text) || remoteAddress.includes(text);

function rowOf(connection: Connection, node: string): DeviceConnectionRow {
  const { session, link, transport } = connection;
  const source = link?.source ?? 0;
  return {
    clientId: connection.clientId,
    user: connection.principal.userName,
    ...(source === 0 ? {} : { source: String(source) }),
    address: connection.remoteAddress,
    transport: transport.isWebSocket === true ? 'websocket' : 'tcp',
    protocolVersion: VERSIONS[connection.protocolVersion],
    connectedAt: connection.connectedAt,
    keepAliveSeconds: connection.keepAliveSeconds,
    subscriptionsCount: session?.subscriptions?.size ?? 0,
    inFlightCount: session?.inFlightMessages ?? 0,
    queuedCount: session?.queuedMessages ?? 0,
    unacknowledgedCount: connection.unacknowledged,
    isPersistent: connection.isPersistent,
    node,
  };
}
