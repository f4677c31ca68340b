import t from 'tap';
import { published } from './helpers/published.ts';
import type { OfferedRecord } from '../../src/ingest/journal/command-bus.ts';
import type { ReceivedPacket } from '../../src/ingest/journal/received-packet.ts';
import type { AcknowledgementSink } from '../../src/ingest/journal/record-intake.ts';
import { DistantMonths } from '../../src/ingest/measurements/distant-months.ts';
import { decodeCommand } from '../../src/ingest/journal/command-record.ts';
import type { Collection } from '../../src/model/commands/collections.ts';
import type { Notification } from '../../src/ports/live-bus.ts';
import type { Log } from '../../src/ports/log.ts';
import type { FoundMeasurement } from '../../src/ports/measurement-search.ts';
import { PUBLISH_RESULT } from '../../src/mqtt/sessions/application.ts';
import type { DeviceConnection, DownlinkMessage, PublishResult } from '../../src/mqtt/sessions/application.ts';
import { DeviceApplication } from '../../src/mqtt/devices/application.ts';
import type { PlatformDeviceLink } from '../../src/mqtt/devices/link.ts';
import { settle, until } from './helpers/harness.ts';

/** The application over a document store in memory, with a journal that takes everything at once. */
class Platform {
  readonly documents = new Map<string, string>();
  readonly results: string[] = [];
  readonly warnings: string[] = [];
  readonly ensured: string[] = [];
  readonly sent: DownlinkMessage[] = [];
  listFailure: Error | undefined;
  /** The store answers later. */
  isLater = false;
  readFailure: Error | undefined;
  readonly acknowledged: number[] = [];
  flushes = 0;
  readonly disconnected: number[] = [];
  /** Records that were offered together, and the packet identifier of a QoS 2 message. */
  readonly offered: {
    readonly count: number;
    readonly received: { readonly session: string; readonly id: number } | undefined;
  }[] = [];
  /** Bodies of the commands that were offered. */
  readonly bodies: object[] = [];
  readonly told: Notification[] = [];
  /** The one that the history finds. */
  measurement: FoundMeasurement | undefined;
  isPersistent = false;
  /** Answers of the actors come when the test says so. */
  heldAnswers: (() => void)[] | undefined;
  /** What has a place in the open group; without it there is none. */
  openGroup: (() => void)[] | undefined;
  refusal: string | undefined;
  /** The serial is bound by a request whose answer was lost, and the object is still to come. */
  isBoundOnly = false;
  resumed = 0;
  /** How often documents were listed. */
  lists = 0;
  readonly limits: string[] = [];
  readonly application: DeviceApplication;

