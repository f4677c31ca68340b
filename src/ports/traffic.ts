/**
 * What clients publish and receive over MQTT, for people who look why a device does not work (docs/reference/own-requests.md,
 * Traffic). A sample of bounded rate, made only while one of them watches.
 */

/** A message of a client, a message to it, or what was wrong with it. */
export type TrafficKind = 'in' | 'out' | 'error';

export interface TrafficMessage {
  /** ms since 1970. */
  readonly at: number;
  /** Name of the node that the client is connected to. */
  readonly node: string;
  readonly kind: TrafficKind;
  readonly clientId: string;
  readonly user: string;
  /** Id of the managed object; absent of a client that has none. */
  readonly source?: string;
  /** Of an error: absent. */
  readonly topic?: string;
  readonly qos?: number;
  /** Bytes of the payload. */
  readonly size?: number;
  /** The first kilobyte; absent where it may hold a password or a token. */
  readonly payload?: string;
  /** Of a payload that is not UTF-8. */
  readonly encoding?: 'base64';
  readonly error?: { readonly code: string; readonly message: string };
}

/** Absent members let all pass. */
export interface TrafficFilter {
  /** A part of the client id or of the user name. */
  readonly client?: string;
  /** Id of the managed object. */
  readonly device?: string;
  /** An MQTT topic filter. Errors have no topic and pass it. */
  readonly topic?: string;
  readonly kind?: TrafficKind;
}

/** What a watcher gets a few times a second, when there is something. */
export interface TrafficBatch {
  /** All that passed the filter since the batch before. */
  readonly matched: number;
  /** Those of them that are not among `messages`. */
  readonly dropped: number;
  readonly messages: readonly TrafficMessage[];
}

/** As much of a connection as is told. */
export interface TrafficClient {
  readonly principal: { readonly tenantNumber: number; readonly userName: string };
  readonly clientId: string;
  readonly link?: { readonly source?: number } | undefined;
}

/** Where MQTT tells what passes. `isWatched` is all that costs something without a watcher. */
export interface TrafficTap {
  readonly isWatched: boolean;
  /** @param message its bytes are read within the call. */
  message(
    kind: 'in' | 'out',
    client: TrafficClient,
    message: { readonly topic: Buffer | string; readonly payload: Uint8Array; readonly qos: number },
  ): void;
  error(client: TrafficClient, error: { readonly code: string; readonly message: string }): void;
}

/** Where watchers come. */
export interface TrafficWatching {
  /** Whether the tenant may have `count` more watchers on this node. */
  hasRoom(tenant: number, count: number): boolean;
  /** @returns ends it. */
  watch(tenant: number, filter: TrafficFilter, take: (batch: TrafficBatch) => void): () => void;
}
