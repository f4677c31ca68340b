/**
 * A device that knows nothing but the bootstrap credentials: it asks for its own on `s/ucr` and gets them on `s/dcr`
 * (docs/spec/device-registration.md#mqtt).
 */
import type { DeviceRegistration } from '../../accounts/registration/registration.ts';
import type { DeviceCredentials } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals, Refused } from '../../ports/refusals.ts';
import { encodeRow } from '../../smartrest/rows/csv-encode.ts';
import { SmartRestError } from '../../smartrest/rows/error.ts';
import { RECEIVE, receivedBy } from '../../smartrest/topics.ts';
import { PUBLISH_RESULT } from '../sessions/application.ts';
import type { DeviceConnection, DeviceLink, PublishResult } from '../sessions/application.ts';
import type { PublishedMessage } from '../wire/published-message.ts';

const REQUEST_TOPIC = 's/ucr';
const CREDENTIALS_TOPIC = 's/dcr';
const ERROR_TOPIC = 's/e';
const REFUSED_FILTER = 0x80;
const REASON_NOT_AUTHORIZED = 0x87;
/** Topics that the bootstrap user receives. */
const RECEIVES = RECEIVE.CREDENTIALS | RECEIVE.ERRORS;
/** Row of the credentials. */
const CREDENTIALS_ROW = '70';
const NOT_ALLOWED = 'mqtt/bootstrap-topic';

export interface BootstrapParts {
  readonly registration: Pick<DeviceRegistration, 'poll'>;
  readonly refusals: Refusals;
  readonly log: Log;
}

export class BootstrapLink implements DeviceLink {
  readonly #connection: DeviceConnection;
  readonly #parts: BootstrapParts;
  readonly #deviceId: string;
  #isAsking = false;
  #isStalled = false;
  #isClosed = false;

  /** @param deviceId the client ID without its prefix. */
  constructor(connection: DeviceConnection, deviceId: string, parts: BootstrapParts) {
    this.#connection = connection;
    this.#deviceId = deviceId;
    this.#parts = parts;
  }

  /** One request at a time; what comes meanwhile waits in the connection. */
  publish({ chunk, topicStart, topicEnd, payloadStart, payloadEnd, packetId }: PublishedMessage): PublishResult {
    if (this.#isAsking) {
      this.#isStalled = true;
      return PUBLISH_RESULT.BUSY;
    }
    const topic = chunk.toString('utf8', topicStart, topicEnd);
    if (topic !== REQUEST_TOPIC) {
      const reason = `The bootstrap user publishes on ${REQUEST_TOPIC} only`;
      this.#parts.refusals.count(NOT_ALLOWED, this.#refused(reason));
      this.#tell(new SmartRestError(41, '', reason));
      this.#connection.acknowledge(packetId, { reasonCode: REASON_NOT_AUTHORIZED, reason });
      this.#connection.flush();
      return PUBLISH_RESULT.PENDING;
    }
    const token = chunk.toString('utf8', payloadStart, payloadEnd).trim();
    this.#isAsking = true;
    this.#parts.registration
      .poll(this.#deviceId, token === '' ? undefined : token)
      .then(
        (credentials) => {
          if (credentials !== undefined) this.#deliver(credentials);
        },
        (error: Error) => this.#failed(error),
      )
      .finally(() => this.#asked(packetId));
    return PUBLISH_RESULT.PENDING;
  }

  endOfRead(): void {
    /* Nothing is collected. */
  }

  subscribe(topicFilter: string, qos: 0 | 1 | 2): number {
    const receives = receivedBy(topicFilter);
    return receives !== 0 && (receives & ~RECEIVES) === 0 ? qos : REFUSED_FILTER;
  }

  subscribed(): void {
    /* Credentials come as the answer to a request. */
  }
  unsubscribe(): void {
    /* The session knows. */
  }
  closed(): void {
    this.#isClosed = true;
  }

  #asked(packetId: number): void {
    this.#isAsking = false;
    this.#connection.acknowledge(packetId);
    this.#connection.flush();
    if (!this.#isStalled) return;
    this.#isStalled = false;
    if (!this.#isClosed) this.#connection.resume();
  }

  #deliver({ tenantId, userName, password }: DeviceCredentials): void {
    const row = Buffer.from(encodeRow([CREDENTIALS_ROW, tenantId, userName, password]));
    this.#connection.deliver({ topic: CREDENTIALS_TOPIC, payload: row, qos: 2 });
  }

  #failed(error: Error): void {
    if (!(error instanceof PlatformError))
      this.#parts.log.error({ err: error, device: this.#deviceId }, 'a request for device credentials failed');
    this.#tell(
      new SmartRestError(
        50,
        '',
        error instanceof PlatformError ? error.message : 'The request for device credentials failed',
      ),
    );
  }

  #refused(reason: string): Refused {
    const { principal, remoteAddress: address } = this.#connection;
    return { tenant: principal.tenant, user: principal.userName, device: this.#deviceId, address, reason };
  }

  #tell(fault: SmartRestError): void {
    this.#parts.refusals.count(`smartrest/error-${fault.code}`, this.#refused(fault.message));
    this.#connection.deliver({ topic: ERROR_TOPIC, payload: Buffer.from(fault.toRow()), qos: 0 });
  }
}