  constructor() {
    const documents = {
      get: (collection: Collection, _tenant: number, id: string) =>
        this.later(() => this.documents.get(`${collection} ${id}`)),
      getMany: () => [],
      list: (collection: Collection, _tenant: number, prefix: string) => {
        this.lists += 1;
        if (this.listFailure) throw this.listFailure;
        return this.later(() =>
          [...this.documents]
            .filter(([key]) => key.startsWith(`${collection} ${prefix}`))
            .map(([key, value]) => ({ id: key.slice(collection.length + 1), value })),
        );
      },
    };
    const log: Log = {
      debug() {},
      info() {},
      warn: (_details, message) => {
        this.warnings.push(message);
      },
      error() {},
      isLevelEnabled: () => true,
      child: () => log,
    };
    const buffer = Buffer.alloc(1_024);
    const group = {
      buffer,
      view: new DataView(buffer.buffer, buffer.byteOffset, buffer.length),
      acknowledgeInOrder: (sink: AcknowledgementSink, token: number) => sink.durable(token),
      append: (_bytes: number, sink: AcknowledgementSink, token: number) => {
        this.openGroup?.push(() => sink.durable(token));
      },
      whenFree() {},
      reserve: () => (this.openGroup === undefined ? -1 : 0),
      refusal: undefined,
    };
    Object.defineProperty(group, 'refusal', { get: () => this.refusal });
    const commands = {
      request: async ({ body }: { body: { externalId: string } }) => {
        this.ensured.push(body.externalId);
        if (this.isBoundOnly) return { id: '8', created: false };
        this.bind(body.externalId, '8');
        return { id: '8', created: true };
      },
      offer: (
        records: readonly OfferedRecord[],
        sink: AcknowledgementSink,
        token: number,
        received?: ReceivedPacket,
      ) => {
        this.offered.push({
          count: records.length,
          received: received && { session: received.session, id: received.id },
        });
        for (const { record, onAnswer } of records) {
          if (onAnswer !== undefined) this.bodies.push(decodeCommand(record, 0, 0).body);
          if (onAnswer !== undefined && this.heldAnswers !== undefined)
            this.heldAnswers.push(() => onAnswer.resolve(undefined));
          else onAnswer?.resolve(undefined);
        }
        if (this.heldAnswers === undefined) sink.durable(token);
        else queueMicrotask(() => sink.durable(token));
        return true;
      },
    };
    this.application = new DeviceApplication({
      events: { newest: async () => undefined },
      storedMeasurements: { find: async () => this.measurement },
      authenticator: { authenticate: () => undefined, current: (principal) => principal, stillHolds: async () => true },
      commands: commands as never,
      intake: group as never,
      distantMonths: new DistantMonths(),
      documents,
      ids: { next: () => 1, nextBeside: () => 1 } as never,
      bus: { subscribe: () => () => undefined, publish: (one: Notification) => this.told.push(one) } as never,
      refusals: { count: (limit) => this.limits.push(limit) },
      log,
      now: () => 0,
    });
    this.application.hooks.onResult = (result) => {
      this.results.push(result);
    };
  }

  later<Value>(read: () => Value): Value | Promise<Value> {
    if (!this.isLater) return read();
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        if (this.readFailure) reject(this.readFailure);
        else resolve(read());
      });
    });
  }

  bind(serial: string, id: string): void {
    this.documents.set(`externalId c8y_Serial\n${serial}`, JSON.stringify({ managedObject: id }));
    this.documents.set(`managedObject ${id}`, '{"owner":"ada"}');
  }

  open(serial: string, userName = 'ada', roles = ['ROLE_DEVICE']): PlatformDeviceLink {
    const connection: DeviceConnection = {
      principal: { tenant: 't1', tenantNumber: 1, userName, roles: new Set(roles) },
      clientId: serial,
      protocolVersion: 4,
      isPersistent: this.isPersistent,
      acknowledge: (packetId) => {
        this.acknowledged.push(packetId);
      },
      rejected() {},
      flush: () => {
        this.flushes += 1;
      },
      resume: () => {
        this.resumed += 1;
      },
      deliver: (message) => {
        this.sent.push(message);
      },
      disconnect: (reasonCode) => {
        this.disconnected.push(reasonCode);
      },
    };
    return this.application.openDevice(connection);
  }
}

function publish(link: PlatformDeviceLink, topic: string, payload: string, packetId = 1, qos = 1): PublishResult {
  return link.publish(published(topic, payload, packetId, qos));
}

t.test('a device whose object is deleted is found or created again by its next message', async (t) => {
  const platform = new Platform();
  platform.bind('s1', '7');
  const link = platform.open('s1');
  t.equal(link.source, 7);
  platform.application.objectChanged(7);
  platform.application.objectChanged(99);
  t.equal(link.source, 7, 'changed only');
  platform.documents.clear();
  platform.application.objectChanged(7);
  t.equal(link.source, 0);
  t.same(platform.application.operations.linksOf(7), []);
  t.equal(publish(link, 's/us', '400,type,text'), PUBLISH_RESULT.BUSY);
  await settle();
  t.same(platform.ensured, ['s1']);
  t.equal(platform.resumed, 1);
  t.equal(link.source, 8);
  t.ok(platform.application.operations.linksOf(8).includes(link));
  t.equal(publish(link, 's/us', '400,type,text'), PUBLISH_RESULT.PENDING);
});

