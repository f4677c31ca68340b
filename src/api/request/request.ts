/** One request as the resources see it: who asks for what, in which form, and the ways to answer. */
import type { Blobs } from '../../ports/blobs.ts';
import { PlatformError } from '../../model/errors.ts';
import { AUDITED_KINDS } from '../../model/commands/command.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { ActorKey, AskedBy } from '../../model/commands/command.ts';
import type { CommandKind } from '../../model/commands/kinds.ts';
import type { HistoryReader, QueryAsker } from '../../ports/history-reader.ts';
import { isDeviceUser } from '../../model/entities/device-request.ts';
import { joinMembers, parseDocument, requireFewMembers } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { isOwnedBy } from '../../model/access/inventory-access.ts';
import type { Principal } from '../../model/access/principal.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import { applicationOf } from './application-key.ts';
import { ANONYMOUS } from '../../model/access/principal.ts';
import { baseUrlOf, hostCalled, type CalledAs } from '../http/base-url.ts';
import type { BodyStream } from '../http/body-stream.ts';
import type { Accept, ContentType, MediaKind } from '../http/media-types.ts';
import type { Page } from '../../model/documents/page.ts';
import type { InnerRequester } from './inner-request.ts';
import type { Platform } from './platform.ts';
import { refusalsOf, type Refusals } from '../../ports/refusals.ts';
import type { RequestExchange } from './request-exchange.ts';
import type { QueryValues } from './schema/query-values.ts';
import type { Answer } from './answer.ts';
import type { PathParameters, RouteRules } from './route-rules.ts';

/** Gives the answers: answers.ts, and phases/inner-requests.ts to what the server asks of itself. */
export interface RequestOwner<Exchange extends RequestExchange = RequestExchange> {
  /** Asks the server itself; undefined for a request that it asks. */
  readonly inner: InnerRequester | undefined;
  /** Whether a row of SmartREST 1.0 asks. */
  readonly isOfRow: boolean;
  answer(request: ApiRequest<Exchange>, answer: Answer): void;
  stream(request: ApiRequest<Exchange>, status: number, headers: readonly string[]): void;
  sendContent(
    request: ApiRequest<Exchange>,
    status: number,
    headers: readonly string[],
    totalBytes: number,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<void>;
  fail(request: ApiRequest<Exchange>, error: unknown): void;
  /** @param headers names and values in turn. */
  refuse(request: ApiRequest<Exchange>, error: PlatformError, headers: readonly string[]): void;
}

/** What the head of a request says, whatever its route is. */
export interface HeadValues {
  readonly accept: Accept;
  readonly origin: string;
  readonly called: CalledAs;
  readonly applicationKey: string;
  /** Accept-Encoding of a GET or HEAD. */
  readonly acceptEncoding: string;
}

interface Identity {
  readonly principal: Principal;
  readonly ofCookie: Principal | undefined;
}
/** Below these paths errors are a list, of a request without a route too. */
const ERROR_LIST_PATHS = /^\/service\/(?:scoring|zementis)\//;
const UNKNOWN: Identity = { principal: ANONYMOUS, ofCookie: undefined };
const EMPTY_BODY = Buffer.alloc(0);
/** What counts as a message of the device that is its key. */
const OF_DEVICES: ReadonlySet<CommandKind> = new Set<CommandKind>([
  COMMAND.EVENT_CREATE,
  COMMAND.ALARM_CREATE,
  COMMAND.MANAGED_OBJECT_UPDATE,
]);
const AUDITED: ReadonlySet<CommandKind> = new Set(AUDITED_KINDS);
const utf8 = new TextDecoder('utf-8', { fatal: true });

export class ApiRequest<Exchange extends RequestExchange = RequestExchange> {
  readonly platform: Platform;
  readonly exchange: Exchange;
  readonly owner: RequestOwner<Exchange>;
  /** After HEAD became GET and the method override. */
  method: string;
  params: PathParameters = {};
  query!: QueryValues;
  accept: Accept;
  /** Not of a GET. */
  contentType!: ContentType;
  /** Instead of that of the query: of an export, which reads one after the other. */
  page: Page | undefined = undefined;
  /** What the answer is written as. */
  kind: MediaKind = 'vendor';
  mode: ProcessingMode = PROCESSING_MODE.PERSISTENT;
  /** Of routes whose body has the form `stream`. */
  bodyStream: BodyStream | undefined = undefined;
  /** Those that the route asked for. */
  headers: Readonly<Record<string, string>> = {};
  /** Each value of the header `config.deviceCertificateHeader`, of routes that take it. */
  certificateHeaders: readonly string[] = [];
  /** Header of requests that pages of browsers make; '' for others. */
  readonly origin: string;
  /** Names and values in turn of the rate limit that holds. */
  rateHeaders: readonly string[] = [];
  /** Names the application that sent it; '' for a device (docs/spec/conventions.md#application-key). */
  readonly applicationKey: string;
  /** Accept-Encoding of a GET or HEAD; '' for others. */
  readonly acceptEncoding: string;
  /** Objects below the device that asks: what lists show it beside what it owns (api/lists/owner.ts). */
  childrenOfDevice: readonly number[] = [];
  /** `X-Millrace-No-Flush: true`: the answer may miss what was acknowledged within the last moment, and costs less. */
  skipsFlush = false;
  readonly called: CalledAs;
  /** User of the credentials that were refused, as the client names it. */
  claimedUser: string | undefined = undefined;
  #route: RouteRules | undefined = undefined;
  #identity: Identity = UNKNOWN;
  #body: Buffer = EMPTY_BODY;
  private baseUrlText: string | undefined = undefined;
  private membersOfBody: Members | undefined = undefined;

