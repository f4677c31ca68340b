/** A PUBLISH as a connection hands it to a link. */
import type { PublishedMessage } from '../../../src/mqtt/wire/published-message.ts';

export function published(topic: string, payload: string, packetId: number, qos = 1): PublishedMessage {
  const chunk = Buffer.from(topic + payload);
  const topicEnd = Buffer.byteLength(topic);
  return { chunk, topicStart: 0, topicEnd, payloadStart: topicEnd, payloadEnd: chunk.length, qos, packetId };
}
