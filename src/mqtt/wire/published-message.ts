/**
 * One PUBLISH. Its sender reuses the object: a receiver reads all fields before it calls anything else.
 * `chunk[topicStart, topicEnd)` and `chunk[payloadStart, payloadEnd)` alias the socket's buffer and die with the call.
 */
export interface PublishedMessage {
  readonly chunk: Buffer;
  readonly topicStart: number;
  readonly topicEnd: number;
  readonly payloadStart: number;
  readonly payloadEnd: number;
  readonly qos: number;
  /** 0 for QoS 0. */
  readonly packetId: number;
}
