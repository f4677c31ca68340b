/**
 * The Bayeux URLs on the HTTP server: long polling as POST, WebSocket on the same paths (docs/spec/realtime.md#urls).
 */
import Type from 'typebox';
import { PlatformError } from '../../model/errors.ts';
import { withoutGrants, type LoginCaller, type Principal } from '../../model/access/principal.ts';
import type { TrustedProxies } from '../../config/trusted-proxies.ts';
import type { EarlySocket, EarlySockets } from '../http/early-sockets.ts';
import { hostCalled } from '../http/base-url.ts';
import { FORWARDED_HEADERS, addressBehind, callerOf } from '../request/login-caller.ts';
import { JSON_TYPE, parseAccept } from '../http/media-types.ts';
import { ANSWERED } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import type { Upgrades } from '../request/upgrades.ts';
import { TEXT_TYPE, X_ID } from '../smartrest/one.ts';
import { parseExact } from '../../smartrest/custom/exact-numbers.ts';
import { LiveRows, isOfRows, type LiveMessage, type LivePort } from '../../smartrest/one/live-rows.ts';
import type { WebSocketChannel, WebSocketHandlers } from '../http/web-socket.ts';

/** What the URLs need of the Bayeux server; `Form` says how a URL delivers. */
export interface RealtimePort<Form> {
  readonly urls: Readonly<Record<string, Form>>;
  handle(
    text: string,
    requester: RealtimeRequester<Form>,
    responder: { send(text: string): void; sendBlank(): void; onAborted(callback: () => void): void },
  ): void;
  open(
    channel: { send(text: string): boolean; readonly bufferedBytes: number; end(reason: string): void },
    requester: RealtimeRequester<Form>,
  ): RealtimeSocket;
}

/** What the sockets need of the HTTP server. */
export interface SocketHost {
  readonly proxies: TrustedProxies;
  readonly early: EarlySockets;
  readonly upgrades: Pick<Upgrades, 'identify' | 'called'>;
  webSocket(path: string, handlers: WebSocketHandlers): void;
}

interface RealtimeSocket extends EarlySocket {
  message(text: string): void;
  drained(): void;
  closed(): void;
}

interface RealtimeRequester<Form> {
  principal: Principal | undefined;
  readonly urlForm: Form;
  readonly baseUrl: string;
  readonly host: string;
  readonly userAgent: string;
  readonly ofCookie: Principal | undefined;
  readonly caller: LoginCaller;
  readonly renew?: () => Promise<{ principal: Principal | undefined; ofCookie: Principal | undefined }>;
}

const PATH_SUFFIXES = ['', '/handshake', '/connect', '/disconnect', '/subscribe', '/unsubscribe'];
const NO_STORE = ['Cache-Control', 'no-store'];
const USER_AGENT = 'user-agent';
const CLOSE_NORMAL = 1000;
const CLOSE_POLICY = 1008;
const CLOSE_TRY_AGAIN = 1013;

const Message = Type.Object(
  { channel: Type.String(), id: Type.Optional(Type.String()), clientId: Type.Optional(Type.String()) },
  { additionalProperties: true },
);
const Messages = Type.Union([Type.Array(Message), Message]);

