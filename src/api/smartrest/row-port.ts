/** What rows of SmartREST 1.0 reach, over HTTP and MQTT, with the rights of their sender. */
import { DeviceRegistration } from '../../accounts/registration/registration.ts';
import { withoutGrants, type Principal } from '../../model/access/principal.ts';
import { BOOTSTRAP_ROLE, mayCreateObjects } from '../../model/access/roles.ts';
import { isDeviceId } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import { encodeRow } from '../../smartrest/rows/csv-encode.ts';
import { answerBody, type RequestAnswer, type RowPort } from '../../smartrest/one/answer.ts';
import type { StoredCollection } from '../../smartrest/one/collections.ts';
import { RowFault, WRONG_COUNT } from '../../smartrest/one/fault.ts';
import type { FilledRequest } from '../../smartrest/one/request-template.ts';
import type { Row } from '../../smartrest/one/rows.ts';
import type { InnerRequest, InnerRequester } from '../request/inner-request.ts';
import type { Platform } from '../request/platform.ts';
import type { RouteRules } from '../request/route-rules.ts';

/** Who sends a body, and how. */
export type RowSender = Pick<
  InnerRequest,
  'principal' | 'mode' | 'called' | 'applicationKey' | 'remoteAddress' | 'signal'
> & {
  /** Beside the body: of a header or a topic; '' for none. */
  readonly xid: string;
};

/** @param body only read, before this returns. @returns rows with line feeds between them; '' for none. */
export async function answerRows(
  body: Buffer,
  sender: RowSender,
  platform: Platform,
  inner: InnerRequester,
): Promise<string> {
  const port = new SenderPort(sender, platform, inner);
  try {
    return await answerBody(body, sender.xid, port);
  } finally {
    port.release();
  }
}

/** @returns what answers rows that come over MQTT: what fails is a row of the answer, so that they are acknowledged. */
export function tunnelledRows(
  platform: Platform,
  inner: InnerRequester,
): (body: Buffer, sender: Omit<RowSender, 'called' | 'applicationKey'>) => Promise<string> {
  const { host, protocol } = new URL(platform.config.mailUrl);
  const called = { host, forwardedHost: '', forwardedProto: '', isSecure: protocol === 'https:' };
  return async (body, sender) => {
    try {
      return await answerRows(body, { ...sender, called, applicationKey: '' }, platform, inner);
    } catch (error) {
      if (error instanceof PlatformError) return encodeRow([50, 1, error.status]);
      platform.log.error(
        { err: error, user: sender.principal.userName, xid: sender.xid },
        'rows could not be answered',
      );
      return encodeRow([50, 1, 500]);
    }
  };
}

const FORBIDDEN = 403;
const NOT_FOUND = 404;

/** Resources that templates may name (docs/spec/smartrest-one.md#requests). */
const OPEN_PATH =
  /^\/(?:alarm|application|audit|devicecontrol|event|identity|inventory|measurement|platform|tenant)(?:\/|$)/;

/**
 * Whether a template may ask the route: not what holds its answer back (live data), sets cookies or takes files; rows
 * themselves have a path of their own.
 */
const isOpen = ({ path, access, body, isHeldBack, setsCookies }: RouteRules): boolean =>
  OPEN_PATH.test(path) &&
  access !== 'public' &&
  access !== 'optional' &&
  body?.form !== 'stream' &&
  isHeldBack !== true &&
  setsCookies !== true;

class SenderPort implements RowPort {
  readonly #sender: RowSender;
  readonly #platform: Platform;
  readonly #inner: InnerRequester;
  readonly #principal: Principal;
  /** Nothing but its credentials is for a device that has none. */
  readonly #isBootstrap: boolean;
  #heldLength = 0;

  constructor(sender: RowSender, platform: Platform, inner: InnerRequester) {
    this.#sender = sender;
    this.#platform = platform;
    this.#inner = inner;
    this.#principal = withoutGrants(sender.principal);
    this.#isBootstrap = sender.principal.roles.has(BOOTSTRAP_ROLE);
  }

  get isOver(): boolean {
    return this.#sender.signal.aborted;
  }

  now(): number {
    return this.#platform.now();
  }

  hold(length: number): boolean {
    const { tenantNumber, userName } = this.#principal;
    const limit = this.#inner.answers.take(tenantNumber, userName, length);
    if (limit === undefined) this.#heldLength += length;
    else this.refused(limit);
    return limit === undefined;
  }

  /** The answer is made. */
  release(): void {
    const { tenantNumber, userName } = this.#principal;
    if (this.#heldLength > 0) this.#inner.answers.give(tenantNumber, userName, this.#heldLength);
    this.#heldLength = 0;
  }

  refused(limit: string): void {
    const { tenant, userName: user } = this.#principal;
    this.#platform.refusals.count(limit, { tenant, user, address: this.#sender.remoteAddress });
  }

  async find(xid: string): Promise<StoredCollection | undefined> {
    return this.#isBootstrap ? undefined : this.#platform.rowCollections.find(this.#principal.tenantNumber, xid);
  }

  async create(xid: string, rows: string): Promise<string> {
    if (!mayCreateObjects(this.#principal.roles)) throw new PlatformError('security/forbidden');
    return this.#platform.rowCollections.create(this.#principal, xid, rows);
  }

  run(request: FilledRequest): Promise<RequestAnswer> {
    return this.#inner.run({ ...this.#sender, ...request, principal: this.#principal }, isOpen);
  }

  builtIn({ line, fields: [messageId, ...values] }: Row): Promise<string> | undefined {
    if (messageId === '61') return this.#poll(line, values);
    return this.#isBootstrap ? Promise.resolve(encodeRow([50, line, FORBIDDEN])) : undefined;
  }

  /** Row 61: one poll for the credentials of a device. */
  async #poll(line: number, values: readonly string[]): Promise<string> {
    const [id = ''] = values;
    if (!isDeviceId(id) || values.slice(1).some((value) => value !== '')) throw new RowFault(45, WRONG_COUNT);
    if (!this.#isBootstrap) return encodeRow([50, line, FORBIDDEN]);
    const issued = await new DeviceRegistration(this.#platform).poll(id, undefined);
    return issued === undefined
      ? encodeRow([50, line, NOT_FOUND])
      : encodeRow([70, line, id, issued.tenantId, issued.userName, issued.password]);
  }
}
