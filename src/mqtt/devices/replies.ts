/** What a device is told: rows, errors, and replies in the order of the rows that ask for them. */
import type { PlatformError } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { DeviceError, DeviceErrors } from '../../ports/device-errors.ts';
import type { Refusals, Refused } from '../../ports/refusals.ts';
import type { TrafficTap } from '../../ports/traffic.ts';
import { encodeRow } from '../../smartrest/rows/csv-encode.ts';
import { shorten, SmartRestError } from '../../smartrest/rows/error.ts';
import type { DeviceConnection, DownlinkMessage } from '../sessions/application.ts';
import type { DeviceHooks } from './hooks.ts';

/** Whom the replies are for. */
interface Receiver {
  readonly connection: Pick<DeviceConnection, 'clientId' | 'deliver' | 'principal' | 'remoteAddress'>;
  readonly tenantNumber: number;
  readonly serial: string;
  readonly source: number;
}

interface ReplyParts {
  readonly refusals: Refusals;
  /** Without it the last errors of devices are not remembered. */
  readonly errors: DeviceErrors | undefined;
  readonly traffic: TrafficTap | undefined;
  readonly log: Log;
  readonly hooks: DeviceHooks;
}

export class DeviceReplies {
  readonly #device: Receiver;
  readonly #parts: ReplyParts;
  /** Replies to rows that wait for one that is being looked up. */
  #waiting: (() => Promise<void>)[] | undefined;
  #isClosed = false;

  constructor(device: Receiver, parts: ReplyParts) {
    this.#device = device;
    this.#parts = parts;
  }

  /** Nothing is sent from now on. */
  close(): void {
    this.#isClosed = true;
  }

  /** @param qos the most; less when the device subscribed with less. @param kept see DownlinkMessage. */
  sendRow(topic: string, row: string, qos: 0 | 1 | 2 = 2, kept?: Pick<DownlinkMessage, 'mark' | 'onDropped'>): void {
    if (this.#isClosed) return;
    this.#device.connection.deliver({ topic, payload: Buffer.from(row), qos, ...kept });
  }

  sendError(error: Error, messageId: string): void {
    const fault = error instanceof SmartRestError ? error : new SmartRestError(50, messageId, error.message);
    this.#parts.refusals.count(`smartrest/error-${fault.code}`, this.refused(fault.message));
    this.note('smartrest', String(fault.code), fault.message);
    this.#parts.hooks.onResult?.('error');
    this.sendRow('s/e', fault.toRow(), 0);
  }

  /**
   * A template collection is unknown, or not taken for a reason (docs/spec/smartrest.md#template-collections): row 41 on
   * `s/dt`.
   */
  refuseTemplates(xid: string, reason?: string): void {
    const text = reason ?? `The template collection ${shorten(xid)} is unknown`;
    const code = 41;
    this.#parts.refusals.count(`smartrest/error-${code}`, this.refused(text));
    this.note('smartrest', String(code), text);
    this.#parts.hooks.onResult?.('error');
    this.sendRow('s/dt', encodeRow(reason === undefined ? [code, xid] : [code, xid, reason]));
  }

  /** JSON over MQTT (docs/spec/mqtt-json.md#errors). */
  sendJsonError(error: PlatformError, packetId: number): void {
    this.#parts.refusals.count(`json-over-mqtt/${error.code}`, this.refused(error.message));
    this.note('json', error.code, error.message);
    this.#parts.hooks.onResult?.('error');
    this.sendRow('error', JSON.stringify({ error: error.error, message: error.message, messageId: packetId }), 0);
  }

  /** Remembers it as the device's last error, where the device is known. */
  note(protocol: DeviceError['protocol'], code: string, message: string): void {
    const { tenantNumber, source, connection } = this.#device;
    const { traffic } = this.#parts;
    if (traffic?.isWatched === true) {
      const { principal, clientId } = connection;
      traffic.error({ principal, clientId, link: { source } }, { code: `${protocol}/${code}`, message });
    }
    if (source !== 0) this.#parts.errors?.note(tenantNumber, source, { protocol, code, message });
  }

  /** For the log. */
  refused(reason: string): Refused {
    const { connection, serial } = this.#device;
    const { tenant, userName: user } = connection.principal;
    return { tenant, user, device: serial, address: connection.remoteAddress, reason };
  }

  /** How many are not sent yet. */
  get due(): number {
    return this.#waiting?.length ?? 0;
  }

  /** Replies are sent in the order of the rows that ask for them, whatever has to be looked up for one. */
  inOrder(reply: () => Promise<void>): void {
    if (this.#waiting === undefined) void this.#reply((this.#waiting = [reply]));
    else this.#waiting.push(reply);
  }

  /** What was asked for until now has been sent. */
  sent(): Promise<void> {
    return new Promise((resolve) => {
      this.inOrder(async () => resolve());
    });
  }

  async #reply(replies: (() => Promise<void>)[]): Promise<void> {
    for (let next = replies.shift(); next !== undefined; next = replies.shift()) {
      try {
        await next();
      } catch (error) {
        // The device asks again.
        const { refusals, log } = this.#parts;
        refusals.count('mqtt/reply-failed', this.refused(String(error)));
        log.warn({ err: error, source: this.#device.source }, 'a device could not be answered');
      }
    }
    this.#waiting = undefined;
  }
}
