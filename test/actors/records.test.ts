/** Changes of records: compare and set, with their audit records, also those that belong into the log of another tenant. */
import t from 'tap';
import { COMMAND } from '../../src/model/command.ts';
import type { RecordsChange } from '../../src/model/command.ts';
import { TENANT, openPlatform } from './platform.ts';
import type { Platform } from './platform.ts';

const change = (platform: Platform, body: RecordsChange): Promise<unknown> => platform.request({ kind: COMMAND.RECORDS_CHANGE, tenant: 0, key: 't', body });
const audits = (platform: Platform): any[] => platform.rows.filter(({ table }) => table === 'audits').map(({ text }) => JSON.parse(text));
const audit = { type: 'Tenant', activity: 'Tenant created', text: 'Tenant created: acme', user: 'admin', source: 'acme' };

t.test('change and audit record are of one command', async (t) => {
  const platform = openPlatform(t);
  await change(platform, { changes: [{ collection: 'tenant', id: 'acme', expected: undefined, value: '{}' }], audits: [{ ...audit, tenant: TENANT }, audit] });
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
  await t.rejects(change(platform, { changes: [{ collection: 'tenant', id: 'acme', expected: 'x', value: '{}' }], audits: [audit] }), { code: 'general/changed-meanwhile' });
  t.same(audits(platform), []);
});
