/**
 * Brings operations to the devices: rows on `s/ds` and JSON on `devicecontrol/notifications` (document 4 section 7.6). A device that is not
 * connected gets what is still PENDING when it comes back, but for what it has acknowledged in a session that is kept: a device that restarts
 * before it says EXECUTING must not get its restart again. Its messages have marks for that, which are stored with the session.
 */
import type { DocumentReader, LiveBus, Notification } from '../model/command.ts';
import type { Log } from '../model/log.ts';
import { joinMembers, splitMembers, stringMember } from '../model/json-document.ts';
import type { Members } from '../model/json-document.ts';
import { deliveredOperation, openOperationKey, openOperationStatus } from '../model/operation.ts';
import { SERIAL_TYPE } from '../smartrest/effect-records.ts';
import { operationRows } from '../smartrest/operation-rows.ts';
import { RECEIVE } from '../smartrest/topics.ts';
import type { PlatformDeviceLink } from './device-link.ts';

/** Objects looked at on the way up from a device, or down from a gateway. */
const HIERARCHY_MAX = 1_000;
/** Pending operations that are delivered at one subscription. */
const PENDING_MAX = 2_000;
/** Operations of a service (a child addition) are its device's, as those of child devices without a connection. */
const DEVICE_LINKS = ['childDevices', 'childAdditions'] as const;
/** External IDs of an object by which it may be connected. */
const SERIALS_MAX = 100;
/** Objects whose connections are looked up at once. */
const LOOKUPS_AT_ONCE = 100;
const NO_LINKS: readonly PlatformDeviceLink[] = [];

/** The other nodes of a cluster, where a device may be connected. */
export interface ReceiversElsewhere {
  /** @param devices managed objects with their serials. @returns those that receive their operations through another node now. */
  receivedElsewhere(tenantNumber: number, devices: ReadonlyMap<number, readonly string[]>): Promise<ReadonlySet<number>>;
}

export class OperationDelivery {
  readonly #documents: DocumentReader;
  readonly #bus: LiveBus;
  readonly #log: Log;
  readonly #elsewhere: ReceiversElsewhere | undefined;
  /** managed object -> the connected devices that it is: several when several serials are bound to it. The last one comes last. */
  readonly #links = new Map<number, readonly PlatformDeviceLink[]>();
  readonly #tenants = new Set<number>();
  /** On which topics (bits of RECEIVE) a connection has been sent an operation that is PENDING: once on each, unless it asks again. */
  readonly #forwarded = new WeakMap<PlatformDeviceLink, Map<string, number>>();

  constructor(documents: DocumentReader, bus: LiveBus, log: Log, elsewhere?: ReceiversElsewhere) {
    this.#documents = documents;
    this.#bus = bus;
    this.#log = log;
    this.#elsewhere = elsewhere;
  }

