/** Notifications 2.0: the topics of this server and their consumers (docs/internals/notifications.md). */
import type { ConsumerClaims } from '../../model/entities/notifications/token.ts';
import { topicName } from '../../model/entities/notifications/subscription.ts';
import { ConsumerRelay } from '../../cluster/peers/consumer-relay.ts';
import type { Backlog } from '../../ports/backlogs.ts';
import { NotificationHub } from '../../realtime/notifications/hub.ts';
import { changeRecords } from '../../records/records.ts';
import type { ServerCore } from '../cores/core.ts';
import type { Part } from './part.ts';

const DAY_MS = 86_400_000;

export interface NotificationsPart extends Part {
  readonly consumers: NotificationHub | ConsumerRelay;
  /** Of a tenant's consumers on this node, the largest topics first. */
  backlogs(tenant: number, limit: number): Backlog[];
  /** Ends what is connected for a tenant that was suspended; of one that was deleted everything. */
  tenantEnded(tenant: number): void;
  /** @returns whether there was such a subscriber. */
  unsubscribe(claims: ConsumerClaims): Promise<boolean>;
  /** A subscription was stored: resolves when every node forwards by it. @param id of its record. */
  subscriptionChanged(tenant: number, id: string): Promise<void>;
}

export async function notificationsPart(core: ServerCore): Promise<NotificationsPart> {
  const { config, documents, tenants, commands, metrics, log, forwarding, cluster } = core;
  const hub = new NotificationHub({
    forwarding,
    topics: core.topics,
    ...(cluster === undefined
      ? {}
      : {
          isHome: (topic) => cluster.topicRelay.isHome(topic),
          begun: (topic, subscriber) => cluster.topicRelay.begun(topic, subscriber),
        }),
    documents,
    change: (tenant, changes) => changeRecords({ commands, now: Date.now }, tenant, changes),
    tenantId: (tenant) => tenants.byNumber(tenant)?.id ?? String(tenant),
    refusals: metrics,
    log,
    isOnlyTenant: () => tenants.isOnlyOne,
    limits: {
      topicChars: config.topicMaxBytes,
      topicAgeMs: config.topicMaxAgeDays * DAY_MS,
      tenantChars: config.tenantTopicsMaxBytes,
    },
    now: Date.now,
    clock: () => performance.now(),
  });
  await core.notificationTokens.load();
  await hub.start(tenants.numbers);
  registerMetrics(core, hub);
  const relay =
    cluster === undefined
      ? undefined
      : new ConsumerRelay({ messages: cluster.messages, topics: cluster.topicRelay, hub, refusals: metrics, log });
  return {
    consumers: relay ?? hub,
    backlogs: (tenant, limit) => hub.backlogs(tenant, limit),
    tenantEnded: (tenant) => {
      if (tenants.byNumber(tenant) === undefined) hub.forgetTenant(tenant);
      else hub.endTenant(tenant);
    },
    unsubscribe: (claims) => {
      const { subscriber, tenantNumber: tenant } = claims;
      const topic = topicName(claims.subscription, claims.isVolatile);
      return relay === undefined
        ? hub.unsubscribe({ tenant, topic }, subscriber)
        : relay.unsubscribe({ tenant, topic, subscriber });
    },
    subscriptionChanged: async (tenant, id) => cluster?.topicRelay.subscriptionChanged(tenant, id),
    start: () => relay?.start(),
    stop: () => {
      relay?.stop();
      return hub.stop();
    },
  };
}

function registerMetrics({ metrics, forwarding }: ServerCore, hub: NotificationHub): void {
  metrics.gauges(
    'millrace_notifications',
    'Notifications 2.0: topics, subscribers and connections of consumers, subscriptions in memory, and messages that are kept, or sent and not acknowledged',
    'of',
    () => {
      const { topics, subscribers, connections, backlogMessages, unacknowledged } = hub.counts;
      return [
        ['topics', topics],
        ['subscribers', subscribers],
        ['connections', connections],
        ['subscriptions', forwarding.subscriptionsCount],
        ['backlog', backlogMessages],
        ['unacknowledged', unacknowledged],
      ];
    },
  );
  metrics.gauge(
    'millrace_notifications_backlog_bytes',
    'Characters that topics of Notifications 2.0 keep',
    () => hub.counts.backlogChars,
  );
  metrics.total(
    'millrace_notifications_connected_total',
    'Consumers of Notifications 2.0 that were connected to their subscriber',
    () => hub.connectedCount,
  );
  metrics.total(
    'millrace_notifications_delivered_total',
    'Messages of Notifications 2.0 that were sent to consumers, each time',
    () => hub.counts.delivered + hub.counts.repeated,
  );
  metrics.total(
    'millrace_notifications_repeated_total',
    'Messages of Notifications 2.0 that were sent again, as they were not acknowledged in time',
    () => hub.counts.repeated,
  );
  metrics.total(
    'millrace_notifications_acknowledged_total',
    'Messages of Notifications 2.0 that consumers acknowledged',
    () => hub.acknowledgedCount,
  );
  metrics.total(
    'millrace_notifications_failures_total',
    'Changes that could not be made into messages of Notifications 2.0; the log has the last ones',
    () => forwarding.failuresCount,
  );
}