t.test('an object with two connected serials: both forget it', async (t) => {
  const platform = new Platform();
  for (const serial of ['s1', 's2']) platform.bind(serial, '7');
  const links = ['s1', 's2', 's1'].map((serial) => platform.open(serial));
  links[2].closed();
  t.same(
    platform.application.operations.linksOf(7).map(({ serial }) => serial),
    ['s1', 's2'],
  );
  links[1].opened(7, 'lasting');
  t.equal(platform.application.operations.linksOf(7).length, 2, 'opened again');
  platform.documents.clear();
  platform.application.objectChanged(7);
  t.same(
    links.slice(0, 2).map(({ source }) => source),
    [0, 0],
  );
  t.same(platform.application.operations.linksOf(7), []);
  for (const link of links.slice(0, 2)) t.equal(publish(link, 's/us', '400,type,text'), PUBLISH_RESULT.BUSY);
  await settle();
  t.same(platform.ensured, ['s1', 's2'], 'each makes its device again');
});

t.test('what the rights of one message cost is bounded', async (t) => {
  const platform = new Platform();
  platform.bind('s1', '7');
  const link = platform.open('s1');
  for (const id of [9, 1_000, 2_000]) platform.documents.set(`managedObject ${id}`, '{"owner":"eve"}');
  for (let parent = 10_000; parent < 10_300; parent += 1)
    platform.documents.set(`parents 9\nchildAdditions\n${parent}`, '1');
  platform.documents.set('operation 5', '{"deviceId":"9"}');
  platform.lists = 0;
  publish(link, 's/us', Array.from({ length: 500 }, () => '504,5').join('\n'));
  t.ok(platform.lists <= 300, `500 rows about one object list ${platform.lists} times`);
  const events = (from: number, count: number): string =>
    `{"events":[${Array.from(
      { length: count },
      (_, index) => `{"source":{"id":"${from + index}"},"type":"t","text":"x","time":"2024-05-02T10:00:00Z"}`,
    ).join()}]}`;
  platform.lists = 0;
  publish(
    link,
    'event/events/createBulk',
    events(9, 1).replace(/\[(.*)\]/, (_, one) => `[${Array(500).fill(one).join()}]`),
  );
  t.ok(platform.lists <= 600, `500 events of it list ${platform.lists} times`);
  for (let id = 1_000; id < 1_200; id += 1) platform.documents.set(`managedObject ${id}`, '{"owner":"eve"}');
  platform.sent.length = 0;
  platform.lists = 0;
  publish(link, 'event/events/createBulk', events(1_000, 200));
  t.ok(platform.lists <= 500, `200 objects list ${platform.lists} times`);
  publish(link, 's/us', '504,5');
  for (let id = 1_000; id < 1_200; id += 1) platform.documents.set(`managedObject ${id}`, '{"owner":"ada"}');
  const { length } = platform.offered;
  publish(link, 'event/events/createBulk', events(1_000, 200));
  t.equal(platform.offered[length]?.count, 200, 'objects of its own are as many as it likes');
});

t.test('measurements of very many months that are far from now', async (t) => {
  const platform = new Platform();
  platform.openGroup = [];
  platform.bind('s1', '7');
  const link = platform.open('s1');
  const rows = (from: number, count: number): string =>
    Array.from(
      { length: count },
      (_, index) => `200,f,s,1,,${new Date(Date.UTC(1_990, from + index, 5)).toISOString()}`,
    ).join('\n');
  t.equal(publish(link, 's/us', rows(0, 24)), PUBLISH_RESULT.PENDING);
  t.equal(publish(link, 's/us', rows(3, 1)), PUBLISH_RESULT.PENDING, 'a month that was just there costs nothing');
  t.equal(publish(link, 's/us', rows(24, 1)), PUBLISH_RESULT.BUSY, 'held back');
  t.same([platform.limits, platform.results], [['measurement/months'], []]);
  t.equal(publish(link, 's/us', '200,f,s,1'), PUBLISH_RESULT.PENDING, 'what is of now goes on');
  await until(() => platform.resumed === 1);
  const { length } = platform.offered;
  for (const count of [24, 25])
    t.equal(publish(link, 's/us', rows(40, count)), PUBLISH_RESULT.PENDING, 'refused, so that others need not wait');
  const measurements = Array.from({ length: 24 }, (_, index) => {
    const time = new Date(Date.UTC(1_960, index, 5)).toISOString();
    return { type: 't', time, source: { id: '7' }, f: { s: { value: 1 } } };
  });
  const bulk = JSON.stringify({ measurements });
  t.equal(publish(link, 'measurement/measurements/createBulk', bulk), PUBLISH_RESULT.PENDING);
  t.equal(platform.offered.length, length, 'nothing of it is taken');
  t.same(platform.results, ['error', 'error', 'error'], 'the device is told');
  t.match(
    platform.sent.map(({ topic, payload }) => `${topic} ${Buffer.from(payload).toString()}`),
    [
      /^s\/e 50,200,"?More than 2 months a second/,
      /^s\/e 50,200,"?The measurements have more than 24 different months/,
      /^error .*More than 2 months a second/,
    ],
  );
});

