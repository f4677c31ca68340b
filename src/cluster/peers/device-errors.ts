/**
 * The last errors of devices on every node: a device is connected to one, and any may be asked. What is lost with a
 * message of NATS, or was noted before a node started, that node does not show.
 */
import { LastErrors } from '../../mqtt/devices/last-errors.ts';
import type { DeviceError } from '../../ports/device-errors.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';

const SUBJECT = 'device-errors';
const EVERY_MS = 500;
/** Devices of one message; of those beyond it the other nodes hear with their next error. */
const DEVICES_MAX = 500;

type Noted = readonly [tenant: number, source: number, error: DeviceError];

export class DeviceErrorsRelay {
  readonly #messages: NodeMessages;
  readonly #noted = new Map<number, Noted>();
  #timer: NodeJS.Timeout | undefined;

  /** Begins to tell, and to hear of, other nodes. */
  constructor(errors: LastErrors, messages: NodeMessages) {
    this.#messages = messages;
    errors.onNoted = (tenant, source, error) => {
      if (this.#noted.size >= DEVICES_MAX && !this.#noted.has(source)) return;
      this.#noted.set(source, [tenant, source, error]);
      this.#timer ??= setTimeout(() => this.#tell(), EVERY_MS).unref();
    };
    messages.listen(SUBJECT, (payload, from) => {
      if (from === messages.nodeId) return;
      for (const noted of JSON.parse(Buffer.from(payload).toString()) as Noted[]) errors.put(...noted);
    });
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #tell(): void {
    this.#timer = undefined;
    const noted = [...this.#noted.values()];
    this.#noted.clear();
    this.#messages.broadcast(SUBJECT, Buffer.from(JSON.stringify(noted)));
  }
}
