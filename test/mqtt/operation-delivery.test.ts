/** What a session remembers of operations that its device has acknowledged: as long as they are PENDING. */
import t from 'tap';
import { PROCESSING_MODE } from '../../src/model/commands/processing-mode.ts';
import { PlatformError } from '../../src/model/errors.ts';
import type { Collection } from '../../src/model/commands/collections.ts';
import type { DocumentReader } from '../../src/ports/document-reader.ts';
import type { EntityViews } from '../../src/ports/entity-views.ts';
import type { Notification } from '../../src/ports/live-bus.ts';
import type { Device } from '../../src/mqtt/devices/device.ts';
import { CustomOperationRows } from '../../src/mqtt/devices/collection-rows.ts';
import type { DeviceHooks } from '../../src/mqtt/devices/hooks.ts';
import { LoadedDocuments } from '../../src/mqtt/devices/loaded-documents.ts';
import { TemplateCollections } from '../../src/mqtt/devices/template-collections.ts';
import { ForwardingState } from '../../src/mqtt/devices/forwarding-state.ts';
import { OperationDelivery } from '../../src/mqtt/devices/operation-delivery.ts';
import type { DeviceObjects } from '../../src/mqtt/devices/objects.ts';
import { OperationRowsOne, runTunnel } from '../../src/mqtt/devices/one-rows.ts';
import { PlatformDeviceLink, type LinkParts } from '../../src/mqtt/devices/link.ts';
import type { DeviceConnection } from '../../src/mqtt/sessions/application.ts';
import { compileStored } from '../../src/smartrest/one/collection.ts';
import { RECEIVE } from '../../src/smartrest/topics.ts';
import { silentLog } from '../actors/platform.ts';
import { settle, until } from './helpers/harness.ts';

const DEVICE = 5;
const entryId = (id: string, device = DEVICE): string => `${device}\n${id.padStart(16, '0')}`;
const ids = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => String(from + index));
const rows = (operations: readonly string[]): string[] => operations.map((id) => `511,,${id}`);

class Fixture {
  readonly documents = new Map<string, string>();
  readonly marks = new Set<string>();
  readonly sent: (string | undefined)[] = [];
  readonly hooks: DeviceHooks = {};
  readonly delivery: OperationDelivery;
  readonly link: Device;
  /** Of SmartREST 1.0. */
  readonly collections = new Map<string, { id: string; collection: NonNullable<ReturnType<typeof compileStored>> }>();
  /** Messages that the session takes before it has no room; Infinity = never full. */
  room = Infinity;
  onRoom: (() => void) | undefined;
  /** Of reads of the operation 8. */
  failure: Error | undefined;
  /** Of reads of the objects above one. */
  listFailure: Error | undefined;
  readonly dropped: (() => void)[] = [];
  /** The store answers lists by a promise. */
  isLater = false;
  /** The bound of each list that was read. */
  readonly lists: number[] = [];
  #listener: (notification: Notification) => void = () => undefined;

