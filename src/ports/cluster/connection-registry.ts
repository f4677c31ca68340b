/**
 * Port that tells which node has which MQTT connection (a client has one, wherever it is connected). Implemented on Redis in
 * src/store. A hint and not a lock: who claims asks the former holder to close, and what the session decides is written
 * by its actor.
 */
export interface ConnectionHolder {
  readonly nodeId: string;
  readonly connectionId: string;
}

export interface ConnectionRegistry {
  /**
   * Makes the connection the holder of `key` (tenant and client). Of claims at the same time each sees the one before
   * it.
   * @returns the node that held it before, if any: that node is asked to close its connection (it may have died:
   * NodeUnreachable).
   * @throws PlatformError `general/documents-unavailable`; whether it was claimed is not known then.
   */
  claim(tenantNumber: number, key: string, nodeId: string, connectionId: string): Promise<ConnectionHolder | undefined>;
  /** Who holds it, as last claimed. @throws PlatformError `general/documents-unavailable`. */
  holder(tenantNumber: number, key: string): Promise<ConnectionHolder | undefined>;
  /**
   * The connection ended: forgets it if it is still the holder. Claimed anew by another meanwhile: nothing happens.
   * @throws PlatformError `general/documents-unavailable`; an entry left behind costs the next claim one vain request.
   */
  release(tenantNumber: number, key: string, nodeId: string, connectionId: string): Promise<void>;
  /**
   * Calls `listener` after the registry may have forgotten claims (its store was started anew): every open connection
   * is claimed again.
   * @returns a function that ends it.
   */
  onForgotten(listener: () => void): () => void;
}
