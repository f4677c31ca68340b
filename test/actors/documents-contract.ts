/** What every adapter of the documents port promises; run by the tests of the adapters. */
import type { Test } from 'tap';
import type { DocumentChange, Documents } from '../../src/ports/stores/documents.ts';
import type { Collection } from '../../src/model/commands/collections.ts';
import { Random } from '../smartrest/random.ts';

export interface OpenDocuments {
  readonly documents: Documents;
  close(): Promise<void>;
}
/** One place where an adapter keeps documents; opened several times, one after the other. */
export interface DocumentsPlace {
  open(): Promise<OpenDocuments>;
}

/** Longer ids are refused (in UTF-8 bytes). */
const ID_BYTES_TAKEN = 1_800;

const change = (
  id: string,
  value: string | undefined,
  collection: Collection = 'event',
  tenant = 1,
): DocumentChange => ({ collection, tenant, id, value });
const byteOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

export function documentsContract(t: Test, name: string, newPlace: (t: Test) => DocumentsPlace): void {
  const test = (title: string, run: (t: Test, documents: Documents) => Promise<void>): void => {
    t.test(`${name}: ${title}`, async (t) => {
      const { documents, close } = await newPlace(t).open();
      await run(t, documents);
      await close();
    });
  };

  test('get and getMany', async (t, documents) => {
    t.equal(await documents.get('event', 1, '7'), undefined);
    await documents.commit([change('7', '{"a":1.0}'), change('8', ''), change('9', 'ä温😀"\n\u0000')], undefined);
    t.equal(await documents.get('event', 1, '7'), '{"a":1.0}');
    t.equal(await documents.get('event', 1, '8'), '', 'an empty value is a value');
    t.same(await documents.getMany('event', 1, ['9', 'x', '7', '8', '7']), [
      'ä温😀"\n\u0000',
      undefined,
      '{"a":1.0}',
      '',
      '{"a":1.0}',
    ]);
    t.same(await documents.getMany('event', 1, []), []);
    const large = '{"x":"'.padEnd(2_000_000, 'ä') + '"}';
    await documents.commit([change('large', large)], undefined);
    t.equal(await documents.get('event', 1, 'large'), large);
  });

  test('collections and tenants are apart', async (t, documents) => {
    const collections: Collection[] = [
      'managedObject',
      'externalId',
      'externalIdsOf',
      'children',
      'parents',
      'alarm',
      'event',
      'operation',
      'openAlarm',
      'openAlarmLink',
      'openOperation',
      'softwareList',
      'parameterState',
      'user',
      'session',
      'sessionMessage',
      'tenant',
      'pending',
      'meta',
    ];
    const places = collections.flatMap((collection) =>
      [0, 1, 11, 2 ** 32 - 1].map((tenant) => ({ collection, tenant })),
    );
    await documents.commit(
      places.flatMap(({ collection, tenant }) =>
        ['1', '1/1'].map((id) => change(id, `${collection} ${tenant} ${id}`, collection, tenant)),
      ),
      5,
    );
    for (const { collection, tenant } of places) {
      t.equal(await documents.get(collection, tenant, '1'), `${collection} ${tenant} 1`);
      const listed = (await documents.list(collection, tenant, '', { limit: 10 })).filter(
        ({ id }) => id !== 'position',
      );
      t.same(
        listed.map(({ value }) => value),
        [`${collection} ${tenant} 1`, `${collection} ${tenant} 1/1`],
      );
    }
  });

  test('a commit replaces and removes; the last change of an id counts', async (t, documents) => {
    await documents.commit([change('1', 'a'), change('2', 'b'), change('3', 'c')], undefined);
    await documents.commit(
      [
        change('1', undefined),
        change('2', 'B'),
        change('4', 'x'),
        change('4', undefined),
        change('3', undefined),
        change('3', 'C'),
        change('none', undefined),
      ],
      undefined,
    );
    t.same(await documents.list('event', 1, '', { limit: 10 }), [
      { id: '2', value: 'B' },
      { id: '3', value: 'C' },
    ]);
    await documents.commit([], undefined);
  });

  test('list: by prefix, behind `after`, at most `limit`, in byte order', async (t, documents) => {
    const ids = [
      '5\na\n1',
      '5\na\n10',
      '5\na\n2',
      '5\nb\n1',
      '50\na\n1',
      '51',
      '4',
      '5',
      '5\n',
      '6\na',
      '5\n\u00e4',
      '5\n\uffff',
      '5\n😀',
      '5\n~',
      'a b',
      'a/b',
      'ab',
    ];
    await documents.commit(
      ids.map((id) => change(id, `v${id}`)),
      undefined,
    );
    const sorted = [...ids].sort(byteOrder);
    const check = async (prefix: string, options: { after?: string; limit: number }): Promise<void> => {
      const want = sorted
        .filter((id) => id.startsWith(prefix) && (options.after === undefined || byteOrder(id, options.after) > 0))
        .slice(0, options.limit);
      t.same(
        await documents.list('event', 1, prefix, options),
        want.map((id) => ({ id, value: `v${id}` })),
        JSON.stringify([prefix, options]).replace(/[^ -~]/g, '?'),
      );
      const named = await documents.list('event', 1, prefix, { ...options, idsOnly: true });
      t.same(
        named.map(({ id }) => id),
        want,
      );
    };
    for (const prefix of ['', '5', '5\n', '5\na\n', '5\na\n1', '6', 'a', '7', 'zz', '\u0000']) {
      for (const after of [
        undefined,
        '5\na\n1',
        '5\na\n',
        '5\nb',
        '5\n\u00e4',
        '5\n\uffff',
        '4',
        '9',
        '',
        '5\na\n15',
        'zzz',
        '\u0000',
      ]) {
        for (const limit of [100, 2, 1, 0]) await check(prefix, after === undefined ? { limit } : { after, limit });
      }
    }
  });

  test('control characters in ids, short and long', async (t, documents) => {
    const odd = Array.from({ length: 8 }, (_, code) => String.fromCharCode(code));
    const ids = [2, 70].flatMap((length) =>
      odd.flatMap((one) => [
        `${one.repeat(length)}`,
        `p\n${one}${'x'.repeat(length)}`,
        `p\n${'x'.repeat(length)}${one}x`,
      ]),
    );
    await documents.commit(
      ids.map((id) => change(id, `v${id}`)),
      undefined,
    );
    t.same(
      await documents.getMany('event', 1, ids),
      ids.map((id) => `v${id}`),
    );
    t.same(
      (await documents.list('event', 1, '', { limit: 100 })).map(({ id }) => id),
      [...ids].sort(byteOrder),
    );
    t.same(
      (await documents.list('event', 1, 'p\n', { limit: 100 })).map(({ id }) => id),
      ids.filter((id) => id.startsWith('p\n')).sort(byteOrder),
    );
    const longest = '\u0001'.repeat(ID_BYTES_TAKEN / 2);
    await documents.commit([change(longest, 'longest'), change(longest.repeat(2), undefined)], undefined);
    t.equal(await documents.get('event', 1, longest), 'longest');
  });

  test('pages of a large list fit together', async (t, documents) => {
    const ids = Array.from({ length: 5_000 }, (_, index) => `p\n${String(index).padStart(16, '0')}`);
    await documents.commit(
      ids.map((id) => change(id, '1')),
      undefined,
    );
    const found: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await documents.list(
        'event',
        1,
        'p\n',
        after === undefined ? { limit: 700 } : { after, limit: 700 },
      );
      found.push(...page.map(({ id }) => id));
      if (page.length < 700) break;
      after = page[page.length - 1].id;
    }
    t.same(found, ids);
  });

  test('ids may be anything that is text: unicode, line feeds, zero bytes, long', async (t, documents) => {
    const ids = [
      'ä温😀',
      'a\nb\r\n\tc',
      '\u0000',
      '\u0001x',
      'a\u0000b',
      ' ',
      '/',
      '1/2',
      '__proto__',
      '\u007f',
      '\u001b[0m',
      '',
      'x'.repeat(ID_BYTES_TAKEN),
      'ä'.repeat(ID_BYTES_TAKEN / 2),
      'x'.repeat(ID_BYTES_TAKEN - 1),
      '温'.repeat(ID_BYTES_TAKEN / 3),
    ];
    await documents.commit(
      ids.map((id, index) => change(id, String(index))),
      undefined,
    );
    for (const [index, id] of ids.entries())
      t.equal(
        await documents.get('event', 1, id),
        String(index),
        JSON.stringify(id.slice(0, 20)).replace(/[^ -~]/g, '?'),
      );
    t.same(
      (await documents.list('event', 1, '', { limit: 100 })).map(({ id }) => id),
      [...ids].sort(byteOrder),
    );
    await documents.commit(
      ids.map((id) => change(id, undefined)),
      undefined,
    );
    t.same(await documents.list('event', 1, '', { limit: 100 }), []);
  });

  test('too long ids are nowhere, and a commit with one is refused as a whole', async (t, documents) => {
    for (const id of ['x'.repeat(3_000), 'x'.repeat(1_899), 'ä'.repeat(1_000), '温'.repeat(1_500)]) {
      t.equal(await documents.get('event', 1, id), undefined, `get of ${id.length}`);
      t.same(await documents.getMany('event', 1, [id, '1']), [undefined, undefined]);
      t.same(await documents.list('event', 1, id, { limit: 5 }), [], `list of ${id.length}`);
    }
    await t.rejects(documents.commit([change('1', 'a'), change('x'.repeat(5_000), 'b'), change('2', 'c')], 9));
    t.same(await documents.getMany('event', 1, ['1', '2']), [undefined, undefined]);
    t.equal(await documents.position(), 0);
    await documents.commit([change('1', 'a')], 1);
    t.equal(await documents.get('event', 1, '1'), 'a');
  });

  t.test(`${name}: the position moves with its commit and survives`, async (t) => {
    const place = newPlace(t);
    const first = await place.open();
    t.equal(await first.documents.position(), 0);
    await first.documents.commit([change('1', 'a')], 17);
    t.equal(await first.documents.position(), 17);
    await first.documents.commit([change('1', 'b')], undefined);
    t.equal(await first.documents.position(), 17, 'undefined: it stays');
    await first.documents.commit([], Number.MAX_SAFE_INTEGER);
    await first.close();
    const second = await place.open();
    t.equal(await second.documents.position(), Number.MAX_SAFE_INTEGER);
    t.equal(await second.documents.get('event', 1, '1'), 'b');
    await second.close();
  });

  t.test(`${name}: commits that are not waited for take effect in order`, async (t) => {
    const place = newPlace(t);
    const { documents, close } = await place.open();
    const commits: Promise<void>[] = [];
    for (let round = 1; round <= 200; round += 1)
      commits.push(documents.commit([change('a', String(round)), change(`n${round}`, 'x')], round));
    await Promise.all(commits);
    t.same([await documents.get('event', 1, 'a'), await documents.position()], ['200', 200]);
    t.equal((await documents.list('event', 1, 'n', { limit: 1_000 })).length, 200);
    await close();
    const again = await place.open();
    t.same([await again.documents.get('event', 1, 'a'), await again.documents.position()], ['200', 200]);
    await again.close();
  });

  t.test(`${name}: random commits and reopenings against a model`, async (t) => {
    const random = new Random();
    const place = newPlace(t);
    let opened = await place.open();
    const model = new Map<string, string>();
    const parts = ['1', '12', '\n', 'ä', '😀', '\uffff', 'a', '/', ' '];
    for (let step = 0; step < 600; step += 1) {
      const changes = Array.from({ length: random.below(6) }, () => {
        const id = Array.from({ length: 1 + random.below(3) }, () => random.pick(parts)).join('');
        return change(id, random.below(3) === 0 ? undefined : String(random.below(1_000)));
      });
      await opened.documents.commit(changes, step);
      for (const { id, value } of changes) {
        if (value === undefined) model.delete(id);
        else model.set(id, value);
      }
      if (random.below(50) === 0) {
        await opened.close();
        opened = await place.open();
      }
      if (random.below(5) > 0) continue;
      const prefix = random.pick(['', ...parts]);
      const want = [...model]
        .filter(([id]) => id.startsWith(prefix))
        .sort(([a], [b]) => byteOrder(a, b))
        .slice(0, 20)
        .map(([id, value]) => ({ id, value }));
      const found = await opened.documents.list('event', 1, prefix, { limit: 20 });
      if (JSON.stringify(found) !== JSON.stringify(want))
        t.fail(`step ${step}, prefix ${JSON.stringify(prefix)}, seed ${random.seed}`);
    }
    t.equal(await opened.documents.position(), 599, `seed ${random.seed}`);
    await opened.close();
  });
}
