/** Who of the tenant is connected over MQTT, on any node. */
import Type from 'typebox';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { DeviceConnectionRow } from '../../ports/device-connections.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import type { Answer } from '../request/answer.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { text } from '../request/schema/query-parameters.ts';

const ADMIN = ['ROLE_TENANT_ADMIN'];
const Count = Type.Integer({ minimum: 0 });
const Connections = Type.Object({
  self: Type.String(),
  next: Type.Optional(Type.String()),
  prev: Type.Optional(Type.String()),
  statistics: Type.Object({}, { additionalProperties: true }),
  connections: Type.Array(
    Type.Object({
      clientId: Type.String(),
      user: Type.String(),
      source: Type.Optional(Type.Object({ id: Type.String() })),
      address: Type.String(),
      transport: Type.Enum(['tcp', 'websocket']),
      protocolVersion: Type.Enum(['3.1', '3.1.1', '5.0']),
      since: Type.String({ format: 'date-time' }),
      keepAliveSeconds: Count,
      subscriptions: Count,
      inFlight: Type.Integer({ minimum: 0, description: 'Messages sent to the client and not acknowledged' }),
      queued: Count,
      unacknowledged: Type.Integer({ minimum: 0, description: 'QoS 1 messages of the client, not acknowledged' }),
      persistent: Type.Boolean({ description: 'The session outlives the connection' }),
      node: Type.String(),
    }),
  ),
  silentNodes: Type.Array(Type.String(), { description: 'Nodes that did not answer: theirs are not shown' }),
});

const rowText = ({
  source,
  connectedAt,
  subscriptionsCount,
  inFlightCount,
  queuedCount,
  unacknowledgedCount,
  isPersistent,
  node,
  ...row
}: DeviceConnectionRow): string =>
  JSON.stringify({
    ...row,
    ...(source === undefined ? {} : { source: { id: source } }),
    since: formatTime(connectedAt),
    subscriptions: subscriptionsCount,
    inFlight: inFlightCount,
    queued: queuedCount,
    unacknowledged: unacknowledgedCount,
    persistent: isPersistent,
    node,
  });

async function list(request: ApiRequest): Promise<Answer> {
  const page = pageOf(request);
  const query = { text: request.query.text('text') ?? '', offset: page.offset, limit: page.size };
  const { total, rows, silentNodes } = await request.platform.connections.page(request.tenant, query);
  const items = rows.map(rowText);
  const collection = collectionText(request, page, { name: 'connections', items, total });
  const value = `${collection.slice(0, -1)},"silentNodes":${JSON.stringify(silentNodes)}}`;
  return { status: 200, contentType: JSON_TYPE, text: value, headers: ['Cache-Control', 'no-store'] };
}

export function connectionRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/millrace/connections',
      area: 'system',
      access: 'roles',
      roles: ADMIN,
      summary: 'Open MQTT connections of the tenant on all nodes, oldest first on each node',
      query: { ...PAGE_PARAMETERS, text: text('In the client id, the user name or the address, as it is written') },
      answers: [
        {
          status: 200,
          description: 'A page of connections',
          contentTypes: ['application/json'],
          json: Connections,
          example: {
            self: 'https://iot.example.org/millrace/connections?pageSize=5&currentPage=1',
            statistics: { currentPage: 1, pageSize: 5 },
            connections: [
              {
                clientId: 'pump-7',
                user: 'device_pump-7',
                address: '192.0.2.7',
                transport: 'tcp',
                protocolVersion: '3.1.1',
                keepAliveSeconds: 60,
                source: { id: '1000' },
                since: '2024-05-02T10:00:00.000Z',
                subscriptions: 1,
                inFlight: 0,
                queued: 0,
                unacknowledged: 0,
                persistent: true,
                node: 'mill-1',
              },
            ],
            silentNodes: [],
          },
        },
      ],
      handle: list,
    },
  ];
}
