/**
 * Brings operations to the devices: rows on `s/ds`, `s/dc/<xid>`, `s/dd`, `s/ol/<xid>` and `s/ol`, JSON on
 * `devicecontrol/notifications` (docs/spec/mqtt.md#operations). A device that is not connected gets what is still
 * PENDING when it comes back, but for what it has acknowledged in a session that is kept: a device that restarts before
 * it says EXECUTING must not get its restart again. Its messages have marks for that, which are stored with the
 * session.
 *
 * The operations are stored, so none is pushed into a queue without room: each connection has a `ForwardingState`, of
 * which one loop at a time takes what is next, and goes on when the session has room again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { LiveBus, Notification } from '../../ports/live-bus.ts';
import type { Log } from '../../ports/log.ts';
import { PlatformError } from '../../model/errors.ts';
import { joinMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { deliveredOperation, openOperationKey, openOperationStatus } from '../../model/entities/operation.ts';
import { SERIAL_TYPE } from '../../model/access/serial-claim.ts';
import { softwareListInPlace, withSoftwareList } from '../../model/entities/software-in-place.ts';
import { SOFTWARE_TYPES } from '../../model/entities/software.ts';
import { operationRows, type OperationTarget } from '../../smartrest/rows/operation-rows.ts';
import { RECEIVE, RECEIVES_ROWS_OF_COLLECTIONS } from '../../smartrest/topics.ts';
import { topicMark, type OperationRows } from './collection-rows.ts';
import type { Device } from './device.ts';
import type { DeviceHooks } from './hooks.ts';
import { ForwardingState, markOf, notificationText, operationOf } from './forwarding-state.ts';
import type { PendingOperation, PendingWalk } from './forwarding-state.ts';

/** Objects looked at on the way up from a device. */
const ANCESTORS_MAX = 1_000;
/** Parents of one kind that an object is looked for in. */
const PARENTS_MAX = 2_000;
/** Objects below a gateway whose operations it gets. */
const HIERARCHY_MAX = 100_000;
/** Objects whose operations are looked for in one turn of the event loop. */
const OBJECTS_A_TURN = 100;
/** Links and open operations that are read at once. */
const PAGE = 500;
/** Operations of a service (a child addition) are its device's, as those of child devices without a connection. */
const DEVICE_LINKS = ['childDevices', 'childAdditions'] as const;
/** External IDs of an object by which it may be connected. */
const SERIALS_MAX = 100;
/** Objects whose connections are looked up at once. */
const LOOKUPS_AT_ONCE = 100;
/** Until a connection whose operations could not be read goes on. */
const RETRY_MS = 5_000;
/** Operations that wait for that; more wait for the next subscription of their device. */
const ROUTES_WAITING_MAX = 1_000;
const NO_LINKS: readonly Device[] = [];

/** One that was created, changed or deleted. */
interface RoutedOperation {
  readonly id: string;
  readonly isPending: boolean;
  /** Of one that is not stored. */
  readonly text?: string;
}

/** The other nodes of a cluster, where a device may be connected. */
export interface ReceiversElsewhere {
  /**
   * @param devices managed objects with their serials. @returns those that receive their operations through another
   * node now.
   */
  receivedElsewhere(
    tenantNumber: number,
    devices: ReadonlyMap<number, readonly string[]>,
  ): Promise<ReadonlySet<number>>;
}

export class OperationDelivery {
  readonly #documents: DocumentReader;
  readonly #bus: LiveBus;
  readonly #log: Log;
  readonly #refusals: Refusals;
  readonly #rows: readonly OperationRows[];
  readonly #elsewhere: ReceiversElsewhere | undefined;
  readonly #retryMs: number;
  readonly #hooks: DeviceHooks;
  #waitingCount = 0;
  /** False once the store has answered by a promise. */
  #answersAtOnce = true;
  /**
   * managed object -> the connected devices that it is: several when several serials are bound to it. The last one
   * comes last.
   */
  readonly #links = new Map<number, readonly Device[]>();
  readonly #tenants = new Set<number>();
  readonly #states = new WeakMap<Device, ForwardingState>();