  constructor(isPersistent = true) {
    const reader = {
      get: (collection: Collection, _tenant: number, id: string) => {
        if (this.failure !== undefined && collection === 'operation' && id === '8') throw this.failure;
        return this.documents.get(`${collection} ${id}`);
      },
      list: (
        collection: Collection,
        _tenant: number,
        prefix: string,
        { after, limit }: { after?: string; limit: number },
      ) => {
        if (this.listFailure !== undefined && collection === 'parents') throw this.listFailure;
        this.lists.push(limit);
        const found = this.#keys(`${collection} ${prefix}`)
          .filter((key) => after === undefined || key > `${collection} ${after}`)
          .slice(0, limit)
          .map((key) => ({ id: key.slice(collection.length + 1), value: this.documents.get(key)! }));
        return this.isLater ? Promise.resolve(found) : found;
      },
    } as unknown as DocumentReader;
    const bus = {
      hasSubscribers: () => true,
      publish() {
        /* Not used. */
      },
      subscribe: (_tenant: number, _area: string, listener: (notification: Notification) => void) => {
        this.#listener = listener;
        return () => undefined;
      },
    };
    const known = new LoadedDocuments(reader);
    const refusals = {
      count() {
        /* Not looked at. */
      },
    };
    this.delivery = new OperationDelivery({
      documents: reader,
      bus,
      log: silentLog,
      refusals,
      rows: [
        new CustomOperationRows(known, new TemplateCollections(known, Date.now)),
        new OperationRowsOne({ find: async (_tenant, xid) => this.collections.get(xid) }, refusals),
      ],
      retryMs: 1,
      hooks: this.hooks,
    });
    const fixture = this;
    const session = {
      acknowledgedMarks: this.marks,
      hasMark: (mark: string) => this.marks.has(mark),
      forgetMark: (mark: string) => {
        this.marks.delete(mark);
      },
      get hasRoom() {
        return fixture.room > 0;
      },
      whenRoom: (listener: () => void) => {
        this.onRoom = listener;
      },
    };
    this.link = {
      source: DEVICE,
      tenantNumber: 1,
      serial: '',
      operationTopics: RECEIVE.STATIC,
      connection: { isPersistent, session },
      replies: {
        sendRow: (
          _topic: string,
          row: string,
          _qos: number,
          { mark, onDropped }: { mark?: string; onDropped: () => void },
        ) => {
          this.sent.push(isPersistent ? mark : row);
          this.dropped.push(onDropped);
          this.room--;
        },
      },
    } as unknown as Device;
    this.delivery.register(this.link);
  }

  readonly #sorted = new Map<string, string[]>();
  #sortedSize = 0;

  /** Of the documents of one object, in their order. */
  #keys(prefix: string): string[] {
    const objectOf = (key: string): string => key.slice(0, key.indexOf('\n'));
    if (this.#sortedSize !== this.documents.size) {
      this.#sortedSize = this.documents.size;
      this.#sorted.clear();
      for (const key of [...this.documents.keys()].sort())
        this.#sorted.set(objectOf(key), [...(this.#sorted.get(objectOf(key)) ?? []), key]);
    }
    return (this.#sorted.get(objectOf(prefix)) ?? []).filter((key) => key.startsWith(prefix));
  }

  /** The session can take so many again. */
  async makeRoom(count: number): Promise<void> {
    this.room = count;
    this.onRoom?.();
    await this.delivery.deliveryOf(this.link);
  }

  /** @param entry among the open ones; undefined for an operation that has ended. */
  set(id: string, status: string, entry: string | undefined = status, device = DEVICE): void {
    this.documents.set(
      `operation ${id}`,
      `{"id":"${id}","deviceId":"${device}","status":"${status}","c8y_Command":{"text":"${id}"}}`,
    );
    if (status === 'FAILED') this.documents.delete(`openOperation ${entryId(id, device)}`);
    else this.documents.set(`openOperation ${entryId(id, device)}`, entry);
  }

  /** @returns a connection of the device through the real link, and what it is sent: topic and rows. */
  connect(clientId: string): { link: PlatformDeviceLink; rows: string[]; drop: (() => void)[] } {
    const rows: string[] = [];
    const drop: (() => void)[] = [];
    const connection = {
      clientId,
      principal: { tenantNumber: 1 },
      deliver: ({ topic, payload, onDropped }: Parameters<DeviceConnection['deliver']>[0]) => {
        rows.push(`${topic} ${payload.toString()}`);
        drop.push(onDropped!);
      },
    } as unknown as DeviceConnection;
    const presence = {
      opened: (device: Device) => this.delivery.register(device),
      closed: (device: Device) => this.delivery.unregister(device),
      pushChanged() {
        /* Not looked at. */
      },
    };
    const link = new PlatformDeviceLink(
      connection,
      { presence, operations: this.delivery } as unknown as LinkParts,
      'own',
    );
    link.opened(DEVICE, 'lasting');
    return { link, rows, drop };
  }

