/**
 * The last error of each device, in the memory of a node. A tenant with many faulty devices pushes out its own oldest; when
 * all places are taken, the tenant with most gives one to a tenant with fewer.
 */
import type { DeviceError, DeviceErrors } from '../../ports/device-errors.ts';

/** Devices of one tenant, the ones with the newest errors, and of all tenants. */
const OF_TENANT_MAX = 1_000;
const ALL_MAX = 20_000;
const MESSAGE_LENGTH_MAX = 500;

export class LastErrors implements DeviceErrors {
  /** By tenant and source, the oldest first. */
  readonly #tenants = new Map<number, Map<number, DeviceError>>();
  readonly #now: () => number;
  #count = 0;
  /** Told of each error that was noted here, and not by `put`. */
  onNoted: ((tenant: number, source: number, error: DeviceError) => void) | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Devices that are remembered. */
  get count(): number {
    return this.#count;
  }

  note(tenant: number, source: number, { protocol, code, message }: Omit<DeviceError, 'time' | 'count'>): void {
    const noted: DeviceError = {
      time: this.#now(),
      protocol,
      code,
      message: message.slice(0, MESSAGE_LENGTH_MAX),
      count: (this.last(tenant, source)?.count ?? 0) + 1,
    };
    this.put(tenant, source, noted);
    this.onNoted?.(tenant, source, noted);
  }

  /** Takes what another node has noted, unless it is older. */
  put(tenant: number, source: number, error: DeviceError): void {
    const errors = this.#tenants.get(tenant) ?? new Map<number, DeviceError>();
    const known = errors.get(source);
    if (known !== undefined && known.time > error.time) return;
    if (known === undefined && (errors.size >= OF_TENANT_MAX || this.#count >= ALL_MAX))
      this.#dropOldest(errors.size >= OF_TENANT_MAX ? errors : this.#largest());
    if (!errors.delete(source)) this.#count += 1;
    errors.set(source, error);
    this.#tenants.set(tenant, errors);
  }

  /** Only when all places are taken: it looks at every tenant that has one. */
  #largest(): Map<number, DeviceError> {
    let largest = new Map<number, DeviceError>();
    for (const errors of this.#tenants.values()) if (errors.size > largest.size) largest = errors;
    return largest;
  }

  #dropOldest(errors: Map<number, DeviceError>): void {
    const [oldest] = errors.keys();
    errors.delete(oldest);
    this.#count -= 1;
  }

  last(tenant: number, source: number): DeviceError | undefined {
    return this.#tenants.get(tenant)?.get(source);
  }
}
