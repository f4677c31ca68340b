/** What compiled models take in the workers, as these tell it. */
import type { LoadedMessage } from './protocol.ts';

export class LoadedBytes {
  /** Of each thread the bytes by tenant; those without models are absent. */
  readonly #threads = new Map<number, Map<number, number>>();

  /** @param alive ids of the threads that run: what others had is gone with them */
  take({ thread, tenant, bytes }: LoadedMessage, alive: readonly number[]): void {
    this.#keep(alive);
    if (!alive.includes(thread)) return;
    let ofThread = this.#threads.get(thread);
    if (ofThread === undefined) this.#threads.set(thread, (ofThread = new Map()));
    if (bytes > 0) ofThread.set(tenant, bytes);
    else ofThread.delete(tenant);
  }

  /** Of a tenant in all threads. */
  of(tenant: number, alive: readonly number[]): number {
    this.#keep(alive);
    let sum = 0;
    for (const ofThread of this.#threads.values()) sum += ofThread.get(tenant) ?? 0;
    return sum;
  }

  #keep(alive: readonly number[]): void {
    for (const thread of this.#threads.keys()) if (!alive.includes(thread)) this.#threads.delete(thread);
  }
}