  /** Of SmartREST 1.0: operations become `<row>,1,<id>`. */
  addCollection(xid: string, row: number): void {
    const collection = compileStored(`11,${row},,$.c8y_Command,$.id`)!;
    this.collections.set(xid, { id: xid, collection });
  }

  addChild(parent: number, child: number): void {
    this.documents.set(`children ${parent}\nchildDevices\n${child}`, '');
    this.documents.set(`parents ${child}\nchildDevices\n${parent}`, '');
  }

  async notify(id: string, action: Notification['action'] = 'UPDATE', device = DEVICE): Promise<void> {
    this.tell(id, action, device);
    await settle();
  }

  /** A TRANSIENT one. */
  async tellUnstored(id: string): Promise<void> {
    const text = `{"id":"${id}","deviceId":"${DEVICE}","status":"PENDING","c8y_Command":{"text":"${id}"}}`;
    this.#listener({
      tenant: 1,
      area: 'operations',
      source: String(DEVICE),
      action: 'CREATE',
      isUnstored: true,
      text: () => text,
    });
    await settle();
  }

  tell(id: string, action: Notification['action'], device = DEVICE): void {
    const text = action === 'DELETE' ? JSON.stringify(id) : this.documents.get(`operation ${id}`)!;
    this.#listener({ tenant: 1, area: 'operations', source: String(device), action, text: () => text });
  }
}

t.test('a message names its operation, its topic, and since when it is PENDING', async (t) => {
  const fixture = new Fixture();
  fixture.set('7', 'PENDING');
  fixture.set('8', 'PENDING', 'PENDING 99');
  await fixture.delivery.deliverPending(fixture.link);
  t.same(fixture.sent, ['7 1', '8 1 99']);
  fixture.set('9', 'PENDING', 'PENDING 100');
  await fixture.notify('9');
  t.equal(fixture.sent.at(-1), '9 1 100', 'also when it is told live');
  const ends = new Fixture(false);
  ends.set('7', 'PENDING');
  await ends.delivery.deliverPending(ends.link);
  await ends.notify('7', 'CREATE');
  t.same(ends.sent, rows(['7']), 'none in a session that ends with its connection');
});

t.test('what was acknowledged is not sent, what has become PENDING since is', async (t) => {
  const fixture = new Fixture();
  fixture.set('7', 'PENDING');
  fixture.set('8', 'PENDING', 'PENDING 99');
  fixture.marks.add('7 1').add('8 1').add('8 16');
  await fixture.delivery.deliverPending(fixture.link);
  t.same(fixture.sent, ['8 1 99']);
  await fixture.notify('7');
  t.same(fixture.sent, ['8 1 99'], 'nor when it changes');
  await fixture.delivery.deliverPending(fixture.link, { again: true });
  t.same(fixture.sent.slice(1), ['7 1', '8 1 99'], 'the device asks');
});

t.test('a device without operations and children is not walked through', async (t) => {
  const fixture = new Fixture();
  await fixture.delivery.deliverPending(fixture.link);
  t.same(fixture.lists, [1, 1, 1]);
  fixture.set('7', 'PENDING');
  await fixture.notify('7', 'CREATE');
  t.same(fixture.sent, ['7 1'], 'what becomes PENDING is sent');
  const gateway = new Fixture();
  gateway.addChild(DEVICE, 6);
  gateway.set('8', 'PENDING', 'PENDING', 6);
  await gateway.delivery.deliverPending(gateway.link);
  t.same(gateway.sent, ['8 1'], 'children are');

  const later = new Fixture();
  later.isLater = true;
  await later.delivery.deliverPending(later.link);
  later.set('7', 'PENDING');
  later.lists.length = 0;
  await later.delivery.deliverPending(later.link);
  t.same(later.sent, ['7 1']);
  t.notOk(later.lists.includes(1), 'a store that answers later is not asked ahead');
});