  constructor(platform: Platform, exchange: Exchange, owner: RequestOwner<Exchange>, head: HeadValues) {
    this.platform = platform;
    this.exchange = exchange;
    this.owner = owner;
    this.method = exchange.method === 'HEAD' ? 'GET' : exchange.method;
    this.accept = head.accept;
    this.origin = head.origin;
    this.called = head.called;
    this.applicationKey = head.applicationKey;
    this.acceptEncoding = head.acceptEncoding;
  }

  /**
   * Counts a refusal and tells the log whose request it was.
   * @param reason in words, where the limit alone is not enough.
   */
  refused(limit: string, reason?: string): void {
    this.refusals.count(limit, reason === undefined ? {} : { reason });
  }

  /** Names this request's user and address, for what only knows of a reason. */
  get refusals(): Refusals {
    const { tenant, userName: user } = this.principal;
    const who = this.principal === ANONYMOUS ? { user: this.claimedUser } : { tenant, user };
    const { remoteAddress: address } = this.exchange;
    return refusalsOf(this.platform.refusals, { ...who, address });
  }

  /** @throws Error for a path or method that does not exist: such a request has no handler. */
  get route(): RouteRules {
    if (this.#route === undefined) throw new Error('the request has no route');
    return this.#route;
  }

  /** Once, before the handler. */
  takeRoute(route: RouteRules, params: PathParameters): void {
    this.#route = route;
    this.params = params;
  }

  /** ANONYMOUS without credentials that count. */
  get principal(): Principal {
    return this.#identity.principal;
  }

  /** The user of a cookie that a page of another site may have sent: only on `optional` routes. */
  get principalOfCookie(): Principal | undefined {
    return this.#identity.ofCookie;
  }

  /** Once, before the handler. */
  identify(principal: Principal): void {
    this.#identifyAs({ principal, ofCookie: undefined });
  }

  /** The same by a cookie that another page may have sent: the request itself stays ANONYMOUS. */
  identifyByCookie(ofCookie: Principal): void {
    this.#identifyAs({ principal: ANONYMOUS, ofCookie });
  }

  #identifyAs(identity: Identity): void {
    if (this.#identity !== UNKNOWN) throw new Error('a request is identified once');
    this.#identity = identity;
  }

  /** Empty after `dropBody`, and for a route without one or with `bodyStream`. */
  get body(): Buffer {
    return this.#body;
  }

  /** @param body whole; once, before the handler. */
  receive(body: Buffer): void {
    if (this.#body !== EMPTY_BODY) throw new Error('a request has one body');
    this.#body = body;
  }

  /** Of a request with an origin: its tenant is that of the host until the user is known. */
  get calledHost(): string {
    return this.origin === '' ? '' : hostCalled(this.called);
  }

  /** Whether a device may have sent it, which is available then. */
  get isDeviceTraffic(): boolean {
    return this.method !== 'GET' && this.applicationKey === '';
  }

  /** Whether the user is one of a device. */
  get isOfDevice(): boolean {
    const { ownRoles, userName } = this.principal;
    return ownRoles !== undefined || isDeviceUser(userName);
  }

  /** Whether it may change or end template collections: neither a device nor a row of SmartREST 1.0 does. */
  get mayEndCollections(): boolean {
    return !this.owner.isOfRow && !this.isOfDevice;
  }

  /** Whether the answer waits for something on purpose. */
  get isHeldBack(): boolean {
    return this.#route?.isHeldBack === true;
  }

  get tenant(): number {
    return this.principal.tenantNumber;
  }

  /** Queries run in the turns of the user, and end when the client leaves. */
  get history(): HistoryReader {
    return this.historyOf(
      this.skipsFlush ? (this.platform.historyAsIs ?? this.platform.history) : this.platform.history,
    );
  }

  /** Queries of the user of this request. */
  historyOf(history: HistoryReader): HistoryReader {
    const {
      principal: { tenantNumber, userName },
      exchange: { signal },
    } = this;
    const asker: QueryAsker = { tenant: tenantNumber, user: userName, signal };
    return {
      query: (statement) => history.query(statement, asker),
      stream: (statement, format) => history.stream(statement, format),
    };
  }

  /** Start of all links, without a slash at the end. */
  get baseUrl(): string {
    this.baseUrlText ??= baseUrlOf(this.platform.config.baseUrl, this.called);
    return this.baseUrlText;
  }

  /** Files that count for the principal and its tenant. */
  get blobs(): Blobs {
    const {
      platform: { blobs },
      tenant,
      principal: { userName: user },
    } = this;
    const owner = { tenant, user, isDevice: this.isOfDevice };
    return {
      put: (content, limitBytes) => blobs.put(content, limitBytes, owner),
      read: (key, range) => blobs.read(key, range),
      remove: (key) => blobs.remove(key),
      keys: () => blobs.keys(),
    };
  }

  /**
   * Whether an entity is to be in the answer: POST and PUT leave it out without Accept
   * (docs/spec/conventions.md#accept).
   */
  get wantsBody(): boolean {
    const isRead = this.method !== 'POST' && this.method !== 'PUT';
    return this.accept.isPresent || isRead || this.hasErrorList;
  }

  /** Whether its route tells errors as a list (`RouteRules.hasErrorList`). */
  get hasErrorList(): boolean {
    return this.#route === undefined ? ERROR_LIST_PATHS.test(this.exchange.path) : this.#route.hasErrorList === true;
  }

  /** `RouteRules.answerToRefusal` */
  answerToRefusal(error: PlatformError): Answer | undefined {
    return this.#route?.answerToRefusal?.(error);
  }

  /** Whether the principal has one of the route's roles: what `owner` routes ask before they look at the owner. */
  get isPrivileged(): boolean {
    return this.hasRole(...(this.route.roles ?? []));
  }

  hasRole(...roles: readonly string[]): boolean {
    return roles.some((role) => this.principal.roles.has(role));
  }

  /** Text of the body. @throws PlatformError `general/bad-json` when it is not UTF-8. */
  bodyText(): string {
    try {
      return utf8.decode(this.#body);
    } catch {
      throw new PlatformError('general/bad-json', { reason: 'it is not UTF-8' });
    }
  }

  /** The body in UTF-8, whatever charset its type names. @returns undefined for a charset that is not known. */
  get utf8Body(): Buffer | undefined {
    const { charset, isUtf8 } = this.contentType;
    if (isUtf8) return this.#body;
    try {
      return Buffer.from(new TextDecoder(charset).decode(this.#body));
    } catch {
      // A label that names no encoding.
      return undefined;
    }
  }

  /** Lets the body go before the answer: for answers that come much later. */
  dropBody(): void {
    this.#body = EMPTY_BODY;
    this.exchange.releaseBody();
  }

  /** The body's members. @throws PlatformError `general/bad-json`, `validation/not-an-object`, `validation/too-many-members`. */
  members(): Members {
    return this.membersOfBody ?? this.#parse().members;
  }

  #parse(): ReturnType<typeof parseDocument> {
    const parsed = parseDocument(this.bodyText());
    requireFewMembers(parsed.members);
    this.membersOfBody = parsed.members;
    return parsed;
  }

  /**
   * Before the handler: leaves out members of the body that are null. @returns the value of what stays. @throws
   * PlatformError as `members`.
   */
  leaveOutNulls(names: ReadonlySet<string>): unknown {
    const { members, value } = this.#parse();
    const dropped = [...members].filter(([name, text]) => text === 'null' && names.has(name));
    if (dropped.length === 0) return value;
    for (const [name] of dropped) {
      members.delete(name);
      delete value[name];
    }
    this.#body = Buffer.from(joinMembers(members));
    return value;
  }

  /**
   * Sends a command and waits for what its actor decides. @param commands `platform.freeing` for what gives space back.
   */
  async command<Result>(
    kind: CommandKind,
    key: ActorKey,
    body: object,
    commands = this.platform.commands,
  ): Promise<Result> {
    const {
      platform,
      tenant,
      mode,
      principal: { userName: user },
    } = this;
    const result = commands.request<Result>({
      kind,
      tenant,
      key,
      mode,
      receivedAt: platform.now(),
      body: this.#withAsker(kind, body),
      user,
    });
    if (typeof key !== 'number' || !OF_DEVICES.has(kind)) return result;
    // A refused command does not show that its device is there: the id may be that of another tenant's device.
    const answer = await result;
    // The command counts; a message that could not be noted is followed by others.
    await Promise.resolve(this.hear(key)).catch(() => undefined);
    return answer;
  }

  /**
   * Notes that the device is there: when its own user asks, one that devices log in with or who owns the object, and no
   * application does (docs/spec/availability.md#messages). @throws what the store says.
   */
  hear(device: number): void | Promise<void> {
    const { platform, tenant, principal } = this;
    if (!this.isDeviceTraffic) return;
    const at = platform.now();
    const note = (isItsUser: boolean): void => {
      if (isItsUser) platform.availability.heard(tenant, device, at);
    };
    if (isDeviceUser(principal.userName)) return note(true);
    const isOwners = (doc: string | undefined): boolean => doc !== undefined && isOwnedBy(principal, doc);
    const doc = platform.documents.get('managedObject', tenant, String(device));
    return doc instanceof Promise ? doc.then((text) => note(isOwners(text))) : note(isOwners(doc));
  }

  /** What administrators change is told to the audit log; what devices send is data. */
  #withAsker(kind: CommandKind, body: object): object {
    if (!AUDITED.has(kind) || isDeviceUser(this.principal.userName)) return body;
    return { ...body, askedBy: this.askedBy };
  }

  /** For the audit log. */
  get askedBy(): AskedBy {
    return { user: this.principal.userName, ...applicationOf(this) };
  }

  answer(answer: Answer): void {
    this.owner.answer(this, answer);
  }

  /** Answers with content of a known length. @param headers further names and values in turn. */
  sendContent(
    status: number,
    headers: readonly string[],
    totalBytes: number,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    return this.owner.sendContent(this, status, headers, totalBytes, pieces);
  }

  /**
   * Begins an answer in pieces; they follow through the exchange.
   * @param headers further names and values in turn.
   */
  stream(status: number, contentType: string, headers: readonly string[] = []): void {
    this.owner.stream(this, status, ['Content-Type', contentType, 'X-Content-Type-Options', 'nosniff', ...headers]);
  }

  fail(error: unknown): void {
    this.owner.fail(this, error);
  }

  /** @param headers of the answer, names and values in turn. */
  refuse(error: PlatformError, headers: readonly string[]): void {
    this.owner.refuse(this, error, headers);
  }
}