export function realtimeRoutes<Form>(realtime: RealtimePort<Form>): Route[] {
  // CometD's clients append the type of the message to the URL.
  const paths = Object.entries(realtime.urls).flatMap(([path, form]) =>
    PATH_SUFFIXES.map((suffix) => [path + suffix, form] as const),
  );
  return paths.map(
    ([path, form]): Route => ({
      method: 'POST',
      path,
      area: 'realtime',
      access: 'optional',
      produces: ['json', 'vendor', 'text'],
      isHeldBack: true,
      headers: [USER_AGENT, X_ID, ...FORWARDED_HEADERS],
      summary: 'Bayeux: handshake, subscribe, connect (long polling), unsubscribe, disconnect; as rows with X-Id',
      body: {
        form: 'bytes',
        takesCharsets: true,
        contents: {
          'application/json': {
            schema: Messages,
            example: [{ channel: '/meta/connect', clientId: '1a2b3c', connectionType: 'long-polling' }],
          },
          'text/plain': { schema: Type.String(), example: '81,1a2b3c,/4711' },
        },
      },
      answers: [
        {
          status: 200,
          description: 'Answers and deliveries as a JSON array; to rows, rows',
          contentTypes: ['application/json', 'text/plain'],
          json: Type.Array(Message),
          example: [{ channel: '/meta/connect', clientId: '1a2b3c', successful: true }],
        },
      ],
      handle(request) {
        const { exchange } = request;
        // The messages are the answer, not an entity: CometD's clients send no Accept.
        if (!request.accept.isPresent) request.accept = parseAccept('*/*');
        const body = textOfBody(request);
        const rows = isOfRows(body) ? rowsOf(request, body) : undefined;
        const found = request.principal.tenantNumber === 0 ? undefined : request.principal;
        // Inventory roles do not count for rows (docs/spec/smartrest-one.md#live-data).
        const principal = found === undefined || rows === undefined ? found : withoutGrants(found);
        const contentType = rows === undefined ? JSON_TYPE : TEXT_TYPE;
        let isStreaming = false;
        const stream = (text: string, isLast: boolean): void => {
          if (!isStreaming) {
            if (isLast) {
              request.answer({ status: 200, text, contentType, headers: NO_STORE });
              return;
            }
            isStreaming = true;
            request.stream(200, contentType);
          }
          if (isLast) exchange.endStream(text);
          else exchange.write(text);
        };
        // The answer may be held back for minutes.
        request.dropBody();
        const host = hostCalled(request.called);
        const userAgent = request.headers[USER_AGENT];
        let left: (() => void) | undefined;
        const caller: LoginCaller = {
          address: callerOf(request).address,
          onLeft: (callback) => {
            left = callback;
          },
        };
        exchange.onAborted(() => left?.());
        const send = (text: string): void => {
          if (rows === undefined) return stream(text, true);
          rows.answer(text).then(
            (answer) => stream(answer, true),
            (error: unknown) => {
              if (isStreaming) exchange.endStream();
              request.fail(error);
            },
          );
        };
        if (rows?.messages === '[]') {
          send('[]');
          return ANSWERED;
        }
        realtime.handle(
          rows?.messages ?? body,
          {
            principal,
            urlForm: form,
            baseUrl: request.baseUrl,
            host,
            userAgent,
            ofCookie: request.principalOfCookie,
            caller,
          },
          {
            send,
            sendBlank: () => stream(' ', false),
            onAborted: (callback) =>
              exchange.onAborted(() => {
                left?.();
                callback();
              }),
          },
        );
        return ANSWERED;
      },
    }),
  );
}

/** @throws PlatformError 415 for a charset that is not known; `general/bad-json`. */
function textOfBody(request: ApiRequest): string {
  const { utf8Body, contentType } = request;
  if (utf8Body === undefined)
    throw new PlatformError('general/unsupported-media-type', { type: `the charset ${contentType.charset}` });
  return contentType.isUtf8 ? request.bodyText() : utf8Body.toString();
}

/** Rows of SmartREST 1.0 as messages (docs/spec/smartrest-one.md#live-data). */
interface RowsAsMessages {
  /** A JSON array. */
  readonly messages: string;
  /** @param text of the answers, a JSON array. */
  answer(text: string): Promise<string>;
}

/** @throws PlatformError 401: rows have no place for credentials. */
function rowsOf({ principal, headers, platform }: ApiRequest, body: string): RowsAsMessages {
  const { tenant, tenantNumber, userName: user } = principal;
  if (tenantNumber === 0) throw new PlatformError('general/no-credentials');
  const rows = new LiveRows(body, headers[X_ID]);
  const port: LivePort = {
    find: (xid) => platform.rowCollections.find(tenantNumber, xid),
    refused: (limit) => platform.refusals.count(limit, { tenant, user }),
  };
  return {
    messages: JSON.stringify(rows.messages),
    answer: (text) => rows.rowsOf(parseExact(text) as LiveMessage[], port),
  };
}