t.test('marks of operations that are over are forgotten', async (t) => {
  const fixture = new Fixture();
  fixture.set('7', 'PENDING');
  fixture.set('70', 'EXECUTING');
  fixture.set('8', 'FAILED');
  for (const mark of ['7 1', '70 1', '8 1', '9 1']) fixture.marks.add(mark);
  await fixture.delivery.deliverPending(fixture.link);
  t.same([...fixture.marks], ['7 1'], 'at the subscription');
  for (const [id, status, action] of [
    ['71', 'EXECUTING', 'UPDATE'],
    ['72', 'FAILED', 'UPDATE'],
    ['73', 'PENDING', 'UPDATE'],
    ['74', 'PENDING', 'DELETE'],
  ] as const) {
    fixture.marks.add(`${id} 1`).add(`${id} 1 55`);
    fixture.set(id, status);
    await fixture.notify(id, action);
  }
  t.same([...fixture.marks], ['7 1', '73 1', '73 1 55'], 'at the change');
});

t.test('no more is sent than the session has room for, and nothing is lost', async (t) => {
  const fixture = new Fixture(false);
  const all = ids(1_001, 2_300);
  for (const id of all) fixture.set(id, 'PENDING');
  fixture.room = 600;
  await fixture.delivery.deliverPending(fixture.link);
  t.equal(fixture.sent.length, 600);
  fixture.set('5000', 'PENDING');
  await fixture.notify('5000', 'CREATE');
  t.equal(fixture.sent.length, 600, 'a new one waits behind the others');
  fixture.set('1700', 'EXECUTING');
  await fixture.makeRoom(1_000);
  t.equal(fixture.sent.length, 1_600);
  await fixture.makeRoom(1_000);
  t.same(
    fixture.sent,
    rows([...all.filter((id) => id !== '1700'), '5000']),
    'in their order, once, and what has begun meanwhile is not',
  );
});

t.test('operations that become PENDING without room are sent when there is some', async (t) => {
  const fixture = new Fixture(false);
  fixture.room = 10;
  const all = ids(10_000, 1_300);
  for (const id of all) {
    const child = Number(id);
    fixture.addChild(DEVICE, child);
    fixture.set(id, 'PENDING', 'PENDING', child);
  }
  for (const id of all) fixture.tell(id, 'CREATE', Number(id));
  await settle();
  await fixture.delivery.deliveryOf(fixture.link);
  t.equal(fixture.sent.length, 10);
  while (fixture.sent.length < all.length) {
    const before = fixture.sent.length;
    await fixture.makeRoom(400);
    if (fixture.sent.length === before) break;
  }
  t.same([...fixture.sent].sort(), rows(all));
});

t.test('operations that are not stored wait for room too', async (t) => {
  const fixture = new Fixture(false);
  fixture.room = 1;
  for (const id of ['1', '2', '3']) await fixture.tellUnstored(id);
  t.same(fixture.sent, rows(['1']));
  await fixture.makeRoom(5);
  t.same(fixture.sent, rows(['1', '2', '3']));
});

t.test('a gateway gets what is pending for each of thousands of children', async (t) => {
  const fixture = new Fixture(false);
  const children = ids(10_000, 1_500);
  for (const child of children) fixture.addChild(DEVICE, Number(child));
  fixture.addChild(11_499, 20_000);
  fixture.set('1', 'PENDING', 'PENDING', 11_499);
  fixture.set('2', 'PENDING', 'PENDING', 20_000);
  await fixture.delivery.deliverPending(fixture.link);
  t.same(fixture.sent, rows(['1', '2']));
});

t.test('an operation whose message was dropped is sent again', async (t) => {
  const fixture = new Fixture(false);
  fixture.set('7', 'PENDING');
  await fixture.delivery.deliverPending(fixture.link);
  await fixture.delivery.deliverPending(fixture.link);
  t.same(fixture.sent, rows(['7']));
  fixture.dropped[0]();
  await fixture.delivery.deliverPending(fixture.link);
  t.same(fixture.sent, rows(['7', '7']));
});

