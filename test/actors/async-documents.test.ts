/**
 * Documents that answer later: a group counts as decided when all of it is, and nobody decides on what was old when it
 * came.
 */
import t from 'tap';
import type { DocumentChange, Documents } from '../../src/ports/stores/documents.ts';
import { NotLoaded, StateView } from '../../src/actors/runtime/state-view.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { NOW, openPlatform, until } from './platform.ts';

t.test('groups are offered whole and in order, with all their rows', async (t) => {
  const platform = openPlatform(t, { isAsync: true });
  const groups: { firstSeq: number; lastSeq: number; rows: number[]; bytes: number }[] = [];
  platform.onGroup = (firstSeq, lastSeq, records, rows) => {
    groups.push({ firstSeq, lastSeq, rows: rows.map(({ seq }) => seq), bytes: records.length });
  };
  await platform.create('5');
  const sent = [];
  for (let index = 0; index < 40; index += 1) {
    sent.push(
      platform.request({
        kind: COMMAND.EVENT_CREATE,
        key: 5,
        body: { id: String(100 + index), type: 'T', time: NOW, doc: '{"type":"T"}' },
      }),
    );
    if (index % 3 === 0) sent.push(platform.measure(5, [index]));
    if (index % 7 === 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
  }
  await Promise.all(sent);
  await platform.settled();
  const seqs = groups.flatMap(({ rows }) => rows);
  t.equal(seqs.length, 41, 'every row');
  t.same(
    seqs,
    [...seqs].sort((a, b) => a - b),
  );
  t.ok(
    groups.every(({ firstSeq }, index) => index === 0 || firstSeq === groups[index - 1].lastSeq + 1),
    'nothing is left out',
  );
  t.ok(groups.every(({ rows, firstSeq, lastSeq }) => rows.every((seq) => seq >= firstSeq && seq <= lastSeq)));
  t.ok(groups.every(({ bytes }) => bytes > 0));
  t.equal(platform.rows.length, 41);
});

t.test('groups are committed in the order of the journal, whichever is decided first', async (t) => {
  const platform = openPlatform(t, { isAsync: true });
  await platform.create('5');
  const groups: number[] = [];
  platform.onGroup = (firstSeq) => {
    groups.push(firstSeq);
  };
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { documents } = platform;
  const [get, getMany] = [documents.get.bind(documents), documents.getMany.bind(documents)];
  // Documents of the object 8 are answered late.
  documents.get = async (collection, tenant, id) => {
    if (id === '8') await gate;
    return get(collection, tenant, id);
  };
  documents.getMany = async (collection, tenant, ids) => {
    if (ids.includes('8')) await gate;
    return getMany(collection, tenant, ids);
  };
  const before = platform.journal.lastSeq;
  const answered: string[] = [];
  const sent = [platform.create('8').then(() => answered.push('8'))];
  await until(() => platform.journal.lastSeq === before + 1, 'the first group');
  sent.push(
    platform
      .request({ kind: COMMAND.MANAGED_OBJECT_UPDATE, key: 5, body: { doc: '{"n":1}', mayChangeOwner: false } })
      .then(() => answered.push('5')),
  );
  await until(() => platform.journal.lastSeq === before + 2, 'the second group');
  await until(() => platform.actors.commandsCount === 2, 'the second is decided');
  for (let turn = 0; turn < 50; turn += 1)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  t.same([groups, answered, platform.stored.position()], [[], [], before]);
  open();
  await Promise.all(sent);
  t.same(
    [groups, answered],
    [
      [before + 1, before + 2],
      ['8', '5'],
    ],
  );
});

t.test('many links of one parent are read at once', async (t) => {
  const platform = openPlatform(t, { isAsync: true });
  await platform.create('1');
  const children = Array.from({ length: 1_000 }, (_, index) => String(index + 10));
  const { documents } = platform;
  const [get, getMany] = [documents.get.bind(documents), documents.getMany.bind(documents)];
  const read: number[] = [];
  documents.get = (collection, tenant, id) => {
    if (collection === 'children') read.push(1);
    return get(collection, tenant, id);
  };
  documents.getMany = (collection, tenant, ids) => {
    if (collection === 'children') read.push(ids.length);
    return getMany(collection, tenant, ids);
  };
  await platform.request({
    kind: COMMAND.CHILD_ADD,
    key: 1,
    body: { kind: 'childAssets', children, parent: '1', maker: 'by 7' },
  });
  t.equal(read[0], 1_000);
});

/** Answers when told to. */
class SlowDocuments implements Documents {
  readonly values = new Map<string, string>();
  readonly reads: (() => void)[] = [];
  getManyCount = 0;

  #later<Value>(read: () => Value): Promise<Value> {
    const value = read();
    return new Promise((resolve) => {
      this.reads.push(() => resolve(value));
    });
  }
  get(collection: string, _tenant: number, id: string): Promise<string | undefined> {
    return this.#later(() => this.values.get(`${collection} ${id}`));
  }
  getMany(collection: string, _tenant: number, ids: readonly string[]): Promise<(string | undefined)[]> {
    this.getManyCount += 1;
    return this.#later(() => ids.map((id) => this.values.get(`${collection} ${id}`)));
  }
  list(collection: string, _tenant: number, prefix: string): Promise<{ id: string; value: string }[]> {
    return this.#later(() =>
      [...this.values]
        .filter(([key]) => key.startsWith(`${collection} ${prefix}`))
        .map(([key, value]) => ({ id: key.slice(collection.length + 1), value })),
    );
  }
  commit(changes: Iterable<DocumentChange>): Promise<void> {
    for (const { collection, id, value } of changes) {
      if (value === undefined) this.values.delete(`${collection} ${id}`);
      else this.values.set(`${collection} ${id}`, value);
    }
    return Promise.resolve();
  }
  position(): number {
    return 0;
  }
  async answer(): Promise<void> {
    for (const read of this.reads.splice(0)) read();
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  }
}

