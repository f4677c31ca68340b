/**
 * The tunnels of this node (docs/spec/remote-access.md#tunnels): a client asks for one, its device is told by an
 * operation with a key, and the device's connection with that key is joined with the client's. Keys are used once.
 */
import { randomBytes } from 'node:crypto';
import type { ConnectedUsers, Principal } from '../model/access/principal.ts';
import { addUser, dependsOn } from '../model/access/principal.ts';
import type { AuditEntry } from '../model/commands/records.ts';
import { splitMembers } from '../model/documents/json-document.ts';
import { PlatformError, refusedBy } from '../model/errors.ts';
import { Shares } from '../pacing/shares.ts';
import type { LiveBus } from '../ports/live-bus.ts';
import type { Log } from '../ports/log.ts';
import type { Refusals } from '../ports/refusals.ts';
import { writeAudit } from '../records/records.ts';
import type { JoinRequest, LocalTunnels, TunnelsElsewhere, WaitingClient } from './elsewhere.ts';
import { BYTES_LIMIT, CLOSE, DEVICE_LIMIT, IDLE_LIMIT, KEYS_LIMIT, TUNNELS_LIMIT, TUNNEL_LIMITS } from './limits.ts';
import type { TunnelLimits } from './limits.ts';
import {
  deviceOfUser,
  failOrder,
  failureOf,
  findDeadOrders,
  findFailure,
  findPostedOrder,
  findPostedOrderOf,
  mayServe,
  newOrderId,
  placeOrder,
} from './orders.ts';
import type { DeviceUser, OrderParts, PostedOrder, WantedOrder } from './orders.ts';
import { Tunnel } from './tunnel.ts';
import { UnknownKeys } from './unknown-keys.ts';

const KEY_BYTES = 24;
/** Keys of the server begin so: what its own operations say counts only while their clients wait. */
const KEY_START = 'mr-';
/** Posted keys that were used, for as long as they live; beyond it the oldest is forgotten. */
const USED_KEYS_MAX = 10_000;
/** Keys of posted operations: what is longer is not looked for. */
const KEY_LENGTH_MAX = 256;
const CHECKS_OF_IDLE_TIME = 10;
const CLIENT_LEFT = 'the client has left';

/** Where a client wants to go. */
export interface TunnelTarget {
  readonly device: string;
  readonly hostname: string;
  readonly port: number;
  /** For people. */
  readonly name: string;
  /** Of an operation that another has posted: no further one is created. */
  readonly connectionKey?: string;
}

export interface TunnelsOptions extends OrderParts {
  readonly bus: LiveBus;
  readonly refusals: Refusals;
  readonly log: Log;
  readonly isOnlyTenant?: () => boolean;
  readonly limits?: Partial<TunnelLimits>;
  readonly elsewhere?: TunnelsElsewhere | undefined;
  /** For a counter: bytes that a tunnel has handed on when it ended. */
  readonly onMoved?: (to: 'client' | 'device', bytes: number) => void;
}

/** A tunnel with its users. */
interface Entry {
  readonly tunnel: Tunnel;
  /** Who is connected to this node for it. */
  readonly principals: Set<Principal>;
  /** Ends the wait for the other side. */
  stopWaiting: () => void;
}

/** A client whose device has not come. */
interface Client extends Entry {
  readonly principal: Principal;
  /** Of a posted key where its operation leads to. */
  target: TunnelTarget;
  readonly connectionKey: string;
  readonly startedAt: number;
  /** Of the operation that was created for it. */
  operationId?: string;
}

/** A device with a posted key whose client has not come. */
interface Device extends Entry {
  readonly request: JoinRequest;
  /** Another node is being asked. */
  isAsking: boolean;
  mustAskAgain: boolean;
}

export class Tunnels implements LocalTunnels {
  readonly limits: TunnelLimits;
  readonly #options: TunnelsOptions;
  readonly #shares: Shares;
  readonly #bytes: Shares;
  readonly #entries = new Set<Entry>();
  /** By tenant and key. */
  readonly #clients = new Map<string, Client>();
  readonly #devices = new Map<string, Device>();
  /** Places of posted keys, and when they were used. */
  readonly #usedKeys = new Map<string, number>();
  /** What is being written of tunnels that began or ended. Bound: one or two of each. */
  readonly #behind = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  readonly #unknownKeys: UnknownKeys;