t.test(
  'a store that goes away within the walk is asked again, without another operation or subscription',
  async (t) => {
    const fixture = new Fixture(false);
    for (const id of ids(7, 3)) fixture.set(id, 'PENDING');
    fixture.failure = new PlatformError('general/documents-unavailable');
    await fixture.delivery.deliverPending(fixture.link);
    t.same(fixture.sent, rows(['7']));
    fixture.failure = undefined;
    await until(() => fixture.sent.length === 3);
    t.same(fixture.sent, rows(ids(7, 3)), 'each once');
    const gone = new Fixture(false);
    gone.set('8', 'PENDING');
    gone.failure = new PlatformError('general/documents-unavailable');
    await gone.delivery.deliverPending(gone.link);
    gone.delivery.unregister(gone.link);
    gone.failure = undefined;
    for (let turn = 0; turn < 10; turn += 1) await settle();
    t.same(gone.sent, [], 'not to a connection that has gone');
  },
);

t.test('an operation of a child whose gateway could not be found is brought there later', async (t) => {
  const fixture = new Fixture(false);
  fixture.addChild(DEVICE, 6);
  fixture.set('9', 'PENDING', 'PENDING', 6);
  fixture.listFailure = new PlatformError('general/documents-unavailable');
  await fixture.notify('9', 'CREATE', 6);
  t.same(fixture.sent, []);
  fixture.listFailure = undefined;
  await until(() => fixture.sent.length > 0);
  t.same(fixture.sent, rows(['9']));
});

t.test('JSON of an operation has what REST reads beside it; one that is not stored has not', async (t) => {
  const fixture = new Fixture(false);
  Object.assign(fixture.link, { operationTopics: RECEIVE.JSON_OPERATIONS });
  fixture.hooks.views = {
    operation: async (_tenant, id, doc) => `{"self":"/${id}","deviceExternalIDs":{},${doc.slice(1)}`,
  } as EntityViews;
  fixture.set('7', 'PENDING');
  await fixture.notify('7', 'CREATE');
  await fixture.tellUnstored('8');
  const [stored, unstored] = fixture.sent.map((text) => JSON.parse(text!) as object);
  t.match(stored, { id: '7', self: '/7', deviceExternalIDs: {}, agentId: '5', externalSource: { type: 'c8y_Serial' } });
  t.match(unstored, { id: '8', agentId: '5' });
  t.notOk('deviceExternalIDs' in unstored);
});

t.test('operations on `s/ol` are by the default collection, the third part of the client ID', async (t) => {
  const fixture = new Fixture(false);
  fixture.addCollection('x', 805);
  fixture.set('7', 'PENDING');
  const { link, rows } = fixture.connect('d:own:x');
  link.subscribed('s/ol');
  await fixture.delivery.deliveryOf(link);
  t.same(rows, ['s/ol 805,1,7']);
  fixture.set('8', 'PENDING');
  await fixture.notify('8', 'CREATE');
  t.same(rows.slice(1), ['s/ol 805,1,8']);
  link.subscribed('s/ol/x');
  await fixture.delivery.deliveryOf(link);
  t.same(rows.slice(2), ['s/ol/x 805,1,7', 's/ol/x 805,1,8'], 'a topic is a topic');
  const all = fixture.connect('d:own:x');
  fixture.addCollection('y', 806);
  for (const xid of ['x', 'y']) all.link.tunnel.used(xid);
  all.link.subscribed('s/ol/#');
  await fixture.delivery.deliveryOf(all.link);
  t.same(
    all.rows,
    ['s/ol 805,1,7', 's/ol/y 806,1,7', 's/ol 805,1,8', 's/ol/y 806,1,8'],
    'a filter with wildcards brings the default collection once',
  );
  const none = fixture.connect('own');
  none.link.subscribed('s/ol');
  await fixture.delivery.deliveryOf(none.link);
  t.same(none.rows, [], 'no default collection');
});

