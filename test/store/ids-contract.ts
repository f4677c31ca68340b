/** What every source of ids promises of those that are given in order. */
import type { Test } from 'tap';
import { shardOf, shardOfId } from '../../src/ingest/journal/command-record.ts';
import type { IdSource } from '../../src/ports/id-source.ts';

const TENANT = 3;

/** @param source the source of the node whose turn it is: in a cluster each time another one. */
export async function idsInOrder(t: Test, source: (turn: number) => IdSource): Promise<void> {
  let last = 0;
  const seen = new Set<number>();
  const take = (id: number, what: string): void => {
    if (id <= last || !Number.isSafeInteger(id)) t.fail(`${what}: ${id} after ${last}`);
    if (seen.has(id)) t.fail(`${what}: ${id} was given before`);
    seen.add(id);
    last = id;
  };
  const others = (turn: number): void => {
    const ids = source(turn);
    for (const id of [ids.next(), ids.nextBeside(TENANT, 4_711)]) {
      if (seen.has(id)) t.fail(`${id} was given before`);
      seen.add(id);
    }
  };
  const keys = Array.from({ length: 200 }, (_, index) => index + 1_000);
  t.equal(new Set(keys.map((key) => shardOf(TENANT, key))).size, 64, 'keys of all shards');
  for (let turn = 0; turn < 200; turn += 1) {
    take(await source(turn).nextInOrder(), 'in order');
    others(turn + 1);
    const [id] = await source(turn + 1).nextBesideInOrder(TENANT, [keys[turn]]);
    if (shardOfId(TENANT, id) !== shardOf(TENANT, keys[turn])) t.fail(`${id} is not beside ${keys[turn]}`);
    take(id, 'beside, in order');
  }
  const many = await source(2).nextBesideInOrder(TENANT, [...keys, 't', 's:device', keys[0]]);
  t.same(
    many.map((id) => shardOfId(TENANT, id)),
    [...keys, 't', 's:device', keys[0]].map((key) => shardOf(TENANT, key)),
  );
  for (const id of many) take(id, 'many at once');
  t.same(await source(0).nextBesideInOrder(TENANT, []), []);
  const atOnce = await Promise.all(
    Array.from({ length: 60 }, (_, turn) =>
      turn % 2 === 0
        ? source(turn).nextInOrder()
        : source(turn)
            .nextBesideInOrder(TENANT, [keys[turn]])
            .then(([id]) => id),
    ),
  );
  const before = last;
  for (const id of atOnce.sort((one, other) => one - other)) take(id, 'at once');
  t.ok(
    atOnce.every((id) => id > before),
    'all behind what was given before',
  );
}