t.test('faults that the device is told of, and refused messages, are reported', (t) => {
  const platform = new Platform();
  platform.bind('s1', '7');
  const link = platform.open('s1');
  publish(link, 's/us', '400,type,text');
  t.same(platform.results, []);
  publish(link, 's/us', '999');
  publish(link, 'event/events/create', '{"type":');
  t.same(platform.results, ['error', 'error']);
  platform.refusal = 'journal/bytes';
  t.equal(publish(link, 's/us', '400,type,text'), PUBLISH_RESULT.BUSY);
  t.same(platform.results, ['error', 'error'], 'held back is not refused');
  platform.refusal = 'disk/free-bytes';
  t.equal(publish(link, 's/us', '400,type,text'), PUBLISH_RESULT.REFUSED);
  t.same(platform.results, ['error', 'error', 'refused']);
  t.end();
});

t.test('a store that fails while something is sent to a device is in the log', async (t) => {
  const platform = new Platform();
  platform.bind('s1', '7');
  const link = platform.open('s1');
  platform.listFailure = new Error('the store is away');
  link.subscribed('s/ds');
  publish(link, 's/us', '105');
  publish(link, 's/us', '500');
  await settle();
  // The subscription, and 500.
  const undelivered = /an operation could not be delivered/;
  t.match(platform.warnings.sort(), [/a device could not be answered/, undelivered, undelivered]);
  t.equal(platform.warnings.length, 3);
  t.same(platform.sent, []);
});

t.test('forms of the client ID, and who may connect', async (t) => {
  const platform = new Platform();
  platform.bind('s1', '7');
  const { application } = platform;
  const principal = (...roles: string[]) => ({ tenant: 't1', tenantNumber: 1, userName: 'eve', roles: new Set(roles) });
  for (const clientId of ['s1', 'd:s1', 'd:s1:my-templates'])
    t.equal(application.sessionKey(principal(), clientId), 's1', clientId);
  for (const clientId of [
    '',
    'd:',
    ':s1',
    'x:s1',
    'x:s1:t',
    'd:s1:t:u',
    'a/b',
    'd:a+b',
    's#',
    'a\nb',
    'x'.repeat(257),
  ]) {
    t.throws(
      () => application.sessionKey(principal(), clientId),
      { message: /the client id/, mqttReason: 0x85 } as object as Error,
      clientId.slice(0, 20),
    );
  }
  const mayConnect = async (clientId: string, ...roles: string[]): Promise<boolean> =>
    application.mayConnect(principal(...roles), clientId);
  t.same(
    [await mayConnect('new'), await mayConnect('new', 'ROLE_DEVICE'), await mayConnect('s1', 'ROLE_DEVICE')],
    [false, true, false],
  );
  t.same(
    [
      await mayConnect('s1', 'ROLE_DEVICE_CONTROL_ADMIN'),
      await mayConnect('d:s1', 'ROLE_DEVICE', 'ROLE_INVENTORY_ADMIN'),
    ],
    [true, true],
  );
});

