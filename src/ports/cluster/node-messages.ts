/**
 * Port of what nodes tell each other (NATS core): requests with an answer, and broadcasts. At most once, no storage:
 * its users cope with a lost message. Payloads are bytes; JSON where speed does not matter.
 */
export interface NodeMessages {
  /** This node's id: unique for each start of a process (`<name>-<random>`). */
  readonly nodeId: string;
  /**
   * Asks one node. @throws NodeUnreachable at once when no such node listens, or after `timeoutMs`.
   */
  request(nodeId: string, subject: string, payload: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  /**
   * Answers the requests of other nodes (and of this one). A rejection is given to the asker as NodeUnreachable with
   * its message.
   */
  answer(subject: string, handler: (payload: Uint8Array, from: string) => Promise<Uint8Array> | Uint8Array): void;
  /** Bytes that a payload may have; above it `send`, `broadcast` and `request` throw. */
  readonly payloadBytesMax: number;
  /** One-way to one node. */
  send(nodeId: string, subject: string, payload: Uint8Array): void;
  /** To every node, this one included. */
  broadcast(subject: string, payload: Uint8Array): void;
  /** Takes one-way messages and broadcasts. */
  listen(subject: string, handler: (payload: Uint8Array, from: string) => void): void;
  /** Called after the connection to NATS was lost and is back: broadcasts may have been missed (caches are emptied). */
  onReconnected(handler: () => void): void;
  readonly isConnected: boolean;
}

export class NodeUnreachable extends Error {}