  constructor(options: TunnelsOptions) {
    this.#options = options;
    this.limits = { ...TUNNEL_LIMITS, ...options.limits };
    this.#unknownKeys = new UnknownKeys(this.limits.unknownKeys, this.limits.keyMs);
    this.#shares = new Shares(TUNNELS_LIMIT, this.limits.tunnels, options.isOnlyTenant);
    this.#bytes = new Shares(BYTES_LIMIT, this.limits.heldBytes, options.isOnlyTenant);
    options.elsewhere?.start(this);
  }

  /** Tunnels by what they wait for, and the bytes that wait in them. */
  get counts(): { readonly joined: number; readonly waiting: number; readonly heldBytes: number } {
    const waiting = this.#clients.size + this.#devices.size;
    return { joined: this.#entries.size - waiting, waiting, heldBytes: this.#bytes.used };
  }

  /**
   * Begins a tunnel for a client, which is to be attached to it, and tells the device.
   * @throws PlatformError 503 at a bound, or what refuses the operation.
   */
  async begin(principal: Principal, target: TunnelTarget): Promise<Tunnel> {
    const posted = target.connectionKey;
    if (posted !== undefined && (posted.startsWith(KEY_START) || this.#isUsed(placeOf(principal.tenantNumber, posted))))
      throw this.#unknownKey();
    const connectionKey = posted ?? this.#newKey();
    const place = placeOf(principal.tenantNumber, connectionKey);
    const device = this.#devices.get(place);
    if (device !== undefined && device.request.postedFor === target.device) {
      this.#devices.delete(place);
      return this.#joinDevice(device, principal, target);
    }
    if (this.#clients.has(place)) throw this.#unknownKey();
    const entry = this.#open(principal);
    const client: Client = {
      ...entry,
      principal,
      target,
      connectionKey,
      startedAt: performance.now(),
    };
    // It is there before the device is told, which may be quicker than the answer to this command.
    this.#replace(entry, client);
    this.#clients.set(place, client);
    entry.tunnel.expect('client');
    const late = setTimeout(() => this.#deviceIsLate(client), this.limits.keyMs).unref();
    const unsubscribe = this.#watchFailure(client);
    client.stopWaiting = () => {
      clearTimeout(late);
      unsubscribe();
      this.#clients.delete(place);
    };
    if (posted !== undefined) {
      this.#options.elsewhere?.clientWaits({ tenant: principal.tenantNumber, connectionKey });
      this.#writeBehind(this.#lookForFailure(client), { device: target.device });
      return entry.tunnel;
    }
    this.#writeBehind(this.#failDeadOrders(principal, target.device), { device: target.device });
    const { tunnel } = entry;
    try {
      const operationId = await newOrderId(this.#options, principal.tenantNumber, target.device);
      client.operationId = operationId;
      const { hostname, port } = target;
      const order = { device: target.device, operationId, hostname, port, connectionKey };
      await placeOrder(this.#options, principal, order);
    } catch (error) {
      // It may be there all the same: what closes the tunnel has it fail.
      if (tunnel.isOver) this.#failOrder(client, CLIENT_LEFT);
      else tunnel.close(CLOSE.failed, 'the creation of the operation was not confirmed');
      throw error;
    }
    // It has ended meanwhile, when the operation was not there yet.
    if (tunnel.isOver) this.#failOrder(client, CLIENT_LEFT);
    return tunnel;
  }

  /**
   * The tunnel of a device's connection, which is to be attached to it; the key is used with it.
   * @throws PlatformError 403 for another user than the device's, 404 for a key that is unknown or used, 503.
   */
  async serve(principal: Principal, connectionKey: string): Promise<Tunnel> {
    const request: JoinRequest = { user: userOf(principal), connectionKey };
    const place = placeOf(principal.tenantNumber, connectionKey);
    if (this.#clients.has(place)) {
      const tunnel = await this.join(request);
      this.#entryOf(tunnel)?.principals.add(principal);
      return tunnel;
    }
    const { elsewhere } = this.#options;
    // Neither a key of a node nor one that anybody would have posted.
    if (connectionKey.length > KEY_LENGTH_MAX || this.#devices.has(place)) throw this.#unknownKey();
    if (!connectionKey.startsWith(KEY_START)) return this.#servePosted(principal, request);
    const tunnel = elsewhere === undefined ? undefined : await this.#joinElsewhere(principal, request, elsewhere);
    if (tunnel === undefined) throw this.#unknownKey();
    return tunnel;
  }

  async join(request: JoinRequest): Promise<Tunnel> {
    const { user, connectionKey, postedFor } = request;
    let { postedTo } = request;
    const place = placeOf(user.tenantNumber, connectionKey);
    const client = this.#clients.get(place);
    if (client === undefined) throw this.#unknownKey();
    const { device } = client.target;
    const isHis = (postedFor === undefined || postedFor === device) && (await mayServe(this.#options, user, device));
    if (!isHis) throw new PlatformError('security/forbidden');
    // Another connection may have used it meanwhile.
    if (this.#clients.get(place) !== client || client.tunnel.isOver) throw this.#unknownKey();
    if (client.target.connectionKey !== undefined && postedFor === undefined) {
      const wanted = { connectionKey, ageMs: this.limits.keyMs };
      const order = await this.#postedOrderOf(user, device, wanted);
      if (order?.device !== device || this.#clients.get(place) !== client) throw this.#unknownKey();
      postedTo = order;
    }
    client.target = leadingTo(client.target, postedTo);
    client.stopWaiting();
    if (client.target.connectionKey !== undefined) this.#use({ tenant: user.tenantNumber, connectionKey });
    client.tunnel.expect('device');
    this.#audit(client.principal, client.target, 'Remote access began', `by device user ${user.userName}`);
    return client.tunnel;
  }

  clientWaits({ tenant, connectionKey }: WaitingClient): void {
    const device = this.#devices.get(placeOf(tenant, connectionKey));
    if (device === undefined) return;
    if (device.isAsking) device.mustAskAgain = true;
    else void this.#askElsewhere(device);
  }

  keyUsed({ tenant, connectionKey }: WaitingClient): void {
    const place = placeOf(tenant, connectionKey);
    this.#usedKeys.delete(place);
    if (this.#usedKeys.size >= USED_KEYS_MAX) this.#usedKeys.delete(this.#usedKeys.keys().next().value as string);
    this.#usedKeys.set(place, performance.now());
  }

  /** Ends what the users have on this node. */
  endUsers(tenant: number, userNames: ReadonlySet<string>): void {
    this.#endWhere(
      ({ tenantNumber, userName }) => tenantNumber === tenant && userNames.has(userName),
      'the rights have changed',
    );
  }

  /** Ends what was opened with a token: of one user, or of all of the tenant. */
  endTokenSessions(tenant: number, userName: string | undefined): void {
    this.#endWhere(
      (principal) =>
        principal.tenantNumber === tenant &&
        principal.session !== undefined &&
        (userName === undefined || principal.userName === userName),
      'the token was ended',
    );
  }

  endTenant(tenant: number): void {
    this.#endWhere((principal) => dependsOn(principal, tenant), 'the tenant was suspended or deleted');
  }

  addConnectedUsers(users: ConnectedUsers): void {
    for (const { principals } of this.#entries) for (const principal of principals) addUser(users, principal);
  }

  /** Ends all tunnels: the server is stopping. Resolves when what they are to leave is written. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { tunnel } of [...this.#entries]) tunnel.close(CLOSE.goingAway, 'the server is stopping');
    this.#options.elsewhere?.close();
    await Promise.all(this.#behind);
  }

  get #keySeconds(): number {
    return this.limits.keyMs / 1_000;
  }

  #unknownKey(): PlatformError {
    return new PlatformError('remote-access/key', { seconds: this.#keySeconds });
  }

  /** A posted key is used, on every node. */
  #use(client: WaitingClient): void {
    this.keyUsed(client);
    this.#options.elsewhere?.keyUsed(client);
  }

  #isUsed(place: string): boolean {
    const usedAt = this.#usedKeys.get(place);
    return usedAt !== undefined && performance.now() - usedAt < this.limits.keyMs;
  }

  #newKey(): string {
    return KEY_START + randomBytes(KEY_BYTES).toString('base64url') + (this.#options.elsewhere?.keyEnd ?? '');
  }

  /** @throws PlatformError 503 at a bound. */
  #open(principal: Principal): Entry {
    const { refusals } = this.#options;
    const { tenantNumber: tenant, userName } = principal;
    if (this.#isClosed) throw refusedBy('server/stopping');
    const limit = this.#shares.take(tenant, userName);
    if (limit !== undefined) {
      refusals.count(limit, { tenant: principal.tenant, user: userName });
      throw refusedBy(limit);
    }
    const tunnel: Tunnel = new Tunnel({
      tenant,
      userName,
      bytes: this.#bytes,
      limits: this.limits,
      onRefused: (refused) => refusals.count(refused, { tenant: principal.tenant, user: userName }),
      onEnded: (reason) => this.#ended(tunnel, reason),
    });
    const entry: Entry = { tunnel, principals: new Set([principal]), stopWaiting: () => undefined };
    this.#entries.add(entry);
    const everyMs = this.limits.idleMs / CHECKS_OF_IDLE_TIME;
    this.#timer ??= setInterval(() => this.#checkIdle(), everyMs).unref();
    return entry;
  }

  #replace(entry: Entry, next: Entry): void {
    this.#entries.delete(entry);
    this.#entries.add(next);
  }

  #entryOf(tunnel: Tunnel): Entry | undefined {
    for (const entry of this.#entries) if (entry.tunnel === tunnel) return entry;
    return undefined;
  }

  #ended(tunnel: Tunnel, reason: string): void {
    const entry = this.#entryOf(tunnel);
    if (entry === undefined) return;
    this.#entries.delete(entry);
    this.#shares.give(tunnel.tenant, tunnel.userName);
    const wasWaiting = isClient(entry) && this.#clients.get(placeOf(tunnel.tenant, entry.connectionKey)) === entry;
    entry.stopWaiting();
    for (const side of ['client', 'device'] as const) this.#options.onMoved?.(side, tunnel.sentBytes(side));
    if (this.#entries.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    if (!isClient(entry)) return;
    if (wasWaiting) this.#failOrder(entry, reason);
    else {
      const seconds = Math.round((performance.now() - entry.startedAt) / 1_000);
      const [to, from] = [tunnel.sentBytes('device'), tunnel.sentBytes('client')];
      this.#audit(
        entry.principal,
        entry.target,
        'Remote access ended',
        `after ${seconds} s, ${to} bytes to the device and ${from} from it: ${reason}`,
      );
    }
  }

  #failOrder({ principal, target: { device, connectionKey }, operationId }: Client, reason: string): void {
    const failed = async (): Promise<void> => {
      const id = operationId ?? (await this.#postedFor(principal, device, connectionKey));
      if (id !== undefined) await failOrder(this.#options, principal, { device, operationId: id, reason });
    };
    this.#writeBehind(failed(), { operationId, device });
  }

  async #failDeadOrders(principal: Principal, device: string): Promise<void> {
    const keys = { start: KEY_START, ageMs: 2 * this.limits.keyMs };
    const reason = 'no client waits with this key any more: its server was killed';
    for (const operationId of await findDeadOrders(this.#options, principal.tenantNumber, device, keys))
      await failOrder(this.#options, principal, { device, operationId, reason });
  }

  /** @returns the open operation of the device that was posted with the key. */
  async #postedFor(principal: Principal, device: string, key: string | undefined): Promise<string | undefined> {
    if (key === undefined) return undefined;
    // It was posted before the client came, which has waited for as long as a key lives.
    const wanted = { connectionKey: key, ageMs: 2 * this.limits.keyMs };
    const order = await this.#postedOrderOf(principal, device, wanted);
    return order?.device === device ? order.operationId : undefined;
  }

  #writeBehind(written: Promise<void>, details: object): void {
    const done = written
      .catch((error: Error) =>
        this.#options.log.warn({ err: error, ...details }, 'what has become of a tunnel could not be written'),
      )
      .finally(() => this.#behind.delete(done));
    this.#behind.add(done);
  }

  #deviceIsLate(client: Client): void {
    const reason = `the device has not connected within ${this.#keySeconds} s`;
    client.tunnel.refuse(CLOSE.tryAgain, DEVICE_LIMIT, reason);
  }

  /** The device says that it cannot: its client need not wait. */
  #watchFailure(client: Client): () => void {
    const { device } = client.target;
    return this.#options.bus.subscribe(client.principal.tenantNumber, 'operations', (notification) => {
      if (notification.source !== device || notification.action !== 'UPDATE') return;
      this.#failed(client, failureOf(splitMembers(notification.text()), client.connectionKey));
    });
  }

  /** The device may have said so before the client with a posted key has come. */
  async #lookForFailure(client: Client): Promise<void> {
    const { principal, target, connectionKey } = client;
    const wanted = { connectionKey, ageMs: this.limits.keyMs };
    const reason = await findFailure(this.#options, principal, target.device, wanted);
    if (this.#clients.get(placeOf(principal.tenantNumber, connectionKey)) === client) this.#failed(client, reason);
  }

  #failed({ tunnel }: Client, reason: string | undefined): void {
    if (reason !== undefined) tunnel.close(CLOSE.failed, `the device cannot connect: ${reason}`);
  }

  /** @returns undefined when no client with this key waits on another node. */
  async #joinElsewhere(
    principal: Principal,
    request: JoinRequest,
    elsewhere: TunnelsElsewhere,
  ): Promise<Tunnel | undefined> {
    const { tunnel } = this.#open(principal);
    let isJoined = false;
    try {
      isJoined = await elsewhere.join(request, tunnel);
    } finally {
      if (!isJoined) tunnel.close(CLOSE.normal, 'no client waits for it');
    }
    if (!isJoined) return undefined;
    tunnel.expect('device');
    return tunnel;
  }

  /** @throws PlatformError 403, 404. */
  async #servePosted(principal: Principal, { user, connectionKey }: JoinRequest): Promise<Tunnel> {
    const place = placeOf(principal.tenantNumber, connectionKey);
    if (this.#isUsed(place)) throw this.#unknownKey();
    const order = await this.#postedOrderFor(principal, { connectionKey, ageMs: this.limits.keyMs });
    if (order === undefined || this.#isUsed(place)) throw this.#unknownKey();
    if (!(await mayServe(this.#options, user, order.device))) throw new PlatformError('security/forbidden');
    const { hostname, port } = order;
    const request: JoinRequest = { user, connectionKey, postedFor: order.device, postedTo: { hostname, port } };
    if (this.#clients.has(place)) return this.join(request);
    if (this.#devices.has(place)) throw this.#unknownKey();
    const entry = this.#open(principal);
    const device: Device = { ...entry, request, isAsking: false, mustAskAgain: false };
    this.#replace(entry, device);
    this.#devices.set(place, device);
    device.tunnel.expect('device');
    const reason = `no client has connected within ${this.#keySeconds} s`;
    const late = setTimeout(() => device.tunnel.close(CLOSE.tryAgain, reason), this.limits.keyMs).unref();
    device.stopWaiting = () => {
      clearTimeout(late);
      this.#devices.delete(place);
    };
    if (this.#options.elsewhere !== undefined) void this.#askElsewhere(device);
    return device.tunnel;
  }

  /** For a device that is known: by the documents, and by the history when these do not have it. */
  async #postedOrderOf(user: DeviceUser, device: string, wanted: WantedOrder): Promise<PostedOrder | undefined> {
    return (
      (await findPostedOrderOf(this.#options, user.tenantNumber, device, wanted)) ??
      findPostedOrder(this.#options, user, wanted)
    );
  }

  /**
   * For a user who may serve several devices: the one that the user was registered with, and then all by the history.
   * Keys that were never posted are looked for a limited number of times. @throws PlatformError 503 at that bound.
   */
  async #postedOrderFor(principal: Principal, wanted: WantedOrder): Promise<PostedOrder | undefined> {
    const { tenant, tenantNumber, userName: user } = principal;
    const account = `${tenantNumber}/${user}`;
    if (!this.#unknownKeys.mayLook(account, performance.now())) {
      this.#options.refusals.count(KEYS_LIMIT, { tenant, user });
      throw refusedBy(KEYS_LIMIT);
    }
    // Noted before it is looked for: many at once count, too.
    this.#unknownKeys.note(account, performance.now());
    const own = await deviceOfUser(this.#options, principal);
    const found =
      (own === undefined ? undefined : await findPostedOrderOf(this.#options, tenantNumber, own, wanted)) ??
      (await findPostedOrder(this.#options, principal, wanted));
    if (found !== undefined) this.#unknownKeys.forgive(account);
    return found;
  }

  async #askElsewhere(device: Device): Promise<void> {
    const { elsewhere, log } = this.#options;
    device.isAsking = true;
    do {
      device.mustAskAgain = false;
      try {
        if (await elsewhere?.join(device.request, device.tunnel)) device.stopWaiting();
      } catch (error) {
        log.warn(
          { err: error, device: device.request.postedFor },
          'other nodes could not be asked for the client of a tunnel',
        );
      }
    } while (device.mustAskAgain && !device.tunnel.isOver);
    device.isAsking = false;
  }

  /** A device waits here with the client's key. */
  #joinDevice(device: Device, principal: Principal, wanted: TunnelTarget): Tunnel {
    const { tunnel, request } = device;
    const target = leadingTo(wanted, request.postedTo);
    device.stopWaiting();
    this.#use({ tenant: principal.tenantNumber, connectionKey: request.connectionKey });
    const client: Client = {
      tunnel,
      principals: new Set([...device.principals, principal]),
      principal,
      target,
      connectionKey: request.connectionKey,
      startedAt: performance.now(),
      stopWaiting: () => undefined,
    };
    this.#replace(device, client);
    tunnel.expect('client');
    this.#audit(principal, target, 'Remote access began', `by device user ${request.user.userName}`);
    return tunnel;
  }

  #endWhere(isMeant: (principal: Principal) => boolean, reason: string): void {
    for (const { tunnel, principals } of [...this.#entries])
      if ([...principals].some(isMeant)) tunnel.close(CLOSE.policy, reason);
  }

  #checkIdle(): void {
    const before = performance.now() - this.limits.idleMs;
    for (const { tunnel } of [...this.#entries]) {
      if (tunnel.movedAt > before) continue;
      tunnel.refuse(CLOSE.normal, IDLE_LIMIT, `not a byte within ${this.limits.idleMs / 1_000} s`);
    }
  }

  #audit(principal: Principal, { device, name, hostname, port }: TunnelTarget, activity: string, more: string): void {
    const entry: AuditEntry = {
      type: 'RemoteAccess',
      activity,
      user: principal.userName,
      source: device,
      text: `${activity}: ${name}, ${hostname}:${port}, ${more}`,
    };
    const written = writeAudit(this.#options, principal.tenantNumber, entry);
    this.#writeBehind(written, { user: entry.user, activity, device });
  }
}

const placeOf = (tenant: number, connectionKey: string): string => `${tenant}/${connectionKey}`;
/** Of a posted key: the address in its operation, which need not be that of the configuration. */
const leadingTo = (target: TunnelTarget, posted: JoinRequest['postedTo']): TunnelTarget =>
  posted === undefined ? target : { ...target, hostname: posted.hostname, port: posted.port };
const isClient = (entry: Entry): entry is Client => 'target' in entry;
const userOf = ({ tenant, tenantNumber, userName, ownRoles }: Principal): JoinRequest['user'] => ({
  tenant,
  tenantNumber,
  userName,
  ...(ownRoles === undefined ? {} : { ownRoles }),
});