t.test('QoS 2 of a session that is kept: the packet id is one commit with the message', async (t) => {
  for (const isPersistent of [true, false]) {
    const platform = new Platform();
    platform.bind('s1', '7');
    platform.isPersistent = isPersistent;
    const link = platform.open('s1');
    for (const [packetId, payload] of ['400,type,text', '211,1', '999'].entries())
      publish(link, 's/us', payload, packetId + 1, 2);
    const received = platform.offered.map((one) => one.received);
    t.same(
      received,
      isPersistent ? [1, 2, 3].map((id) => ({ session: 's1', id })) : [undefined, undefined],
      'also of a measurement, and of what is only answered',
    );
    t.same(
      platform.offered.slice(0, 2).map(({ count }) => count),
      [1, 1],
    );
    t.same(platform.acknowledged, [1, 2, 3]);
  }
});

t.test('a topic that nothing is published on: acknowledged in 3.1.1, with a row on s/e or an error', async (t) => {
  const platform = new Platform();
  platform.bind('s1', '7');
  const link = platform.open('s1');
  for (const [packetId, topic] of ['some/thing', 's/uz', 'event/x'].entries())
    t.equal(publish(link, topic, 'x', packetId + 1), PUBLISH_RESULT.PENDING);
  t.same(platform.acknowledged, [1, 2, 3]);
  t.same(platform.offered, []);
  t.same(
    platform.sent.map(({ topic, payload }) => `${topic} ${Buffer.from(payload).toString()}`),
    [
      's/e 41,,Nothing is published on the topic some/thing',
      's/e 41,,Nothing is published on the topic s/uz',
      'error {"error":"mqtt/Unknown Topic","message":"Nothing is published on the topic event/x","messageId":3}',
    ],
  );
});

t.test('a measurement is acknowledged when its group is durable', async (t) => {
  const platform = new Platform();
  platform.bind('s1', '7');
  const link = platform.open('s1');
  platform.openGroup = [];
  for (const packetId of [1, 2]) t.equal(publish(link, 's/us', '211,1', packetId), PUBLISH_RESULT.PENDING);
  t.same(platform.acknowledged, []);
  for (const commit of platform.openGroup) commit();
  t.same(platform.acknowledged, [1, 2]);
});

t.test('acknowledged in order, when the actors have answered; not at all when the commit fails', async (t) => {
  const platform = new Platform();
  platform.bind('s1', '7');
  const link = platform.open('s1');
  platform.heldAnswers = [];
  publish(link, 's/us', '301,type,text', 1);
  await settle();
  publish(link, 's/us', '999', 2);
  t.equal(platform.heldAnswers.length, 1);
  t.same(platform.acknowledged, []);
  platform.heldAnswers[0]();
  t.same(platform.acknowledged, [1, 2]);
  publish(link, 's/us', '301,type,text', 5);
  publish(link, 's/us', '301,other,text', 6);
  await settle();
  platform.flushes = 0;
  for (const answer of platform.heldAnswers.splice(1)) answer();
  await settle();
  t.same(platform.acknowledged, [1, 2, 5, 6]);
  t.equal(platform.flushes, 1, 'what one commit answers goes out in one write');
  link.failed(3, new Error('disk is full'));
  link.failed(4, new Error('journal/unreachable'));
  t.same(platform.disconnected, [0x97, 0x89]);
  t.same(platform.acknowledged, [1, 2, 5, 6]);
});

/** Offers a message as a connection does, until it is taken. */
async function offer(
  platform: Platform,
  link: PlatformDeviceLink,
  topic: string,
  payload: string,
  packetId: number,
): Promise<void> {
  for (let round = 0; round < 50; round += 1) {
    const resumed = platform.resumed;
    if (publish(link, topic, payload, packetId) !== PUBLISH_RESULT.BUSY) return;
    while (platform.resumed === resumed)
      await new Promise((resolve) => {
        setTimeout(resolve, 1);
      });
  }
  throw new Error('never taken');
}