t.test('an operation of which nothing was sent is not marked as sent', async (t) => {
  const fixture = new Fixture(false);
  fixture.addCollection('y', 806);
  fixture.set('7', 'PENDING');
  const { link, rows } = fixture.connect('d:own:x');
  link.subscribed('s/ol');
  link.tunnel.used('y');
  link.tunnel.used('z');
  link.subscribed('s/ol/+');
  await fixture.delivery.deliveryOf(link);
  t.same(rows, ['s/ol/y 806,1,7']);
  fixture.addCollection('x', 805);
  fixture.addCollection('z', 807);
  await fixture.delivery.deliverPending(link);
  t.same(rows.slice(1), ['s/ol 805,1,7', 's/ol/z 807,1,7'], 'templates have come');
  await fixture.delivery.deliverPending(link);
  t.equal(rows.length, 3, 'each topic once');
});

t.test('a collection that rows have made, or used for the first time, brings what is PENDING', async (t) => {
  const fixture = new Fixture(false);
  fixture.set('7', 'PENDING');
  const { link, rows } = fixture.connect('own');
  const run = async (xid: string, answer: string): Promise<void> => {
    const parts = { objects: {} as DeviceObjects, answerRows: async () => answer, operations: fixture.delivery };
    await runTunnel(Buffer.alloc(0), { xid, mode: PROCESSING_MODE.PERSISTENT }, link, parts);
    await fixture.delivery.deliveryOf(link);
  };
  link.subscribed('s/ol/x');
  await run('x', '41,1,Bad pattern');
  fixture.addCollection('x', 805);
  await run('x', '800,1,5');
  t.same(rows, []);
  await run('x', '20,5');
  t.same(rows, ['s/ol/x 805,1,7']);
  link.subscribed('s/ol/+');
  fixture.addCollection('y', 806);
  await run('y', '');
  t.same(rows.slice(1), ['s/ol/y 806,1,7']);
});

t.test('each further subscription of a connection brings what is PENDING, by its collection', async (t) => {
  const fixture = new Fixture(false);
  const xids = ids(1, 25);
  for (const xid of xids) fixture.addCollection(xid, 900 + Number(xid));
  fixture.set('7', 'PENDING');
  const { link, rows, drop } = fixture.connect('own');
  for (const xid of xids) {
    link.subscribed(`s/ol/${xid}`);
    await fixture.delivery.deliveryOf(link);
    t.equal(rows.at(-1), `s/ol/${xid} ${900 + Number(xid)},1,7`);
    link.subscribed(`s/ol/${xid}`);
    await fixture.delivery.deliveryOf(link);
  }
  t.equal(rows.length, 25, 'each once');
  drop[3]();
  await fixture.delivery.deliverPending(link);
  t.equal(rows.length, 26);
  t.equal(rows.at(-1), rows[3], 'and again what was dropped');
});

t.test('rows of operations have the serial of the connection, whatever else is bound to its object', async (t) => {
  const fixture = new Fixture(false);
  for (const serial of ['an-alias', 'own']) fixture.documents.set(`externalIdsOf ${DEVICE}\nc8y_Serial\n${serial}`, '');
  fixture.documents.set('externalIdsOf 6\nc8y_Serial\nchild', '');
  fixture.addChild(DEVICE, 6);
  fixture.set('7', 'PENDING');
  fixture.set('8', 'PENDING', 'PENDING', 6);
  const { link, rows } = fixture.connect('d:own');
  link.subscribed('s/ds');
  await fixture.delivery.deliveryOf(link);
  t.same(rows, ['s/ds 511,own,7', 's/ds 511,child,8']);
});

t.test('what was sent by one collection counts, also while another has no rows for it', (t) => {
  const state = new ForwardingState();
  for (const id of ids(1, ForwardingState.FORWARDED_MAX)) {
    state.setSent(id, RECEIVE.CUSTOM);
    state.beginTopic(id, 's/dc/x');
    state.takeBack(id, RECEIVE.CUSTOM);
  }
  t.ok(state.isFull);
  t.ok(state.tellFull());
  state.forget('1');
  t.notOk(state.isFull);
  t.ok(state.tellFull(), 'it is told again');
  t.end();
});
