/** What the route table says about a resource; routing, authorisation, validation and /openapi.json come from it. */
import type { TSchema } from 'typebox';
import type { PlatformError } from '../../model/errors.ts';
import type { MediaKind } from '../http/media-types.ts';
import type { BodyValidator } from '../../model/schema/body-validator.ts';
import type { Answer } from './answer.ts';
import type { QueryCheck, QueryParameters } from './schema/query-values.ts';

/** `PATCH` and others are refused with 405 everywhere. */
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * Who may call: `public` everybody, credentials are not looked at; `optional` everybody, wrong credentials are refused;
 * `user` every user; `roles` holders of one of `roles`; `owner` every user, the handler decides for those without one of
 * `roles` (`request.isPrivileged`).
 */
export type Access = 'public' | 'optional' | 'user' | 'roles' | 'owner';

/** What a body of one media type looks like. */
export interface BodyContent {
  readonly schema: TSchema;
  readonly example: unknown;
}

/** What a request body holds. */
export interface RouteBody {
  /** What it has to fulfil; checked before the handler. `bytes` bodies are not looked at. */
  readonly schema?: TSchema;
  /** Vendor names that clients send. Plain JSON and other vendor names are taken as well. */
  readonly mediaTypes?: readonly string[];
  /** By whole media type, of bodies that are not checked against `schema`: for /openapi.json. */
  readonly contents?: Readonly<Record<string, BodyContent>>;
  /**
   * `json` (default): one object; `bytes`: anything, the handler reads `request.body`; `stream`: anything of any
   * length, the handler reads `request.bodyStream` and bounds it.
   */
  readonly form?: 'json' | 'bytes' | 'stream';
  /** Of `bytes`: in any charset, and the handler reads `request.utf8Body`. */
  readonly takesCharsets?: boolean;
  /** Which limit holds: `json` (default) or `large`. */
  readonly limit?: 'json' | 'large';
  /** DELETE with an optional body. */
  readonly isOptional?: boolean;
  readonly example?: unknown;
}

export interface RouteAnswer {
  readonly status: number;
  readonly description: string;
  /** Vendor name of the entity. */
  readonly mediaType?: string;
  /** Name of the answer's schema where it is not `mediaType`. */
  readonly schema?: string;
  /** Name of the schema of plain JSON, where that may be one of several answers. */
  readonly plain?: string;
  /** Content types without vendor name, for instance `text/csv`. */
  readonly contentTypes?: readonly string[];
  /** Of `application/json` among them. */
  readonly json?: TSchema;
  /** Where it is not that of the schema (`ANSWER_EXAMPLES`). */
  readonly example?: unknown;
}

/** A route without its handler. */
export interface RouteRules {
  readonly method: Method;
  /** With `{name}` segments; no slash at the end. */
  readonly path: string;
  readonly summary: string;
  /** First part of error strings and the tag in /openapi.json. */
  readonly area: string;
  readonly access: Access;
  readonly roles?: readonly string[];
  readonly query?: QueryParameters;
  readonly body?: RouteBody;
  readonly answers: readonly RouteAnswer[];
  /** Further request headers that the handler reads from `request.headers`; lower case. */
  readonly headers?: readonly string[];
  /**
   * What can be produced, in order of preference; default `vendor`, `json`. Other Accept headers are answered with 406.
   */
  readonly produces?: readonly MediaKind[];
  /** The answer waits for something to happen (long polling): its time does not count as the server's latency. */
  readonly isHeldBack?: boolean;
  /** Also for bootstrap users of microservices, who reach nothing else. */
  readonly isForServiceBootstrap?: boolean;
  /** Also with a cookie whose session has ended, then without a user: the answer takes it away. */
  readonly takesEndedCookie?: boolean;
  /** The answer sets cookies: only for pages of this origin and those that the tenant names. */
  readonly setsCookies?: boolean;
  /** Also for users with the right password who still lack their second factor. */
  readonly isForSecondFactor?: boolean;
  /** The last parameter takes all further segments of the path, joined by slashes. */
  readonly takesRest?: boolean;
  /**
   * Changes or deletes all that its query selects: a parameter that it does not know, which would select more than is
   * meant, is refused.
   */
  readonly changesAllThatMatch?: boolean;
  /** Its query is that of something else, for instance of a page's own script: every parameter is right. */
  readonly takesAnyQuery?: boolean;
  /**
   * Errors are `{"errors": ["…"]}`, but for 401 and 403, with 400 in the place of 422; POST and PUT answer with their
   * body without Accept too.
   */
  readonly hasErrorList?: boolean;
  /** What answers in place of an error; undefined for an error that stays one. */
  readonly answerToRefusal?: (error: PlatformError) => Answer | undefined;
  /** Reads the certificate that a proxy has checked from `request.certificateHeaders`. */
  readonly takesCertificate?: boolean;
}

/** A route with what was compiled of it. */
export interface CheckedRoute {
  readonly route: RouteRules;
  readonly checkQuery: QueryCheck | undefined;
  /** Nulls of optional members are dropped of a POST only: a PUT removes by null. */
  readonly validator: BodyValidator | undefined;
}

/** The values of a path's segments in braces, by name. */
export type PathParameters = Readonly<Record<string, string>>;