t.test('a store that answers later decides as one that answers at once', async (t) => {
  const messages: [string, string][] = [
    ['s/us', '400,type,text'],
    ['s/us/child', '400,type,text'],
    ['s/us/other', '400,type,text'],
    ['s/us', '504,41'],
    ['s/us', '504,42'],
    ['s/us', '504,43'],
    ['event/events/update/51', '{"text":"a"}'],
    ['event/events/update/52', '{"text":"a"}'],
    [
      'measurement/measurements/create',
      '{"source":{"id":"9"},"type":"T","time":"2026-01-01T00:00:00Z","f":{"s":{"value":1}}}',
    ],
    [
      'measurement/measurements/create',
      '{"source":{"id":"77"},"type":"T","time":"2026-01-01T00:00:00Z","f":{"s":{"value":1}}}',
    ],
    [
      'event/events/createBulk',
      '{"events":[{"externalSource":{"externalId":"child","type":"c8y_Serial"},"type":"a","text":"b","time":"2026-01-01T00:00:00Z"},' +
        '{"externalSource":{"externalId":"absent","type":"c8y_Serial"},"type":"a","text":"b","time":"2026-01-01T00:00:00Z"}]}',
    ],
    ['s/us', '102,service,type,name,up'],
    ['event/events/create', '{"source":{"id":"10"},"type":"a","text":"b","time":"2026-01-01T00:00:00Z"}'],
  ];
  const outcomes = await Promise.all(
    [false, true].map(async (isLater) => {
      const platform = new Platform();
      platform.isLater = isLater;
      platform.bind('s1', '7');
      platform.bind('child', '9');
      platform.bind('other', '10');
      platform.bind('s11', '11');
      for (const [key, value] of [
        ['managedObject 11', '{"owner":"eve"}'],
        ['managedObject 9', '{"owner":"eve"}'],
        ['managedObject 10', '{"owner":"eve"}'],
        ['parents 9\nchildDevices\n8', '1'],
        ['parents 8\nchildAssets\n7', '1'],
        ['operation 41', '{"deviceId":"9"}'],
        ['operation 42', '{"deviceId":"10"}'],
        ['event 51', '{"source":{"id":"9"}}'],
        ['event 52', '{"source":{"id":"10"}}'],
      ])
        platform.documents.set(key, value);
      const link = platform.open('s1');
      t.same(await platform.application.mayConnect(link.connection.principal, 's11'), false, 'owned by another');
      t.same(await platform.application.mayConnect(link.connection.principal, 's9'), true, 'a new device');
      for (const [index, [topic, payload]] of messages.entries())
        await offer(platform, link, topic, payload, index + 1);
      t.equal(link.source, 7);
      t.same(
        platform.acknowledged,
        messages.map((_, index) => index + 1),
        'in order',
      );
      return {
        ensured: platform.ensured,
        sent: platform.sent.map(({ topic, payload }) => `${topic} ${payload.toString()}`),
        results: platform.results,
      };
    }),
  );
  t.same(outcomes[1], outcomes[0]);
  // What is neither the device nor below it, and not its user's, is not for it.
  const faults = [
    /^s\/e 50,400,Access is denied/,
    /^s\/e 50,504,No operation/,
    /^s\/e 50,504,No operation/,
    /^error .*Access is denied.*"messageId":8}/,
    /^error .*source 77 does not exist.*"messageId":10}/,
    /^error .*identity.*"messageId":11}/,
    /^error .*Access is denied.*"messageId":13}/,
  ];
  t.match(outcomes[0].sent, faults);
  t.equal(outcomes[0].sent.length, faults.length);
  t.equal(outcomes[0].results.length, faults.length);
});

t.test('a device whose object is still being made waits for it: nothing is acknowledged before', async (t) => {
  const platform = new Platform();
  platform.isBoundOnly = true;
  const link = platform.open('s1');
  t.equal(publish(link, 's/us', '400,type,text'), PUBLISH_RESULT.BUSY);
  await until(() => platform.resumed === 1);
  t.equal(publish(link, 's/us', '400,type,text'), PUBLISH_RESULT.BUSY, 'it asks again');
  t.same(platform.acknowledged, []);
  t.match(
    platform.sent.map(({ topic, payload }) => `${topic} ${payload.toString()}`),
    [/^s\/e 50,400,.*still being made/],
    'it is told why it waits',
  );
  platform.bind('s1', '8');
  await until(() => platform.resumed === 2);
  t.equal(publish(link, 's/us', '400,type,text'), PUBLISH_RESULT.PENDING);
  await settle();
  t.same([link.source, platform.ensured, platform.acknowledged, platform.offered.length], [8, ['s1', 's1'], [1], 1]);
});

