/** The connection of a session, and the will that it leaves behind. */
import type { DownlinkMessage } from './application.ts';

/** The connection that a session has, as the session sees it. */
export interface SessionOwner {
  /** False before CONNACK, after the end, and while the client does not keep up. */
  readonly canSend: boolean;
  /** Messages of QoS 1 and 2 that may be unacknowledged: the lower of our limit and the client's Receive Maximum. */
  readonly inFlightMax: number;
  /** @returns false when the packet would exceed the client's Maximum Packet Size; then nothing was written. */
  sendPublish(message: DownlinkMessage, qos: number, packetId: number, isDuplicate: boolean): boolean;
  sendPubrel(packetId: number): void;
  /** PUBREC for a message that an earlier connection of the session had received. */
  sendPubrec(packetId: number): void;
  /** PUBCOMP for a packet id whose release is durable. */
  sendPubcomp(packetId: number): void;
  /** A packet id is free again that a PUBLISH may be waiting for. */
  resume(): void;
  /** The connection has ended, or is about to. */
  readonly isOver: boolean;
  /** Another connection has opened the session. */
  takenOver(): void;
  /** Closes the connection; the client comes again. */
  disconnect(reasonCode: number, reason: string): void;
}

/** A will that waits for its delay after its connection has ended. */
export interface WaitingWill {
  /** The client came back: the will is not sent [MQTT-3.1.3-9]. */
  sessionContinues(): void;
  /** The session is over: the will is sent now. */
  sessionEnds(): void;
}
