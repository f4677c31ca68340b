/**
 * Changes of records: compare and set, with their audit records, also those that belong into the log of another tenant.
 */
import t from 'tap';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { RecordsChange } from '../../src/model/commands/records.ts';
import { withDigest } from '../../src/model/commands/record-change.ts';
import { TENANT, openPlatform } from './platform.ts';
import type { Platform } from './platform.ts';

const change = (platform: Platform, body: RecordsChange): Promise<unknown> =>
  platform.request({ kind: COMMAND.RECORDS_CHANGE, tenant: 0, key: 't', body });
const audits = (platform: Platform): any[] =>
  platform.rows.filter(({ table }) => table === 'audits').map(({ text }) => JSON.parse(text));
const audit = {
  type: 'Tenant',
  activity: 'Tenant created',
  text: 'Tenant created: acme',
  user: 'admin',
  source: 'acme',
};

t.test('change and audit record are of one command', async (t) => {
  const platform = openPlatform(t);
  await change(platform, {
    changes: [{ collection: 'tenant', id: 'acme', expected: undefined, value: '{}' }],
    audits: [{ ...audit, tenant: TENANT }, audit],
  });
  t.equal(platform.stored.get('tenant', 0, 'acme'), '{}');
  const [other, own] = audits(platform);
  t.match(other, { tenant: TENANT, source: 'acme', user: 'admin' }, 'into the log of the tenant that did it');
  t.match(own, { tenant: 0 });
  t.notMatch(other.doc, /"tenant"/, 'the number is not shown');
  t.equal(other.seq, own.seq);
  t.not(other.id, own.id);
});

t.test('a refused change leaves no audit record', async (t) => {
  const platform = openPlatform(t);
  await t.rejects(
    change(platform, { changes: [{ collection: 'tenant', id: 'acme', expected: 'x', value: '{}' }], audits: [audit] }),
    { code: 'general/changed-meanwhile' },
  );
  t.same(audits(platform), []);
});

t.test('a sum is kept with the records, and bounded', async (t) => {
  const platform = openPlatform(t);
  const bound = (maximum: number, limit: string) => ({ maximum, limit, error: 'options/too-large' as const });
  const bounds = { count: bound(3, 'a/count'), bytes: bound(100, 'a/bytes') };
  const add = (count: number, bytes: number, id: string, before?: { count: number; bytes: number }): Promise<unknown> =>
    change(platform, {
      changes: [{ collection: 'option', id, expected: undefined, value: 'x' }],
      totals: [
        {
          collection: 'option',
          id: '\ntotal',
          added: { count, bytes },
          bounds,
          ...(before === undefined ? {} : { before }),
        },
      ],
    });
  const kept = (): unknown => JSON.parse(platform.stored.get('option', 0, '\ntotal') ?? 'null');
  await add(1, 10, 'a', { count: 1, bytes: 50 });
  t.same(kept(), { count: 2, bytes: 60 }, 'it begins with what was there');
  await add(1, 5, 'b', { count: 1, bytes: 50 });
  t.same(kept(), { count: 3, bytes: 65 }, 'once');
  await t.rejects(add(1, 1, 'c'), { code: 'options/too-large', details: { limit: 'a/count', maximum: 3 } });
  await t.rejects(add(0, 36, 'c'), { code: 'options/too-large', details: { limit: 'a/bytes', maximum: 100 } });
  t.equal(platform.stored.get('option', 0, 'c'), undefined, 'nothing of a refused change');
  t.same(kept(), { count: 3, bytes: 65 });
  await add(-3, -65, 'd');
  t.equal(kept(), null, 'nothing is left of a sum of nothing');
  await add(-1, 7, 'e', { count: 9, bytes: 500 }).then(
    () => t.fail('more bytes, above the bound'),
    () => undefined,
  );
  await add(-1, -7, 'e', { count: 9, bytes: 500 });
  t.same(kept(), { count: 8, bytes: 493 }, 'what is above the bound already may become less');
});

t.test('a digest in the place of a long text', async (t) => {
  const platform = openPlatform(t);
  const text = JSON.stringify({ manifest: 'é"'.repeat(1_000) });
  const put = (expected: string | undefined, value: string | undefined): Promise<unknown> =>
    change(platform, { changes: [withDigest({ collection: 'application', id: '1', expected, value })] });
  await t.rejects(put(text, '{}'), { code: 'general/changed-meanwhile' }, 'there is none');
  await put(undefined, text);
  t.notOk(
    JSON.stringify(withDigest({ collection: 'application', id: '1', expected: text, value: undefined })).length > 200,
  );
  await t.rejects(put(`${text} `, '{}'), { code: 'general/changed-meanwhile' });
  await t.rejects(put(undefined, '{}'), { code: 'general/changed-meanwhile' });
  t.equal(platform.stored.get('application', 0, '1'), text);
  await put(text, undefined);
  t.equal(platform.stored.get('application', 0, '1'), undefined);
  const group = { collection: 'group', id: '1', expected: text, value: undefined } as const;
  t.same(withDigest(group), group, 'whoever watches rights is told the former text');
});

t.test('a job knows the sequence of the command that stored it', async (t) => {
  const platform = openPlatform(t);
  await change(platform, {
    changes: [{ collection: 'job', id: 'a/1', expected: undefined, value: '{"after":0}', isPositioned: true }],
  });
  t.same(JSON.parse(platform.stored.get('job', 0, 'a/1') ?? ''), { after: 0, seq: platform.journal.lastSeq });
});

t.test('records below a prefix are bounded, several that come together too', async (t) => {
  const platform = openPlatform(t);
  const add = (ids: readonly string[]): Promise<unknown> =>
    change(platform, {
      changes: ids.map((id) => ({ collection: 'certificate', id, expected: undefined, value: '{}' })),
      prefixes: [
        {
          collection: 'certificate',
          prefix: '',
          added: ids.length,
          maximum: 3,
          limit: 'certificates/of-tenant',
          error: 'certificate/too-many',
        },
      ],
    });
  await add(['a', 'b']);
  await t.rejects(add(['c', 'd']), { code: 'certificate/too-many' });
  t.equal(platform.stored.get('certificate', 0, 'c'), undefined, 'none of them');
  await add(['c']);
});
