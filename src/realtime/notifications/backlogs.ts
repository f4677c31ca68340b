/** What consumers of Notifications 2.0 have behind them, in numbers and for people. */
import type { Backlog } from '../../ports/backlogs.ts';
import type { Subscriber } from './subscriber.ts';
import type { Topic } from './topic.ts';

export interface HubCounts {
  readonly topics: number;
  readonly subscribers: number;
  readonly connections: number;
  readonly backlogMessages: number;
  readonly backlogChars: number;
  readonly unacknowledged: number;
  readonly delivered: number;
  readonly repeated: number;
}

/** @param before of subscribers that have gone. */
export function hubCounts(
  topics: ReadonlyMap<string, Topic>,
  subscribers: ReadonlyMap<Subscriber, unknown>,
  before: Pick<HubCounts, 'connections' | 'delivered' | 'repeated'>,
): HubCounts {
  let [backlogMessages, backlogChars, unacknowledged] = [0, 0, 0];
  let { delivered, repeated } = before;
  for (const { count, size } of topics.values()) {
    backlogMessages += count;
    backlogChars += size;
  }
  for (const subscriber of subscribers.keys()) {
    unacknowledged += subscriber.unacknowledgedCount;
    delivered += subscriber.deliveredCount;
    repeated += subscriber.repeatedCount;
  }
  return {
    topics: topics.size,
    subscribers: subscribers.size,
    connections: before.connections,
    backlogMessages,
    backlogChars,
    unacknowledged,
    delivered,
    repeated,
  };
}

/** Of one tenant, the largest topics first. @param limit more are left out. */
export function backlogsOf(topics: Iterable<Topic>, tenant: number, limit: number): Backlog[] {
  const found: Backlog[] = [];
  for (const topic of topics) {
    if (topic.ref.tenant !== tenant) continue;
    for (const subscriber of topic.subscribers.values()) {
      found.push({
        topic: topic.ref.topic,
        subscriber: subscriber.name,
        isShared: subscriber.isShared,
        connectionsCount: subscriber.consumers.length,
        unacknowledgedCount: subscriber.unacknowledgedCount,
        isBehind: subscriber.position.seq <= topic.lastSeq,
        topicMessages: topic.count,
        topicChars: topic.size,
      });
    }
  }
  return found.sort((one, other) => other.topicChars - one.topicChars).slice(0, limit);
}