  /**
   * @param options.elsewhere in a cluster. @param options.retryMs until what a store that was away has broken off goes
   * on.
   */
  constructor(options: {
    documents: DocumentReader;
    bus: LiveBus;
    log: Log;
    refusals: Refusals;
    /** Of collections, of SmartREST 1.0 and 2.0. */
    rows: readonly OperationRows[];
    elsewhere?: ReceiversElsewhere | undefined;
    retryMs?: number;
    hooks?: DeviceHooks;
  }) {
    this.#hooks = options.hooks ?? {};
    this.#retryMs = options.retryMs ?? RETRY_MS;
    this.#documents = options.documents;
    this.#bus = options.bus;
    this.#log = options.log;
    this.#refusals = options.refusals;
    this.#rows = options.rows;
    this.#elsewhere = options.elsewhere;
  }

  register(link: Device): void {
    this.#links.set(link.source, [...this.linksOf(link.source).filter((other) => other !== link), link]);
    if (this.#tenants.has(link.tenantNumber)) return;
    this.#tenants.add(link.tenantNumber);
    this.#bus.subscribe(link.tenantNumber, 'operations', (notification) => this.#changed(notification));
  }

  unregister(link: Device): void {
    const others = this.linksOf(link.source).filter((other) => other !== link);
    if (others.length > 0) this.#links.set(link.source, others);
    else this.#links.delete(link.source);
  }

  /** Of all connected devices. */
  get links(): Iterable<readonly Device[]> {
    return this.#links.values();
  }

  /** The connected devices that a managed object is; later changes do not show in the list. */
  linksOf(source: number): readonly Device[] {
    return this.#links.get(source) ?? NO_LINKS;
  }

  /**
   * Sends what is still PENDING for the device and all below it. @param options.again also what this connection got
   * before (500).
   * @returns when all has been sent, or the session's queue has no room: the rest follows when it has.
   */
  deliverPending(link: Device, options: { again?: boolean } = {}): Promise<void> {
    this.#stateOf(link).wantAll(options.again === true);
    return this.#forward(link);
  }

  #stateOf(link: Device): ForwardingState {
    let state = this.#states.get(link);
    if (state === undefined) this.#states.set(link, (state = new ForwardingState()));
    return state;
  }

  /** @returns when what is being sent to the connection has been. */
  deliveryOf(link: Device): Promise<void> {
    return this.#stateOf(link).running;
  }

