/**
 * Bayeux messages: reading a request, writing an answer, and the texts that notifications become
 * (docs/spec/realtime.md#messages).
 */
import type { Notification } from '../../ports/live-bus.ts';
import { PlatformError } from '../../model/errors.ts';
import { compact, joinMembers, requireShallow, splitMembers } from '../../model/documents/json-document.ts';
import { deliveredOperation } from '../../model/entities/operation.ts';
import { withSoftwareList } from '../../model/entities/software-in-place.ts';
import { linkedEntity } from './live-links.ts';
import { convertMeasurement } from '../../model/documents/units.ts';
import type { UnitSystem } from '../../model/documents/units.ts';
import { LIMIT_NAMES } from './limits.ts';
import type { UrlForm } from './channel.ts';

/** One message of a client. Everything but the object itself is unchecked. */
export type Request = Readonly<Record<string, unknown>>;

export interface Advice {
  readonly interval?: number;
  readonly timeout?: number;
  readonly reconnect: 'retry' | 'handshake' | 'none';
}

/** An answer: `channel` and `id` come from the request. */
export interface Answer {
  readonly successful: boolean;
  readonly error?: string;
  readonly advice?: Advice;
  readonly [member: string]: unknown;
}

/** Where a message that lost others is told of it. Clients that do not listen there ignore it. */
const LOST_CHANNEL = '/millrace/lost';

export const UNKNOWN_CLIENT: Answer = {
  successful: false,
  error: '402::Unknown client',
  advice: { interval: 0, reconnect: 'handshake' },
};

/** The longest text of a client that an error repeats. */
const REPEATED_LENGTH_MAX = 200;

/** Longer ones name no collection. */
const XID_LENGTH_MAX = 1_500;

/** Bayeux's form of an error: code, argument, text. */
export function errorText(code: number, argument: string, text: string): string {
  return `${code}:${argument.slice(0, REPEATED_LENGTH_MAX)}:${text}`;
}

/** Thrown for a request that cannot be taken at all; `limit` is the bound that it broke, if it was one. */
export class RequestRefused extends Error {
  readonly error: PlatformError;
  readonly limit: string | undefined;

  constructor(error: PlatformError, limit?: string) {
    super(error.message);
    this.error = error;
    this.limit = limit;
  }
}

/**
 * Reads a request: an array of messages, or one message alone.
 * @throws RequestRefused when it is too large, no JSON, or holds something else than objects.
 */
export function parseRequests(text: string, limits: { requestBytes: number; batchMessages: number }): Request[] {
  if (text.length > limits.requestBytes || Buffer.byteLength(text) > limits.requestBytes) {
    throw new RequestRefused(
      new PlatformError('general/payload-too-large', { limit: limits.requestBytes }),
      LIMIT_NAMES.requestBytes,
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
    // Errors and acknowledgements repeat parts of it.
    requireShallow(text);
  } catch (error) {
    throw new RequestRefused(error instanceof PlatformError ? error : badRequest((error as Error).message));
  }
  const requests = Array.isArray(value) ? value : [value];
  if (requests.length > limits.batchMessages) {
    throw new RequestRefused(badRequest(`more than ${limits.batchMessages} messages`), LIMIT_NAMES.batchMessages);
  }
  for (const request of requests) {
    if (typeof request !== 'object' || request === null || Array.isArray(request)) {
      throw new RequestRefused(badRequest('a Bayeux message is an object'));
    }
  }
  return requests;
}

function badRequest(reason: string): PlatformError {
  return new PlatformError('general/bad-json', { reason });
}

/** @returns the text of the member, or '' when it is not a text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** @returns a member of an object of unknown form, or undefined. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/**
 * The X-Ids that a message names for a client of rows (docs/spec/smartrest-one.md#live-data); undefined when it is not
 * of one.
 */
export function collectionsOf({ ext }: Request): readonly string[] | undefined {
  const smartrest = memberOf(ext, 'smartrest');
  if (smartrest === undefined) return undefined;
  const xids = memberOf(smartrest, 'xids');
  return Array.isArray(xids) ? xids.filter((xid) => typeof xid === 'string' && xid.length <= XID_LENGTH_MAX) : [];
}

/** @returns a whole number of milliseconds in [0, maximum], or undefined when the client gave no usable one. */
export function millisecondsOf(value: unknown, maximum: number): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined;
  return Math.min(Math.floor(value), maximum);
}

/** The answer as JSON text, with the request's `id` (text or number) as it was. */
export function answerText(request: Request, answer: Answer): string {
  const id = typeof request.id === 'string' || typeof request.id === 'number' ? { id: request.id } : {};
  return JSON.stringify({ ...id, channel: textOf(request.channel), ...answer });
}

/** What a full queue dropped, as a message. */
export function lostText(lost: number, limit: string): string {
  return JSON.stringify({ channel: LOST_CHANNEL, data: { lost, limit } });
}

