/** Who has which MQTT connection, in memory: what the nodes of a test share. */
import type { ConnectionHolder, ConnectionRegistry } from '../../../src/ports/cluster/connection-registry.ts';

export class InMemoryRegistry implements ConnectionRegistry {
  readonly held = new Map<string, ConnectionHolder>();
  readonly #listeners = new Set<() => void>();

  async claim(
    tenant: number,
    key: string,
    nodeId: string,
    connectionId: string,
  ): Promise<ConnectionHolder | undefined> {
    const former = this.held.get(`${tenant}/${key}`);
    this.held.set(`${tenant}/${key}`, { nodeId, connectionId });
    return former;
  }

  async holder(tenant: number, key: string): Promise<ConnectionHolder | undefined> {
    return this.held.get(`${tenant}/${key}`);
  }

  async release(tenant: number, key: string, nodeId: string, connectionId: string): Promise<void> {
    const holder = this.held.get(`${tenant}/${key}`);
    if (holder?.nodeId === nodeId && holder.connectionId === connectionId) this.held.delete(`${tenant}/${key}`);
  }

  onForgotten(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  forget(): void {
    this.held.clear();
    this.connected();
  }

  /** Whether anything was forgotten is not known. */
  connected(): void {
    for (const listener of this.#listeners) listener();
  }
}