  /** One loop for each connection at a time. */
  #forward(link: Device): Promise<void> {
    const state = this.#stateOf(link);
    if (!state.isRunning) {
      state.isRunning = true;
      state.running = this.#forwardDue(link, state).catch((error: Error) => {
        this.#failed(error, String(link.source));
        state.later(this.#retryMs, () => {
          void this.#forward(link);
        });
      });
    }
    return state.running;
  }

  async #forwardDue(link: Device, state: ForwardingState): Promise<void> {
    try {
      while (state.isDue && this.linksOf(link.source).includes(link)) {
        if (!this.#hasRoom(link, state)) return;
        const live = state.nextLive();
        if (live !== undefined) {
          await this.#deliverOne(link, live, { again: false, isOld: live.isOld });
          continue;
        }
        if (state.walk === undefined && this.#hasNothing(link)) {
          state.walked();
          continue;
        }
        const walk = (state.walk ??= this.#walkOf(link, state));
        const next = await walk.operations.next();
        // Begun anew meanwhile.
        if (state.walk !== walk) continue;
        if (next.done !== true) {
          for (const mark of walk.unseen) if (operationOf(mark) === next.value.id) walk.unseen.delete(mark);
          await this.#deliverOne(link, next.value, { again: state.isAgain, isOld: walk.hasWaited });
          continue;
        }
        state.walked();
        await this.#forgetOver(link, walk.unseen);
      }
    } catch (error) {
      // From the beginning, after a while, or with the next operation or subscription.
      state.wantAll(false);
      throw error;
    } finally {
      state.isRunning = false;
    }
  }

  /** Whether a walk would find nothing, as for most devices; false while that is not known at once. */
  #hasNothing(link: Device): boolean {
    if (!this.#answersAtOnce || (link.connection.session?.acknowledgedMarks.size ?? 0) > 0) return false;
    return (
      this.#isEmpty('openOperation', link, `${link.source}\n`) &&
      DEVICE_LINKS.every((kind) => this.#isEmpty('children', link, `${link.source}\n${kind}\n`))
    );
  }

  #isEmpty(collection: 'children' | 'openOperation', link: Device, prefix: string): boolean {
    const rows = this.#documents.list(collection, link.tenantNumber, prefix, { limit: 1 });
    if (!(rows instanceof Promise)) return rows.length === 0;
    this.#answersAtOnce = false;
    rows.catch(() => undefined); // The walk reads it again, and tells of a failure.
    return false;
  }

  #walkOf(link: Device, state: ForwardingState): PendingWalk {
    return {
      operations: this.#pendingBelow(link, state),
      hasWaited: false,
      unseen: new Set(link.connection.session?.acknowledgedMarks),
    };
  }

  /** @returns false when the loop is to end: it is begun again when there is room. */
  #hasRoom(link: Device, state: ForwardingState): boolean {
    const { session } = link.connection;
    const isFull = state.isFull;
    if (!isFull && session?.hasRoom !== false) return true;
    state.waits();
    // Else an operation that ends makes room.
    if (!isFull)
      session?.whenRoom(() => {
        void this.#forward(link);
      });
    else if (state.tellFull()) {
      this.#limitHit(
        'operations/forwarded',
        link,
        `a device has ${ForwardingState.FORWARDED_MAX} operations that it has not begun, and gets no more`,
      );
    }
    return false;
  }

  #limitHit(limit: string, link: Device, reason: string): void {
    this.#refusals.count(limit, link.replies.refused(reason));
    this.#log.warn({ device: link.source, limit }, reason);
  }

  /** Marks of operations that have ended while the session was elsewhere. */
  async #forgetOver(link: Device, unseen: ReadonlySet<string>): Promise<void> {
    for (const mark of unseen) {
      const text = await this.#documents.get('operation', link.tenantNumber, operationOf(mark));
      if (text === undefined || stringMember(splitMembers(text), 'status') !== 'PENDING')
        link.connection.session?.forgetMark(mark);
    }
  }

  /**
   * What is PENDING for the device of the connection, the oldest first, then for each below it, but for those that
   * receive their operations themselves.
   */
  async *#pendingBelow(link: Device, state: ForwardingState): AsyncGenerator<PendingOperation, undefined> {
    const tenant = link.tenantNumber;
    const devices = new Set([String(link.source)]);
    let count = 0;
    for (const device of devices) {
      if (++count % OBJECTS_A_TURN === 0) await nextTurn();
      for await (const { id: entry, value } of this.#entries('openOperation', tenant, `${device}\n`)) {
        const id = String(Number(entry.slice(device.length + 1)));
        if (openOperationStatus(value) === 'PENDING' && (link.operationTopics & ~state.sentOn(id)) !== 0)
          yield { device, id, entry: value };
      }
      for (const kind of DEVICE_LINKS) {
        for await (const children of this.#pages('children', tenant, `${device}\n${kind}\n`))
          await this.#addBelow(link, devices, children);
      }
    }
    return undefined;
  }

  async #addBelow(link: Device, devices: Set<string>, links: readonly { id: string }[]): Promise<void> {
    const children = links
      .map(({ id }) => id.slice(id.lastIndexOf('\n') + 1))
      .filter((child) => !devices.has(child) && this.#receivingLink(Number(child), link.tenantNumber) === undefined);
    const elsewhere = await this.#receivedElsewhere(link.tenantNumber, children);
    for (const child of children) {
      if (elsewhere.has(Number(child))) continue;
      if (devices.size >= HIERARCHY_MAX) {
        this.#limitHit(
          'operations/hierarchy',
          link,
          `a gateway has more than ${HIERARCHY_MAX} objects below it, and gets no operations of the others`,
        );
        return;
      }
      devices.add(child);
    }
  }

  async *#pages(
    collection: 'children' | 'openOperation',
    tenant: number,
    prefix: string,
  ): AsyncGenerator<{ id: string; value: string }[]> {
    let page = await this.#documents.list(collection, tenant, prefix, { limit: PAGE });
    while (page.length > 0) {
      yield page;
      if (page.length < PAGE) return;
      await nextTurn();
      page = await this.#documents.list(collection, tenant, prefix, { limit: PAGE, after: page.at(-1)!.id });
    }
  }

  async *#entries(
    collection: 'openOperation',
    tenant: number,
    prefix: string,
  ): AsyncGenerator<{ id: string; value: string }> {
    for await (const page of this.#pages(collection, tenant, prefix)) yield* page;
  }

  /** Those of the objects that another node of the cluster brings their operations. */
  async #receivedElsewhere(tenant: number, ids: readonly string[]): Promise<ReadonlySet<number>> {
    const received = new Set<number>();
    for (let start = 0; this.#elsewhere !== undefined && start < ids.length; start += LOOKUPS_AT_ONCE) {
      const serials = await Promise.all(
        ids.slice(start, start + LOOKUPS_AT_ONCE).map(async (id) => {
          const prefix = `${id}\n${SERIAL_TYPE}\n`;
          const entries = await this.#documents.list('externalIdsOf', tenant, prefix, { limit: SERIALS_MAX });
          return [Number(id), entries.map((entry) => entry.id.slice(prefix.length))] as const;
        }),
      );
      for (const source of await this.#elsewhere.receivedElsewhere(tenant, new Map(serials))) received.add(source);
    }
    return received;
  }

  /** Devices above an object. */
  async #parents(tenant: number, id: string): Promise<{ id: string }[]> {
    const lists = await Promise.all(
      DEVICE_LINKS.map((kind) => this.#documents.list('parents', tenant, `${id}\n${kind}\n`, { limit: PARENTS_MAX })),
    );
    return lists.flat();
  }

  /**
   * The connection that gets the operations of a managed object: of several the last one, so that a device does not run
   * one twice.
   */
  #receivingLink(source: number, tenant: number): Device | undefined {
    return this.linksOf(source).findLast((link) => link.tenantNumber === tenant && link.operationTopics !== 0);
  }

  #changed(notification: Notification): void {
    if (this.#links.size === 0) return;
    const text = notification.text();
    const members = notification.action === 'DELETE' ? new Map([['id', text]]) : splitMembers(text);
    const isPending = stringMember(members, 'status') === 'PENDING';
    const operation = {
      id: stringMember(members, 'id') ?? '',
      isPending,
      ...(notification.isUnstored === true ? { text } : {}),
    };
    this.#routeNow(notification.tenant, notification.source, operation);
  }

  /** When it cannot be found out for whom the operation is, it is tried again: the device may not ask for it. */
  #routeNow(tenant: number, device: string, operation: RoutedOperation, isAgain = false): void {
    this.#route(tenant, device, operation).catch((error: Error) => {
      if (!isAgain) this.#failed(error, device, operation.id);
      if (operation.text !== undefined || this.#waitingCount >= ROUTES_WAITING_MAX) return;
      this.#waitingCount++;
      setTimeout(() => {
        this.#waitingCount--;
        this.#routeNow(tenant, device, operation, true);
      }, this.#retryMs).unref();
    });
  }

  /** The operation stays PENDING: the device gets it when it subscribes again or asks for it (500). */
  #failed(error: Error, device: string, operation?: string): void {
    this.#log.warn({ err: error, device, operation }, 'an operation could not be delivered to its device');
  }

  /** To the device itself when it receives operations, else to the nearest ancestor that does (its gateway). */
  async #route(tenant: number, device: string, { id, isPending, text }: RoutedOperation): Promise<void> {
    const link = await this.#receiverOf(tenant, device, isPending);
    if (link === undefined) return;
    const state = this.#stateOf(link);
    if (isPending) {
      if (!state.addLive({ device, id, text }))
        this.#refusals.count('operations/unstored', link.replies.refused('too many operations wait for room'));
    } else {
      // Delivered again when it is set to PENDING again.
      state.forget(id);
      const { session } = link.connection;
      for (const mark of session?.acknowledgedMarks ?? []) if (operationOf(mark) === id) session?.forgetMark(mark);
    }
    await this.#forward(link);
  }

  /** @param isAlone no nearer receiver is connected to another node. */
  async #receiverOf(tenant: number, device: string, isAlone: boolean): Promise<Device | undefined> {
    const open = [device];
    const seen = new Set(open);
    const nearer: string[] = [];
    for (let next = open.shift(); next !== undefined && seen.size < ANCESTORS_MAX; next = open.shift()) {
      const link = this.#receivingLink(Number(next), tenant);
      if (link !== undefined)
        return isAlone && (await this.#receivedElsewhere(tenant, nearer)).size > 0 ? undefined : link;
      nearer.push(next);
      for (const { id } of await this.#parents(tenant, next)) {
        const parent = id.slice(id.lastIndexOf('\n') + 1);
        if (!seen.has(parent)) {
          seen.add(parent);
          open.push(parent);
        }
      }
    }
    return undefined;
  }

  /**
   * One that cannot be made a message does not hold up the others. @throws PlatformError when the documents are away.
   */
  async #deliverOne(link: Device, found: PendingOperation, about: { again: boolean; isOld: boolean }): Promise<void> {
    try {
      await this.#deliver(link, found, about);
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      this.#failed(error as Error, found.device, found.id);
    }
  }

  /**
   * @param about.again also what the session has or the device has acknowledged. @param about.isOld it may have changed
   * since it was found.
   */
  async #deliver(link: Device, found: PendingOperation, about: { again: boolean; isOld: boolean }): Promise<void> {
    const { device, id } = found;
    const state = this.#stateOf(link);
    if ((link.operationTopics & ~state.sentOn(id)) === 0) return;
    // What has come to receive its operations itself got this one when it did.
    if (about.isOld && (await this.#receiverOf(link.tenantNumber, device, true)) !== link) return;
    const text = found.text ?? (await this.#documents.get('operation', link.tenantNumber, id));
    const members = text === undefined ? undefined : splitMembers(text);
    if (members === undefined || stringMember(members, 'status') !== 'PENDING') return;
    const sent = state.sentOn(id);
    const due = link.operationTopics & ~sent;
    if (due === 0) return;
    state.setSent(id, sent | due);
    try {
      await this.#send(link, members, {
        device,
        id,
        due,
        again: about.again,
        entry: about.isOld ? undefined : found.entry,
        text: found.text,
      });
    } catch (error) {
      // The next change of it, or subscription, sends it.
      state.takeBack(id, due);
      throw error;
    }
  }

  /**
   * @param about.due topics, bits of RECEIVE. @param about.entry its entry among the open ones, if it was just read.
   */
  async #send(link: Device, stored: Members, about: PendingOperation & { due: number; again: boolean }): Promise<void> {
    const { device, id, due, again } = about;
    const { session, isPersistent } = link.connection;
    const list = await softwareListInPlace(this.#documents, link.tenantNumber, stored);
    const members = list === undefined ? stored : withSoftwareList(stored, list);
    const entry = !isPersistent
      ? undefined
      : (about.entry ?? (await this.#documents.get('openOperation', link.tenantNumber, openOperationKey(device, id))));
    const serial = await this.#serialOf(link, device);
    const rows = (due & RECEIVE.STATIC) === 0 ? [] : operationRows(members, await this.#targetOf(link, device, serial));
    const shown = (due & ~RECEIVE.STATIC) === 0 ? members : await this.#shown(link.tenantNumber, members, about);
    const state = this.#stateOf(link);
    const send: SendOperation = (bit, topic, payload, place = String(bit)) => {
      const mark = entry === undefined ? undefined : markOf(id, place, entry);
      if (mark !== undefined && !again && session?.hasMark(mark) === true) return;
      // Not at once again: what the queue has no room for now would be dropped for ever.
      const onDropped = (): void => {
        state.takeBackTopic(id, topic);
        state.takeBack(id, bit);
      };
      link.replies.sendRow(topic, payload, 2, { mark, onDropped });
    };
    if ((due & RECEIVE.STATIC) !== 0 && rows.length > 0) send(RECEIVE.STATIC, 's/ds', rows.join('\n'));
    if ((due & RECEIVES_ROWS_OF_COLLECTIONS) !== 0) await this.#sendRows(link, shown, about, serial, send);
    if ((due & RECEIVE.JSON_OPERATIONS) !== 0) {
      send(
        RECEIVE.JSON_OPERATIONS,
        'devicecontrol/notifications',
        notificationText(shown, String(link.source), serial),
      );
    }
  }

  /** The operation as REST answers it; as it is when it was not stored. */
  async #shown(tenant: number, members: Members, { id, text }: PendingOperation): Promise<Members> {
    const { views } = this.#hooks;
    if (views === undefined || text !== undefined) return members;
    return splitMembers(await views.operation(tenant, id, joinMembers(members)));
  }

  /** What the rows of an operation take from the device. */
  async #targetOf(link: Device, device: string, serial: string): Promise<OperationTarget> {
    const text = await this.#documents.get('managedObject', link.tenantNumber, device);
    return { serial, hasSoftwareTypes: text !== undefined && splitMembers(text).has(SOFTWARE_TYPES) };
  }

  /** Rows of collections: each has its topic, which several subscriptions may receive. */
  async #sendRows(
    link: Device,
    members: Members,
    { id, due }: { readonly id: string; readonly due: number },
    serial: string,
    send: SendOperation,
  ): Promise<void> {
    const state = this.#stateOf(link);
    let operation: string | undefined;
    let withTopic = 0;
    for (const kind of this.#rows) {
      const topics = await kind.topicsOf(link, due);
      let isTold = topics.length === 0;
      for (const { xid, topic, bit } of topics) {
        withTopic |= bit;
        if (!state.beginTopic(id, topic)) {
          isTold = true;
          continue;
        }
        // Other devices go on between two collections.
        if (operation !== undefined) await nextTurn();
        operation ??= joinMembers(deliveredOperation(new Map(members), String(link.source)));
        try {
          const made = await kind.rowsOf(link.tenantNumber, xid, operation, serial);
          if (made === undefined) {
            state.takeBackTopic(id, topic);
            state.takeBack(id, bit);
            continue;
          }
          isTold = true;
          if (made.fault !== undefined) link.replies.sendError(made.fault, made.fault.messageId);
          if (made.rows.length > 0) send(bit, topic, made.rows.join('\n'), topicMark(topic));
        } catch (error) {
          state.takeBackTopic(id, topic);
          throw error;
        }
      }
      if (!isTold) kind.noneSent?.(link);
    }
    // Nothing was sent for subscriptions that have no collection now.
    state.takeBack(id, due & RECEIVES_ROWS_OF_COLLECTIONS & ~withTopic);
  }

  /**
   * There may be more to send on these topics. @param receives bits of RECEIVE of a subscription that was not there
   * before.
   */
  topicsAdded(link: Device, receives: number): void {
    this.#states.get(link)?.takeBackAll(receives & RECEIVES_ROWS_OF_COLLECTIONS);
  }

  /** The device has made a collection: what is PENDING may have rows of it. */
  collectionCreated(link: Device): void {
    if (link.operationTopics === 0) return;
    this.topicsAdded(link, RECEIVES_ROWS_OF_COLLECTIONS);
    void this.deliverPending(link);
  }

  /** The one that a device calls itself, of several; of another object the first, '' for none. */
  async #serialOf(link: Device, device: string): Promise<string> {
    if (device === String(link.source)) return link.serial;
    const prefix = `${device}\n${SERIAL_TYPE}\n`;
    const [external] = await this.#documents.list('externalIdsOf', link.tenantNumber, prefix, { limit: 1 });
    return external?.id.slice(prefix.length) ?? '';
  }
}

/** @param place the topic in the mark of the message. */
type SendOperation = (bit: number, topic: string, payload: string, place?: string) => void;
