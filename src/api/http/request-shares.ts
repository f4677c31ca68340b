/**
 * What the requests of a user, and of a tenant, may hold: places under way, bodies that come in pieces, their bytes,
 * bytes of answers on their way.
 */
import { refusedBy } from '../../model/errors.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { Refusals, Refused } from '../../ports/refusals.ts';
import { Shares } from '../../pacing/shares.ts';

/** Requests of known users under way at once. */
const REQUESTS_MAX = 20_000;
/** Bytes of large answers that their clients have not taken yet. */
const ANSWERS_BYTES_MAX = 256 * 1024 * 1024;
/** Smaller bodies are bounded by the number of requests. */
const BODY_BYTES_MIN = 4_096;
/** Smaller answers leave with one write. */
const ANSWER_BYTES_MIN = 65_536;

/** One request: what it holds. */
export interface ShareHolder {
  /** Undefined before login: then nothing is counted here. */
  holder: Principal | undefined;
  readonly heldBytes: number;
  sharedBodyBytes: number;
  /** A part of its body has come. */
  readonly isCollecting: boolean;
  /** 1 while its body counts for its user. */
  sharedBodies: number;
  sharedAnswerBytes: number;
}

const refusedOf = ({ tenant, userName: user }: Principal): Refused => ({ tenant, user });

export class RequestShares {
  readonly requests: Shares;
  readonly #bodies: Shares;
  readonly #bodyBytes: Shares;
  readonly #answers: Shares;
  readonly #refusals: Refusals;

  constructor(options: {
    readonly refusals: Refusals;
    readonly requestsMax?: number | undefined;
    readonly answersBytesMax?: number | undefined;
    readonly bodiesMax: number;
    readonly bodiesBytesMax: number;
  }) {
    this.#refusals = options.refusals;
    this.requests = new Shares('http/requests', options.requestsMax ?? REQUESTS_MAX);
    this.#bodies = new Shares('http/bodies', options.bodiesMax);
    this.#bodyBytes = new Shares('http/bodies-bytes', options.bodiesBytesMax);
    this.#answers = new Shares('http/answers-bytes', options.answersBytesMax ?? ANSWERS_BYTES_MAX);
  }

  /** The request counts for its user from now on. @throws PlatformError `general/busy`. */
  begin(request: ShareHolder, principal: Principal): void {
    const { tenantNumber, userName } = principal;
    const limit = this.requests.take(tenantNumber, userName);
    if (limit !== undefined) {
      this.#refusals.count(limit, refusedOf(principal));
      throw refusedBy(limit);
    }
    request.holder = principal;
    if (request.isCollecting) {
      this.#bodies.add(tenantNumber, userName);
      request.sharedBodies = 1;
    }
    if (request.heldBytes <= BODY_BYTES_MIN) return;
    this.#bodyBytes.add(tenantNumber, userName, request.heldBytes);
    request.sharedBodyBytes = request.heldBytes;
  }

  /** A body begins that did not come in one piece. @returns the limit that is in the way, not counted. */
  beginBody(request: ShareHolder): string | undefined {
    if (request.holder === undefined) return undefined;
    const limit = this.#bodies.take(request.holder.tenantNumber, request.holder.userName);
    if (limit === undefined) request.sharedBodies = 1;
    return limit;
  }

  /** The body is complete or refused. */
  endBody(request: ShareHolder): void {
    if (request.holder === undefined || request.sharedBodies === 0) return;
    this.#bodies.give(request.holder.tenantNumber, request.holder.userName);
    request.sharedBodies = 0;
  }

  /** @param bodyBytes of the body with them. @returns the limit that is in the way, not counted. */
  takeBody(request: ShareHolder, bytes: number, bodyBytes: number): string | undefined {
    if (request.holder === undefined || bodyBytes <= BODY_BYTES_MIN) return undefined;
    const limit = this.#bodyBytes.take(request.holder.tenantNumber, request.holder.userName, bytes);
    if (limit === undefined) request.sharedBodyBytes += bytes;
    return limit;
  }

  /** @param bytes of which those count that were taken here. */
  giveBody(request: ShareHolder, bytes: number): void {
    const shared = Math.min(bytes, request.sharedBodyBytes);
    if (request.holder === undefined || shared === 0) return;
    this.#bodyBytes.give(request.holder.tenantNumber, request.holder.userName, shared);
    request.sharedBodyBytes -= shared;
  }

  /** A large answer counts until its client has taken it. @returns the limit that is in the way, counted. */
  takeAnswer(request: ShareHolder, bytes: number): string | undefined {
    if (request.holder === undefined || bytes <= ANSWER_BYTES_MIN) return undefined;
    const limit = this.#answers.take(request.holder.tenantNumber, request.holder.userName, bytes);
    if (limit === undefined) request.sharedAnswerBytes += bytes;
    else this.#refusals.count(limit, refusedOf(request.holder));
    return limit;
  }

  /** The request is over. */
  end(request: ShareHolder): void {
    const { holder } = request;
    if (holder === undefined) return;
    this.endBody(request);
    this.giveBody(request, request.sharedBodyBytes);
    request.holder = undefined;
    this.requests.give(holder.tenantNumber, holder.userName);
    if (request.sharedAnswerBytes > 0)
      this.#answers.give(holder.tenantNumber, holder.userName, request.sharedAnswerBytes);
    request.sharedAnswerBytes = 0;
  }
}
