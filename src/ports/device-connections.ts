/** Who is connected over MQTT, on any node: for people who look why a device does not come in. */
export interface DeviceConnectionRow {
  readonly clientId: string;
  readonly user: string;
  /** Id of the managed object; absent of a connection that has none yet. */
  readonly source?: string;
  readonly address: string;
  readonly transport: 'tcp' | 'websocket';
  readonly protocolVersion: '3.1' | '3.1.1' | '5.0';
  /** ms since 1970. */
  readonly connectedAt: number;
  readonly keepAliveSeconds: number;
  readonly subscriptionsCount: number;
  /** Messages sent to the client and not acknowledged. */
  readonly inFlightCount: number;
  /** Messages that wait behind them. */
  readonly queuedCount: number;
  /** QoS 1 messages of the client that are not acknowledged. */
  readonly unacknowledgedCount: number;
  /** The session outlives the connection. */
  readonly isPersistent: boolean;
  /** Name of the node. */
  readonly node: string;
}

export interface ConnectionQuery {
  /** In the client id, the user name or the address, as it is written; '' for all. */
  readonly text: string;
  readonly offset: number;
  readonly limit: number;
}

export interface ConnectionPage {
  /** Of all that match. */
  readonly total: number;
  /** Oldest first on each node, one node after the other. */
  readonly rows: readonly DeviceConnectionRow[];
}

export interface DeviceConnections {
  /**
   * Those of a tenant. @returns with the nodes that did not answer, whose connections are not among them. @throws
   * PlatformError `general/page-too-large` for more than a message between nodes takes.
   */
  page(tenant: number, query: ConnectionQuery): Promise<ConnectionPage & { readonly silentNodes: readonly string[] }>;
}
