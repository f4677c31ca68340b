/** What a session remembers of operations that its device has acknowledged: as long as they are PENDING. */
import t from 'tap';
import type { Collection, DocumentReader, Notification } from '../../src/model/command.ts';
import type { PlatformDeviceLink } from '../../src/mqtt/device-link.ts';
import { OperationDelivery } from '../../src/mqtt/operation-delivery.ts';
import { RECEIVE } from '../../src/smartrest/topics.ts';
import { silentLog } from '../actors/platform.ts';
import { settle } from './helpers/harness.ts';

const DEVICE = 5;
const entryId = (id: string): string => `${DEVICE}\n${id.padStart(16, '0')}`;

class Fixture {
  readonly documents = new Map<string, string>();
  readonly marks = new Set<string>();
  readonly sent: (string | undefined)[] = [];
  readonly delivery: OperationDelivery;
  readonly link: PlatformDeviceLink;
  #listener: (notification: Notification) => void = () => undefined;

  constructor(isPersistent = true) {
    const reader = {
      get: (collection: Collection, _tenant: number, id: string) => this.documents.get(`${collection} ${id}`),
      list: (collection: Collection, _tenant: number, prefix: string) => [...this.documents].filter(([key]) => key.startsWith(`${collection} ${prefix}`))
        .map(([key, value]) => ({ id: key.slice(collection.length + 1), value })),
    } as unknown as DocumentReader;
    const bus = { hasSubscribers: () => true, publish() { /* Not used. */ }, subscribe: (_tenant: number, _area: string, listener: (notification: Notification) => void) => {
      this.#listener = listener;
      return () => undefined;
    } };
    this.delivery = new OperationDelivery(reader, bus, silentLog);
    const session = { acknowledgedMarks: this.marks, hasMark: (mark: string) => this.marks.has(mark), forgetMark: (mark: string) => { this.marks.delete(mark); } };
    this.link = { source: DEVICE, tenantNumber: 1, operationTopics: RECEIVE.STATIC, connection: { isPersistent, session },
      sendRow: (_topic: string, _row: string, _qos: number, mark?: string) => { this.sent.push(mark); } } as unknown as PlatformDeviceLink;
    this.delivery.register(this.link);
  }

  /** @param entry among the open ones; undefined for an operation that has ended. */
  set(id: string, status: string, entry: string | undefined = status): void {
    this.documents.set(`operation ${id}`, `{"id":"${id}","deviceId":"${DEVICE}","status":"${status}","c8y_Restart":{}}`);
    if (status === 'FAILED') this.documents.delete(`openOperation ${entryId(id)}`);
    else this.documents.set(`openOperation ${entryId(id)}`, entry);
  }

  async notify(id: string, action: Notification['action'] = 'UPDATE'): Promise<void> {
    const text = action === 'DELETE' ? JSON.stringify(id) : this.documents.get(`operation ${id}`)!;
    this.#listener({ tenant: 1, area: 'operations', source: String(DEVICE), action, text: () => text });
    await settle();
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
  t.same(ends.sent, [undefined], 'none in a session that ends with its connection');
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

t.test('marks of operations that are over are forgotten', async (t) => {
  const fixture = new Fixture();
  fixture.set('7', 'PENDING');
  fixture.set('70', 'EXECUTING');
  fixture.set('8', 'FAILED');
  for (const mark of ['7 1', '70 1', '8 1', '9 1']) fixture.marks.add(mark);
  await fixture.delivery.deliverPending(fixture.link);
  t.same([...fixture.marks], ['7 1'], 'at the subscription');
  for (const [id, status, action] of [['71', 'EXECUTING', 'UPDATE'], ['72', 'FAILED', 'UPDATE'], ['73', 'PENDING', 'UPDATE'], ['74', 'PENDING', 'DELETE']] as const) {
    fixture.marks.add(`${id} 1`).add(`${id} 1 55`);
    fixture.set(id, status);
    await fixture.notify(id, action);
  }
  t.same([...fixture.marks], ['7 1', '73 1', '73 1 55'], 'at the change');
});