/**
 * Registers the WebSockets; before `listen`. Credentials come with the upgrade or in `ext` of the handshake. A browser
 * cannot add the header that belongs to a cookie to an upgrade: what it proves comes in the handshake.
 */
export function registerRealtimeSockets<Form>(api: SocketHost, realtime: RealtimePort<Form>): void {
  for (const [path, form] of Object.entries(realtime.urls)) {
    const sockets = new Map<WebSocketChannel, RealtimeSocket>();
    const leaving = new Map<WebSocketChannel, () => void>();
    const callerOfChannel = (channel: WebSocketChannel): LoginCaller => ({
      address: addressBehind(channel.remoteAddress, (name) => channel.head.headers.get(name) ?? '', api.proxies),
      onLeft: (callback) => {
        leaving.set(channel, callback);
      },
    });
    const begin = (channel: WebSocketChannel, principal: Principal | undefined, ofCookie?: Principal): void => {
      if (!channel.isOpen) return;
      sockets.set(
        channel,
        realtime.open(
          {
            send: (text) => channel.send(text, false),
            get bufferedBytes() {
              return channel.bufferedBytes;
            },
            end: (reason) => channel.end(CLOSE_NORMAL, reason),
          },
          {
            principal,
            urlForm: form,
            ...api.upgrades.called(channel),
            userAgent: channel.head.headers.get(USER_AGENT) ?? '',
            ofCookie,
            caller: callerOfChannel(channel),
            renew: () => renew(channel),
          },
        ),
      );
    };
    const renew = async (
      channel: WebSocketChannel,
    ): Promise<{ principal: Principal | undefined; ofCookie: Principal | undefined }> => {
      const opener = api.upgrades.identify(channel, callerOfChannel(channel));
      const found = await opener?.principal;
      return opener?.isOfCookie === true
        ? { principal: undefined, ofCookie: found }
        : { principal: found, ofCookie: undefined };
    };
    const waiting = new Map<WebSocketChannel, string[]>();
    api.webSocket(path, {
      open(channel) {
        api.early.arrived(channel, {
          get hasSession() {
            return sockets.get(channel)?.hasSession === true;
          },
          get isBusy() {
            return waiting.has(channel) || sockets.get(channel)?.isBusy === true;
          },
        });
        const opener = api.upgrades.identify(channel, callerOfChannel(channel));
        const identified = (found: Principal | undefined): void => {
          if (found === undefined) channel.end(CLOSE_POLICY, new PlatformError('security/unauthorized').message);
          else if (opener?.isOfCookie === true) begin(channel, undefined, found);
          else begin(channel, found);
        };
        if (opener === undefined) {
          begin(channel, undefined);
        } else if (opener.principal instanceof Promise) {
          waiting.set(channel, []);
          opener.principal.then(
            (found) => {
              const messages = waiting.get(channel) ?? [];
              waiting.delete(channel);
              identified(found);
              for (const message of messages) sockets.get(channel)?.message(message);
            },
            (error: unknown) => {
              waiting.delete(channel);
              channel.end(
                CLOSE_TRY_AGAIN,
                error instanceof PlatformError ? error.message : 'the credentials could not be checked',
              );
            },
          );
        } else {
          identified(opener.principal);
        }
      },
      message(channel, data) {
        if (!api.early.takes(channel, data.length)) return;
        const text = data.toString('utf8');
        const queue = waiting.get(channel);
        if (queue === undefined) sockets.get(channel)?.message(text);
        else if (queue.length < MESSAGES_BEFORE_LOGIN_MAX) queue.push(text);
        else channel.end(CLOSE_POLICY, 'too many messages before the credentials are checked');
      },
      drain(channel) {
        sockets.get(channel)?.drained();
      },
      close(channel) {
        api.early.delete(channel);
        waiting.delete(channel);
        leaving.get(channel)?.();
        leaving.delete(channel);
        sockets.get(channel)?.closed();
        sockets.delete(channel);
      },
    });
  }
}

/** Messages of a WebSocket whose credentials are being checked. */
const MESSAGES_BEFORE_LOGIN_MAX = 16;