t.test('a store that does not answer holds the device back', async (t) => {
  const platform = new Platform();
  platform.isLater = true;
  platform.bind('s1', '7');
  platform.readFailure = new Error('away');
  const link = platform.open('s1');
  await t.rejects(Promise.resolve(platform.application.mayConnect(link.connection.principal, 's1')), /away/);
  setTimeout(() => {
    platform.readFailure = undefined;
  }, 50);
  await offer(platform, link, 'event/events/update/51', '{"text":"a"}', 1);
  t.same(platform.ensured, ['s1'], 'whose object nobody knew is ensured');
  const closed = platform.open('s1');
  closed.closed();
  await settle();
  t.same([...platform.application.operations.linksOf(7)], [], 'who has gone meanwhile is not registered');
});

t.test(
  'a device that asks faster than its answers are looked up waits; a reply that fails does not stop the others',
  async (t) => {
    const platform = new Platform();
    platform.bind('s1', '7');
    const link = platform.open('s1');
    platform.isLater = true;
    const children = Array.from({ length: 200 }, () => '105').join('\n');
    t.equal(publish(link, 's/us', `${children}\n123`), PUBLISH_RESULT.PENDING);
    t.equal(publish(link, 's/us', '123', 2), PUBLISH_RESULT.BUSY);
    t.same(platform.sent, []);
    await until(() => platform.resumed === 1);
    t.equal(publish(link, 's/us', '123', 2), PUBLISH_RESULT.PENDING);
    await until(() => platform.sent.length === 202);
    t.same(
      platform.sent.map(({ payload }) => Buffer.from(payload).toString().slice(0, 3)),
      [...Array.from({ length: 200 }, () => '106'), '124', '124'],
    );
    platform.sent.length = 0;
    platform.listFailure = new Error('the store does not answer');
    t.equal(publish(link, 's/us', '105\n123', 3), PUBLISH_RESULT.PENDING);
    await until(() => platform.sent.length === 1);
    t.same(
      platform.sent.map(({ payload }) => Buffer.from(payload).toString()),
      ['124,7'],
    );
    t.same(platform.warnings, ['a device could not be answered']);
  },
);

t.test("an object that is not in the tenant is not heard: its id may be that of another tenant's device", async (t) => {
  for (const isLater of [false, true]) {
    const platform = new Platform();
    platform.isLater = isLater;
    platform.bind('s1', '7');
    platform.bind('child', '9');
    platform.bind('silent', '11');
    const heard: number[] = [];
    platform.application.hooks.onHeard = (_tenant, source) => {
      heard.push(source);
    };
    const link = platform.open('s1');
    (link.connection.principal.roles as Set<string>).add('ROLE_EVENT_ADMIN').add('ROLE_ALARM_ADMIN');
    for (const id of ['78', 'silent']) await offer(platform, link, `inventory/managedObjects/update/${id}`, '{}', 9);
    for (const [index, source] of ['77', '9'].entries()) {
      const entity = `{"source":{"id":"${source}"},"type":"a","text":"b","severity":"MINOR","time":"2026-01-01T00:00:00Z"}`;
      await offer(platform, link, 'event/events/create', entity, 3 * index + 1);
      await offer(platform, link, 'alarm/alarms/create', entity, 3 * index + 2);
      await offer(platform, link, 'event/events/createBulk', `{"events":[${entity}]}`, 3 * index + 3);
    }
    t.same(new Set(heard.filter((source) => source !== link.source)), new Set([9, 11]));
  }
});

