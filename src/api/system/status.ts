/** How the node is: its stages, what it refused, and who is slow. For pages that show it to people. */
import Type from 'typebox';
import { JSON_TYPE } from '../http/media-types.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { reportFor, isOperator } from './system.ts';

/** Consumers of Notifications 2.0 that are told: those of the largest topics. */
const CONSUMERS_MAX = 100;
const CONSUMER_ROLES = ['ROLE_NOTIFICATION_2_ADMIN', 'ROLE_TENANT_ADMIN'];

const Count = Type.Integer({ minimum: 0 });
const Status = Type.Object({
  node: Type.String(),
  time: Type.String({ format: 'date-time' }),
  uptimeSeconds: Count,
  ready: Type.Boolean(),
  parts: Type.Record(
    Type.String(),
    Type.Object(
      { ready: Type.Boolean() },
      { additionalProperties: true, description: 'As in /health/ready: for operators with the lag of its stage' },
    ),
  ),
  nodes: Type.Optional(
    Type.Array(
      Type.Object({
        node: Type.String(),
        state: Type.Enum(['ready', 'not-ready', 'leaving', 'silent']),
        roles: Type.Array(Type.String()),
        lag: Type.Optional(
          Type.Integer({ minimum: 0, description: 'Of its slowest stage: records, in a cluster groups of records' }),
        ),
        connections: Type.Optional(Count),
        shards: Type.Optional(Count),
        uptimeSeconds: Type.Optional(Count),
        version: Type.Optional(Type.String()),
        notReady: Type.Optional(Type.Array(Type.String(), { description: 'Names of parts' })),
      }),
      { description: 'For operators: every node of the server' },
    ),
  ),
  refusals: Type.Optional(
    Type.Array(Type.Object({ limit: Type.String(), count: Count }), {
      description: 'For operators: what the node refused since its start, most first; docs/reference/limits.md',
    }),
  ),
  consumers: Type.Optional(
    Type.Array(
      Type.Object({
        topic: Type.String(),
        subscriber: Type.String(),
        shared: Type.Boolean(),
        connections: Count,
        unacknowledged: Count,
        behind: Type.Boolean({ description: 'The topic has messages that it has not acknowledged' }),
        topicMessages: Type.Integer({ description: 'What the topic keeps for its slowest subscriber' }),
        topicBytes: Count,
      }),
      { description: 'Of the tenant on this node, for ROLE_NOTIFICATION_2_ADMIN or ROLE_TENANT_ADMIN' },
    ),
  ),
});

function consumersOf(request: ApiRequest): object[] {
  return request.platform.notifications
    .backlogs(request.tenant, CONSUMERS_MAX)
    .map(({ isShared, connectionsCount, unacknowledgedCount, isBehind, topicChars, topicMessages, ...names }) => ({
      ...names,
      shared: isShared,
      connections: connectionsCount,
      unacknowledged: unacknowledgedCount,
      behind: isBehind,
      topicMessages,
      topicBytes: topicChars,
    }));
}

async function status(request: ApiRequest): Promise<Answer> {
  const { platform } = request;
  const refusals = (): object[] =>
    [...platform.refusalCounts()].sort(([, one], [, other]) => other - one).map(([limit, count]) => ({ limit, count }));
  const value = {
    node: platform.facts().node,
    time: new Date(platform.now()).toISOString(),
    uptimeSeconds: Math.floor(process.uptime()),
    ...(await reportFor(request)),
    ...(isOperator(request) ? { nodes: await platform.nodes.all(), refusals: refusals() } : {}),
    ...(request.hasRole(...CONSUMER_ROLES) ? { consumers: consumersOf(request) } : {}),
  };
  return { status: 200, contentType: JSON_TYPE, text: JSON.stringify(value), headers: ['Cache-Control', 'no-store'] };
}

export function statusRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/millrace/status',
      area: 'system',
      access: 'user',
      summary:
        'Stages of the node that answers, all nodes, refusals by limit, and consumers of the tenant with their backlog',
      answers: [
        {
          status: 200,
          description: 'Also while the node is not ready',
          contentTypes: ['application/json'],
          json: Status,
          example: {
            node: 'mill-1',
            time: '2024-05-02T10:00:00.000Z',
            uptimeSeconds: 3600,
            ready: true,
            parts: { journal: { ready: true, lagRecords: 0 } },
            nodes: [{ node: 'mill-1', state: 'ready', roles: [], lag: 0, connections: 12, uptimeSeconds: 3600 }],
            refusals: [{ limit: 'journal/bytes', count: 3 }],
            consumers: [],
          },
        },
      ],
      handle: status,
    },
  ];
}
