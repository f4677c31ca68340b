import t from 'tap';
import type { OfferedRecord } from '../../src/ingest/command-bus.ts';
import type { AcknowledgementSink } from '../../src/ingest/group-commit.ts';
import type { Collection } from '../../src/model/command.ts';
import type { Log } from '../../src/model/log.ts';
import { PUBLISH_RESULT } from '../../src/mqtt/application.ts';
import type { DeviceConnection, DownlinkMessage, PublishResult } from '../../src/mqtt/application.ts';
import { DeviceApplication } from '../../src/mqtt/device-application.ts';
import type { PlatformDeviceLink } from '../../src/mqtt/device-link.ts';
import { settle } from './helpers/harness.ts';

/** The application over a document store in memory, with a journal that takes everything at once. */
class Platform {
  readonly documents = new Map<string, string>();
  readonly results: string[] = [];
  readonly warnings: string[] = [];
  readonly ensured: string[] = [];
  readonly sent: DownlinkMessage[] = [];
  listFailure: Error | undefined;
  refusal: string | undefined;
  resumed = 0;
  readonly application: DeviceApplication;

  constructor() {
    const documents = {
      get: (collection: Collection, _tenant: number, id: string) => this.documents.get(`${collection} ${id}`),
      getMany: () => [],
      list: () => { if (this.listFailure) throw this.listFailure; return []; },
    };
    const log: Log = {
      debug() {}, info() {}, warn: (_details, message) => { this.warnings.push(message); }, error() {}, isLevelEnabled: () => true, child: () => log,
    };
    const group = {
      acknowledgeInOrder: (sink: AcknowledgementSink, token: number) => sink.durable(token),
      whenFree() {}, reserve: () => -1, refusal: undefined,
    };
    Object.defineProperty(group, 'refusal', { get: () => this.refusal });
    const commands = {
      request: async ({ body }: { body: { externalId: string } }) => {
        this.ensured.push(body.externalId);
        this.bind(body.externalId, '8');
        return { id: '8', created: true };
      },
      offer: (records: readonly OfferedRecord[], sink: AcknowledgementSink, token: number) => {
        for (const { onAnswer } of records) onAnswer?.resolve(undefined);
        sink.durable(token);
        return true;
      },
    };
    this.application = new DeviceApplication({
      authenticator: { authenticate: () => undefined }, commands: commands as never, group: group as never, documents, ids: { next: () => 1 } as never,
      bus: { subscribe: () => () => undefined } as never, refusals: { count() {} }, log, now: () => 0,
    });
    this.application.onResult = (result) => { this.results.push(result); };
  }

  bind(serial: string, id: string): void {
    this.documents.set(`externalId c8y_Serial\n${serial}`, JSON.stringify({ managedObject: id }));
    this.documents.set(`managedObject ${id}`, '{"owner":"ada"}');
  }

  open(serial: string): PlatformDeviceLink {
    const connection: DeviceConnection = {
      principal: { tenant: 't1', tenantNumber: 1, userName: 'ada', roles: new Set(['ROLE_DEVICE']) }, clientId: serial, protocolVersion: 4, isPersistent: false,
      acknowledge() {}, rejected() {}, flush() {}, resume: () => { this.resumed += 1; }, deliver: (message) => { this.sent.push(message); }, disconnect() {},
    };
    return this.application.open(connection);
  }
}

function publish(link: PlatformDeviceLink, topic: string, payload: string): PublishResult {
  const chunk = Buffer.from(topic + payload);
  const topicEnd = Buffer.byteLength(topic);
  return link.publish(chunk, 0, topicEnd, topicEnd, chunk.length, 1, 1);
}

t.test('a device whose object is deleted is found or created again by its next message', async (t) => {
  const platform = new Platform();
  platform.bind('s1', '7');
  const link = platform.open('s1');
  t.equal(link.source, 7);
  platform.application.objectDeleted(7);
  platform.application.objectDeleted(99);
  t.equal(link.source, 7, 'changed only');
  platform.documents.clear();
  platform.application.objectDeleted(7);
  t.equal(link.source, 0);
  t.equal(platform.application.operations.linkOf(7), undefined);
  t.equal(publish(link, 's/us', '400,type,text'), PUBLISH_RESULT.BUSY);
  await settle();
  t.same(platform.ensured, ['s1']);
  t.equal(platform.resumed, 1);
  t.equal(link.source, 8);
  t.equal(platform.application.operations.linkOf(8), link);
  t.equal(publish(link, 's/us', '400,type,text'), PUBLISH_RESULT.PENDING);
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
  const [first, second, third] = platform.warnings.sort();
  t.match([first, second], [/an operation could not be brought/, /an operation could not be brought/]);
  t.match(third, /the child devices could not be listed/);
  t.same(platform.sent, []);
});