t.test('a measurement is deleted as over REST (docs/spec/mqtt-json.md#topics)', async (t) => {
  const platform = new Platform();
  platform.bind('s1', '7');
  platform.documents.set('managedObject 9', '{"owner":"eve"}');
  const link = platform.open('s1');
  /** @returns what the device is told. */
  const remove = async (found: FoundMeasurement | undefined): Promise<object[]> => {
    platform.measurement = found;
    platform.sent.length = 0;
    await offer(platform, link, 'measurement/measurements/delete/5', '', 1);
    return platform.sent.map(({ payload }) => JSON.parse(Buffer.from(payload).toString()) as object);
  };
  const own = { source: 7, timeMs: 1_000 };
  t.match(await remove(undefined), [{ error: 'measurement/Not Found', message: /5/ }]);
  t.match(await remove({ source: 9, timeMs: 0 }), [{ error: 'security/Forbidden' }]);
  t.same([platform.bodies, platform.told], [[], []]);
  t.same(await remove(own), []);
  const time = '1970-01-01T00:00:01.000Z';
  t.same(platform.bodies, [{ table: 'measurements', filter: { id: '5', source: '7', dateFrom: time, dateTo: time } }]);
  t.match(platform.told, [{ tenant: 1, area: 'measurements', source: '7', action: 'DELETE' }]);
  t.equal(platform.told[0].text(), '"5"');
  for (let job = 0; job < 50; job += 1) platform.documents.set(`job data-deletion/${job}`, '{}');
  t.match(await remove(own), [{ message: /deletions\/under-way/ }]);
  t.ok(platform.limits.includes('deletions/under-way'));
  t.equal(platform.told.length, 1);
});

t.test('who may connect by a role alone writes what its roles allow (docs/spec/smartrest.md#rights)', async (t) => {
  const platform = new Platform();
  platform.openGroup = [];
  platform.bind('s1', '7');
  platform.bind('child', '9');
  platform.documents.set('parents 9\nchildDevices\n7', '1');
  const alarm = '{"type":"a","text":"b","severity":"MINOR","time":"2026-01-01T00:00:00Z"}';
  const messages: [role: string, topic: string, payload: string][] = [
    ['MEASUREMENT', 's/us', '211,5'],
    ['MEASUREMENT', 's/us/child', '211,5'],
    ['EVENT', 's/us', '400,type,text'],
    ['ALARM', 's/us', '301,type,text'],
    ['ALARM', 'alarm/alarms/create', alarm],
    ['INVENTORY', 's/us', '113,a=1'],
    ['INVENTORY', 's/us', '402,1,2,3'],
    ['INVENTORY', 's/us/child', '123'],
    ['INVENTORY', 's/us/unknown', '501,c8y_Restart'],
    ['INVENTORY', 'inventory/managedObjects/update/child', '{}'],
    ['DEVICE_CONTROL', 's/us/child', '501,c8y_Restart'],
  ];
  const areas = ['DEVICE_CONTROL', 'INVENTORY', 'MEASUREMENT', 'EVENT', 'ALARM'];
  /** @returns which of the messages are refused. */
  const refusedOf = async (userName: string, ...roles: string[]): Promise<string[]> => {
    const link = platform.open(
      's1',
      userName,
      roles.map((role) => `ROLE_${role}_ADMIN`),
    );
    const refused: string[] = [];
    for (const [role, topic, payload] of messages) {
      platform.sent.length = 0;
      await offer(platform, link, topic, payload, 1);
      if (platform.sent.some((one) => one.topic === 's/e' || one.topic === 'error')) refused.push(role);
    }
    platform.documents.delete('externalId c8y_Serial\nunknown');
    link.closed();
    return refused;
  };
  t.same(await refusedOf('ada', 'DEVICE_CONTROL'), [], 'the owner');
  t.same(await refusedOf('eve', ...areas), [], 'with all roles');
  const others = messages.map(([role]) => role).filter((role) => role !== 'DEVICE_CONTROL');
  t.same(await refusedOf('eve', 'DEVICE_CONTROL'), others);
  for (const area of ['MEASUREMENT', 'EVENT'])
    t.same(
      await refusedOf('eve', 'DEVICE_CONTROL', area),
      others.filter((role) => role !== area),
    );
  const heard: number[] = [];
  platform.application.hooks.onHeard = (_tenant, source) => void heard.push(source);
  const link = platform.open('s1', 'eve', ['ROLE_DEVICE_CONTROL_ADMIN']);
  await offer(platform, link, 's/us/child', '211,5', 1);
  t.notOk(heard.includes(9), 'what is refused tells nothing of the device');
  await offer(platform, link, 's/us/child', '501,c8y_Restart', 1);
  t.ok(heard.includes(9));
});