/** A message as it is queued: its text, shared by all sessions that get it. */
export interface Delivery {
  readonly text: string;
  /** In UTF-8. */
  readonly sizeBytes: number;
}

/**
 * A notification on its way to sessions; its entity is encoded when first needed, and once for each URL under which
 * sessions see the server.
 */
export class OutgoingNotification {
  readonly notification: Notification;
  /** Of an operation: JSON of the list that its device gets in the place of actions (docs/spec/software.md#operations). */
  softwareList: string | undefined = undefined;
  #text: string | undefined = undefined;
  readonly #entities = new Map<string | undefined, string>();
  readonly #payloads = new Map<string | undefined, string>();

  constructor(notification: Notification) {
    this.notification = notification;
  }

  /** `{"realtimeAction":…,"data":…}`; for DELETE `data` is the id. @param baseUrl absent: without links. */
  payload(baseUrl: string | undefined): string {
    let payload = this.#payloads.get(baseUrl);
    if (payload === undefined) {
      payload = this.#payloadOf(this.#entity(baseUrl));
      this.#payloads.set(baseUrl, payload);
    }
    return payload;
  }

  /** The operation as its agent gets it. */
  payloadForAgent(baseUrl: string | undefined, agentId: string): string {
    const members = splitMembers(compact(this.#entity(baseUrl)));
    const operation = this.softwareList === undefined ? members : withSoftwareList(members, this.softwareList);
    return this.#payloadOf(joinMembers(deliveredOperation(operation, agentId)));
  }

  /** With the units that the subscriber wants: of measurements, and not of what is gone. */
  payloadIn(baseUrl: string | undefined, units: UnitSystem): string {
    const { action, area } = this.notification;
    return area !== 'measurements' || action === 'DELETE'
      ? this.payload(baseUrl)
      : this.#payloadOf(convertMeasurement(this.#entity(baseUrl), units));
  }

  #entity(baseUrl: string | undefined): string {
    let entity = this.#entities.get(baseUrl);
    if (entity === undefined) {
      const { notification } = this;
      const text = (this.#text ??= notification.text());
      entity =
        baseUrl === undefined || notification.action === 'DELETE' ? text : linkedEntity(notification, text, baseUrl);
      this.#entities.set(baseUrl, entity);
    }
    return entity;
  }

  #payloadOf(text: string): string {
    return `{"realtimeAction":"${this.notification.action}","data":${text}}`;
  }
}

/**
 * What decides the text of a message beside its channel: how a session's URL delivers, where it sees the server, and
 * the units of its handshake.
 */
export interface DeliveryForm {
  readonly data: UrlForm['data'];
  /** For links; absent: without any. */
  readonly baseUrl: string | undefined;
  readonly units: UnitSystem | undefined;
}

/** What is queued for a session, in the form that it wants. */
export interface Outgoing {
  delivery(form: DeliveryForm): Delivery;
}

/** A message on a channel. @param payload JSON of its data. */
export function deliveryOf(channel: string, id: number, form: UrlForm['data'], payload: string): Delivery {
  const data = form === 'array' ? `[${payload}]` : payload;
  const text = `{"channel":${JSON.stringify(channel)},"id":"${id}","data":${data}}`;
  return { text, sizeBytes: Buffer.byteLength(text) };
}

/** A notification on one channel: one text for each form, made when first needed. */
export class OutgoingMessage implements Outgoing {
  readonly #outgoing: OutgoingNotification;
  readonly #channel: string;
  readonly #id: number;
  readonly #agentId: string | undefined;
  /** Few: most sessions have the same form. */
  readonly #made: { readonly form: DeliveryForm; readonly delivery: Delivery }[] = [];

  /** @param options.agentId set when the channel is an agent's. */
  constructor(outgoing: OutgoingNotification, options: { channel: string; id: number; agentId: string | undefined }) {
    this.#outgoing = outgoing;
    this.#channel = options.channel;
    this.#id = options.id;
    this.#agentId = options.agentId;
  }

  delivery(form: DeliveryForm): Delivery {
    for (const made of this.#made) if (isSame(made.form, form)) return made.delivery;
    const delivery = deliveryOf(this.#channel, this.#id, form.data, this.#payload(form));
    this.#made.push({ form, delivery });
    return delivery;
  }

  #payload({ baseUrl, units }: DeliveryForm): string {
    if (this.#agentId !== undefined) return this.#outgoing.payloadForAgent(baseUrl, this.#agentId);
    return units === undefined ? this.#outgoing.payload(baseUrl) : this.#outgoing.payloadIn(baseUrl, units);
  }
}

const isSame = (one: DeliveryForm, other: DeliveryForm): boolean =>
  one.data === other.data && one.baseUrl === other.baseUrl && one.units === other.units;
