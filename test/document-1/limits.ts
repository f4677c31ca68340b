/** Document 1, "Limits": the rows of its table, in its order; on POST and on PUT, at the limit and one beyond. */
import type { RuleRow, RuleTable } from './rows.ts';

const text = (length: number): string => 'a'.repeat(length);
const mail = (length: number): string => `${text(length - 4)}@b.c`;

/** @param make a value of a length. */
const tenantField = (field: string, max: number, make = text, isInPut = true): RuleRow => ({ row: `${field}: ${max} characters`, check: async (t, world) => {
  const { management } = world;
  const longer = await management.post('/tenant/tenants', world.tenantBody({ [field]: make(max + 1) }));
  t.equal(longer.status, 422);
  t.match(longer.json.message, field, 'the message names it');
  const created = await management.post('/tenant/tenants', world.tenantBody({ [field]: make(max) }));
  t.equal(created.status, 201, created.text);
  if (field !== 'adminPass') t.equal(created.json[field].length, max);
  if (!isInPut) return;
  const path = `/tenant/tenants/${created.json.id}`;
  t.match(await management.put(path, { [field]: make(max + 1) }), { status: 422, json: { message: new RegExp(field) } });
  t.equal((await management.put(path, { [field]: make(max) })).status, 200);
} });

export const LIMITS: RuleTable = { heading: 'Limits', rows: [
  { row: 'event binary: 50 MB; chunk: 5 MB', heldBy: [['e2e/events', 'limits: 50 MiB, 5 MiB a chunk']] },
  tenantField('id', 32, (length) => `b${text(length - 1)}`, false),
  tenantField('company', 256),
  tenantField('domain', 256, (length) => `c${text(length - 1)}`),
  tenantField('adminName', 50, text, false),
  tenantField('adminPass', 32),
  tenantField('adminEmail', 254, mail),
  tenantField('contactName', 30),
  tenantField('contactPhone', 20, (length) => '1'.repeat(length)),
  { row: 'domain: at least 2 characters', check: async (t, world) => {
    t.match(await world.management.post('/tenant/tenants', world.tenantBody({ domain: 'z' })), { status: 422, json: { message: /domain/ } });
    t.equal((await world.management.post('/tenant/tenants', world.tenantBody({ domain: 'zz' }))).status, 201);
  } },
  { row: 'pageSize 5 where nothing is said, 2000 for agents', check: async (t, world) => {
    t.equal((await world.rest.read('/event/events')).statistics.pageSize, 5);
    t.equal((await world.rest.read(`/devicecontrol/operations?agentId=${world.device}&pageSize=2000`)).statistics.pageSize, 2000);
  } },
] };
