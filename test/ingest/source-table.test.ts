/** What is remembered of the sources of measurements: the table, its bound, and two generations of it. */
import t from 'tap';
import { SourceTable } from '../../src/ingest/measurements/source-table.ts';
import { Sources } from '../../src/ingest/measurements/sources.ts';
import { Random } from '../smartrest/random.ts';

t.test('random changes of the table, as of a map', (t) => {
  const random = new Random();
  const table = new SourceTable(16);
  const model = new Map<number, { readonly tenant: number; readonly high: number; readonly low: number }>();
  // Few ids, so that they come again, with ones that differ in their upper words alone.
  const idOf = (): number => 1 + random.below(1_500) + 2 ** 32 * random.below(2) + 2 ** 40 * random.below(2);
  let wrong: string | undefined;
  const look = (id: number): void => {
    const known = model.get(id);
    const isFound = table.find(id);
    const isRight =
      isFound === (known !== undefined) &&
      (known === undefined || (table.tenant === known.tenant && table.isOf(known)));
    if (!isRight) wrong ??= `${id} is ${JSON.stringify(known)}`;
  };
  for (let step = 0; step < 30_000; step += 1) {
    const id = idOf();
    // By turns it grows and shrinks.
    if (random.below(10) < (Math.floor(step / 5_000) % 2 === 0 ? 7 : 2)) {
      const source = { tenant: 1 + random.below(5), high: random.below(2 ** 32), low: random.below(3) };
      if (table.set(id, source.tenant, source)) model.set(id, source);
    } else {
      table.delete(id);
      model.delete(id);
    }
    look(id);
    look(idOf());
    if (table.size !== model.size) wrong ??= `${table.size} of ${model.size}`;
  }
  for (const id of model.keys()) look(id);
  t.equal(wrong, undefined, `seed ${random.seed}`);
  t.notOk(table.find(0), 'an id that no object has');
  t.end();
});

t.test('the table grows to its bound and takes no more', (t) => {
  const table = new SourceTable(256);
  const owner = { high: 1, low: 2 };
  const refused: number[] = [];
  for (let id = 1; id <= 60_000; id += 1) if (!table.set(id, 7, owner)) refused.push(id);
  t.equal(table.size, (256 * 256 * 3) / 4);
  t.ok(refused[0] > 35_000, 'its parts are full at about the same time');
  t.notOk(table.find(refused[0]));
  t.ok(table.find(60_000) || refused.includes(60_000));
  t.ok(table.set(1, 8, owner) && table.find(1) && table.tenant === 8, 'what it has is replaced');
  table.delete(1);
  t.ok(table.set(1, 8, owner), 'and what was deleted makes room');
  t.end();
});

t.test('more sources than two generations hold are read again, fewer are read once', (t) => {
  let reads = 0;
  const sources = new Sources(
    {
      get: (_collection, tenant, id) => {
        reads += 1;
        return tenant === 1 ? `{"owner":"device_${id}"}` : undefined;
      },
      getMany: () => [],
      list: () => [],
    },
    32,
  );
  const pass = (count: number): void => {
    for (let id = 1; id <= count; id += 1)
      if (sources.find(1, id, `device_${id}`) !== true || sources.find(1, id, 'device_0') !== false) t.fail(String(id));
  };
  pass(800);
  pass(800);
  t.equal(reads, 800);
  t.equal(sources.find(2, 1, 'device_1'), undefined, 'a remembered object of another tenant');
  t.equal(reads, 800);
  pass(20_000);
  t.equal(reads, 20_000);
  pass(800);
  t.equal(reads, 20_800, 'the first ones were forgotten');
  sources.forgetAll();
  pass(1);
  t.equal(reads, 20_801);
  t.end();
});