  register(link: PlatformDeviceLink): void {
    this.#links.set(link.source, [...this.linksOf(link.source).filter((other) => other !== link), link]);
    if (this.#tenants.has(link.tenantNumber)) return;
    this.#tenants.add(link.tenantNumber);
    this.#bus.subscribe(link.tenantNumber, 'operations', (notification) => this.#changed(notification));
  }

  unregister(link: PlatformDeviceLink): void {
    const others = this.linksOf(link.source).filter((other) => other !== link);
    if (others.length > 0) this.#links.set(link.source, others);
    else this.#links.delete(link.source);
  }

  /** Of all connected devices. */
  get links(): Iterable<readonly PlatformDeviceLink[]> { return this.#links.values(); }

  /** The connected devices that a managed object is; later changes do not show in the list. */
  linksOf(source: number): readonly PlatformDeviceLink[] { return this.#links.get(source) ?? NO_LINKS; }

  /** Sends what is still PENDING for the device and its children. @param options.again also what this connection got before (500). */
  deliverPending(link: PlatformDeviceLink, options: { again?: boolean } = {}): Promise<void> {
    return this.#deliverPending(link, options.again === true).catch((error: Error) => this.#failed(error, String(link.source)));
  }

  async #deliverPending(link: PlatformDeviceLink, again: boolean): Promise<void> {
    if (again) this.#forwarded.delete(link);
    const tenant = link.tenantNumber;
    const pending = new Set<string>();
    for (const target of await this.#devicesBelow(link)) {
      // Ids of operations are given in order: the oldest comes first.
      for (const { id: entry, value } of await this.#documents.list('openOperation', tenant, `${target}\n`, { limit: PENDING_MAX })) {
        if (openOperationStatus(value) !== 'PENDING') continue;
        const id = String(Number(entry.slice(target.length + 1)));
        pending.add(id);
        const text = await this.#documents.get('operation', tenant, id);
        if (text !== undefined) await this.#deliver(link, target, text, { entry: value, again });
      }
    }
    await this.#forgetOver(link, pending);
  }

  /** Marks of operations that have ended while the session was elsewhere. */
  async #forgetOver(link: PlatformDeviceLink, pending: ReadonlySet<string>): Promise<void> {
    const { session } = link.connection;
    for (const mark of [...session?.acknowledgedMarks ?? []]) {
      const id = operationOf(mark);
      if (pending.has(id)) continue;
      const text = await this.#documents.get('operation', link.tenantNumber, id);
      if (text === undefined || stringMember(splitMembers(text), 'status') !== 'PENDING') session?.forgetMark(mark);
    }
  }

  /** The device of the connection and all below it, but for those that receive their operations themselves. */
  async #devicesBelow(link: PlatformDeviceLink): Promise<Iterable<string>> {
    const devices = new Set([String(link.source)]);
    for (const device of devices) {
      const children = (await this.#linked('children', link.tenantNumber, device)).map(({ id }) => id.slice(id.lastIndexOf('\n') + 1))
        .filter((child) => this.#receivingLink(Number(child), link.tenantNumber) === undefined).slice(0, HIERARCHY_MAX);
      const elsewhere = await this.#receivedElsewhere(link.tenantNumber, children);
      for (const child of children) if (devices.size < HIERARCHY_MAX && !elsewhere.has(Number(child))) devices.add(child);
    }
    return devices;
  }

  /** Those of the objects that another node of the cluster brings their operations. */
  async #receivedElsewhere(tenant: number, ids: readonly string[]): Promise<ReadonlySet<number>> {
    const received = new Set<number>();
    for (let start = 0; this.#elsewhere !== undefined && start < ids.length; start += LOOKUPS_AT_ONCE) {
      const serials = await Promise.all(ids.slice(start, start + LOOKUPS_AT_ONCE).map(async (id) => {
        const prefix = `${id}\n${SERIAL_TYPE}\n`;
        const entries = await this.#documents.list('externalIdsOf', tenant, prefix, { limit: SERIALS_MAX });
        return [Number(id), entries.map((entry) => entry.id.slice(prefix.length))] as const;
      }));
      for (const source of await this.#elsewhere.receivedElsewhere(tenant, new Map(serials))) received.add(source);
    }
    return received;
  }

  /** Devices and services below or above an object. */
  async #linked(collection: 'children' | 'parents', tenant: number, id: string): Promise<{ id: string }[]> {
    const lists = await Promise.all(DEVICE_LINKS.map((kind) => this.#documents.list(collection, tenant, `${id}\n${kind}\n`, { limit: PENDING_MAX })));
    return lists.flat();
  }

  /** The connection that gets the operations of a managed object: of several the last one, so that a device does not run one twice. */
  #receivingLink(source: number, tenant: number): PlatformDeviceLink | undefined {
    return this.linksOf(source).findLast((link) => link.tenantNumber === tenant && link.operationTopics !== 0);
  }

  #changed(notification: Notification): void {
    if (this.#links.size === 0) return;
    const text = notification.text();
    const members = notification.action === 'DELETE' ? new Map([['id', text]]) : splitMembers(text);
    const isPending = stringMember(members, 'status') === 'PENDING';
    const operation = { id: stringMember(members, 'id') ?? '', text: isPending ? text : undefined };
    this.#route(notification.tenant, notification.source, operation).catch((error: Error) => this.#failed(error, notification.source));
  }

  /** The operation stays PENDING: the device gets it when it subscribes again or asks for it (500). */
  #failed(error: Error, device: string): void {
    this.#log.warn({ err: error, device }, 'an operation could not be brought to its device');
  }

  /** To the device itself when it receives operations, else to the nearest ancestor that does (its gateway). @param operation.text when it is PENDING. */
  async #route(tenant: number, device: string, { id, text }: { id: string; text: string | undefined }): Promise<void> {
    const link = await this.#receiverOf(tenant, device, text !== undefined);
    if (link === undefined) return;
    if (text !== undefined) {
      await this.#deliver(link, device, text);
      return;
    }
    // Delivered again when it is set to PENDING again.
    this.#forwarded.get(link)?.delete(id);
    const { session } = link.connection;
    for (const mark of session?.acknowledgedMarks ?? []) if (operationOf(mark) === id) session?.forgetMark(mark);
  }