const change = (id: string, value: string | undefined): DocumentChange => ({
  collection: 'managedObject',
  tenant: 1,
  id,
  value,
});

function loading(read: () => unknown): Promise<void> {
  try {
    read();
  } catch (error) {
    if (error instanceof NotLoaded) return error.loaded;
    throw error;
  }
  throw new Error('it was there');
}

t.test('a read that a commit overtakes is read again', async (t) => {
  const documents = new SlowDocuments();
  const view = new StateView(documents);
  documents.values.set('managedObject 5', 'old');
  view.begin(10);
  void loading(() => view.get('managedObject', 1, '5'));
  void loading(() => view.list('managedObject', 1, '5'));
  // Its own actor changes it while the read is under way.
  view.apply([change('5', 'new')], 9);
  t.equal(view.get('managedObject', 1, '5'), 'new');
  await documents.commit([change('5', 'new')]);
  view.committed([change('5', 'new')], 9);
  await documents.answer();
  t.equal(view.get('managedObject', 1, '5'), 'new');
  void loading(() => view.list('managedObject', 1, '5'));
  await documents.answer();
  t.same(view.list('managedObject', 1, '5'), [{ id: '5', value: 'new' }]);
  view.apply([change('51', 'more')], 11);
  view.committed([change('51', 'more')], 11);
  t.ok(
    loading(() => view.list('managedObject', 1, '5')),
    'a list is read again when one of it was committed',
  );
  await documents.answer();
  view.end(10);
  t.equal(view.scopesCount, 0);
});

t.test('what others write is fetched for one command, what is of the shard is kept and bounded', async (t) => {
  const documents = new SlowDocuments();
  const view = new StateView(documents, (_collection, _tenant, id) => Number(id) < 1_000_000);
  documents.values.set('managedObject 2000000', 'foreign');
  view.begin(1);
  void loading(() => view.get('managedObject', 1, '2000000'));
  await documents.answer();
  t.equal(view.get('managedObject', 1, '2000000'), 'foreign');
  view.begin(2);
  t.ok(
    loading(() => view.get('managedObject', 1, '2000000')),
    'the next command asks itself',
  );
  await documents.answer();
  view.end(1);
  view.end(2);
  view.prefetch([1, 2, 3, 3].map((id) => ({ collection: 'managedObject', tenant: 1, id: String(id) })));
  t.equal(documents.getManyCount, 1);
  const waiting = loading(() => view.get('managedObject', 1, '3'));
  t.equal(documents.reads.length, 1, 'joins the read that is under way');
  await documents.answer();
  await waiting;
  t.equal(view.get('managedObject', 1, '3'), undefined);
  for (let id = 1; id < 6_000; id += 1) view.committed([change(String(id), 'x'.repeat(100))], id);
  t.ok(view.keptCount <= 4_097, `${view.keptCount}`);
});