  /** @param isAlone nobody who is nearer receives it through another node. */
  async #receiverOf(tenant: number, device: string, isAlone: boolean): Promise<PlatformDeviceLink | undefined> {
    const open = [device];
    const seen = new Set(open);
    const nearer: string[] = [];
    for (let next = open.shift(); next !== undefined && seen.size < HIERARCHY_MAX; next = open.shift()) {
      const link = this.#receivingLink(Number(next), tenant);
      if (link !== undefined) return isAlone && (await this.#receivedElsewhere(tenant, nearer)).size > 0 ? undefined : link;
      nearer.push(next);
      for (const { id } of await this.#linked('parents', tenant, next)) {
        const parent = id.slice(id.lastIndexOf('\n') + 1);
        if (!seen.has(parent)) { seen.add(parent); open.push(parent); }
      }
    }
    return undefined;
  }

  /** @param about.entry its entry among the open ones, if it was read. @param about.again also what the session has or the device has acknowledged. */
  async #deliver(link: PlatformDeviceLink, device: string, text: string, about: { entry?: string; again?: boolean } = {}): Promise<void> {
    const members = splitMembers(text);
    const id = stringMember(members, 'id') ?? '';
    const forwarded = this.#forwarded.get(link) ?? new Map<string, number>();
    const sent = forwarded.get(id) ?? 0;
    const due = link.operationTopics & ~sent;
    if (due === 0) return;
    forwarded.set(id, sent | due);
    this.#forwarded.set(link, forwarded);
    try {
      await this.#send(link, device, members, due, about);
    } catch (error) {
      // The next change of it, or subscription, sends it.
      forwarded.set(id, (forwarded.get(id) ?? 0) & ~due);
      throw error;
    }
  }

  /** @param due topics, bits of RECEIVE. */
  async #send(link: PlatformDeviceLink, device: string, members: Members, due: number, about: { entry?: string; again?: boolean }): Promise<void> {
    const id = stringMember(members, 'id') ?? '';
    const { session, isPersistent } = link.connection;
    const entry = !isPersistent ? undefined : about.entry ?? await this.#documents.get('openOperation', link.tenantNumber, openOperationKey(device, id));
    const prefix = `${device}\n${SERIAL_TYPE}\n`;
    const [external] = await this.#documents.list('externalIdsOf', link.tenantNumber, prefix, { limit: 1 });
    const managedObject = await this.#documents.get('managedObject', link.tenantNumber, device);
    const serial = external?.id.slice(prefix.length) ?? '';
    const hasSoftwareTypes = managedObject !== undefined && splitMembers(managedObject).has('c8y_SupportedSoftwareTypes');
    const rows = operationRows(members, { serial, hasSoftwareTypes });
    const send = (bit: number, topic: string, payload: string): void => {
      const mark = entry === undefined ? undefined : markOf(id, bit, entry);
      if (mark === undefined || about.again === true || session?.hasMark(mark) !== true) link.sendRow(topic, payload, 2, mark);
    };
    if ((due & RECEIVE.STATIC) !== 0 && rows.length > 0) send(RECEIVE.STATIC, 's/ds', rows.join('\n'));
    if ((due & RECEIVE.JSON_OPERATIONS) !== 0) {
      send(RECEIVE.JSON_OPERATIONS, 'devicecontrol/notifications', notificationText(members, String(link.source), serial));
    }
  }
}

/** Operation, topic and entry: of one that has become PENDING again it is another mark. Undefined when it is not PENDING any more. */
function markOf(id: string, topic: number, entry: string): string | undefined {
  return openOperationStatus(entry) === 'PENDING' ? `${id} ${topic}${entry.slice('PENDING'.length)}` : undefined;
}

const operationOf = (mark: string): string => mark.slice(0, mark.indexOf(' '));

/** The operation as JSON with what agents need beside it (document 4 section 7.8). */
function notificationText(members: Members, agent: string, serial: string): string {
  return joinMembers(deliveredOperation(new Map(members), agent).set('externalSource', JSON.stringify({ externalId: serial, type: SERIAL_TYPE })));
}
