/** Document 1, "Limits": the rows of its table, in its order; on POST and on PUT, at the limit and one beyond. */
import { PASSWORD, Rest } from '../helpers/running/server.ts';
import type { Reply } from '../helpers/running/server.ts';
import type { RuleRow, RuleTable } from './rows.ts';

const MIB = 1024 * 1024;
const OCTETS = { 'content-type': 'application/octet-stream' };

const text = (length: number): string => 'a'.repeat(length);
const mail = (length: number): string => `${text(length - 4)}@b.c`;

/** @param make a value of a length. */
const tenantField = (field: string, max: number, make = text, isInPut = true): RuleRow => ({
  row: `${field}: ${max} characters`,
  check: async (t, world) => {
    const { management } = world;
    const longer = await management.post('/tenant/tenants', world.tenantBody({ [field]: make(max + 1) }));
    t.equal(longer.status, 422);
    t.match(longer.json.message, new RegExp(`${field}.*${max}`), 'the message names it and the limit');
    const created = await management.post('/tenant/tenants', world.tenantBody({ [field]: make(max) }));
    t.equal(created.status, 201, created.text);
    const { id, adminName } = created.json;
    if (field !== 'adminPass') t.equal(created.json[field].length, max);
    else
      t.equal(
        (await new Rest(world.server.url, `${id}/${adminName}`, make(max)).get('/user/currentUser')).status,
        200,
        'the whole of it counts',
      );
    if (field === 'adminName')
      t.equal(
        (await new Rest(world.server.url, `${id}/${make(max)}`, PASSWORD).get('/user/currentUser')).status,
        200,
        'who may log in',
      );
    if (!isInPut) return;
    const path = `/tenant/tenants/${id}`;
    t.match(await management.put(path, { [field]: make(max + 1) }), {
      status: 422,
      json: { message: new RegExp(field) },
    });
    t.equal((await management.put(path, { [field]: make(max) })).status, 200);
  },
});

export const LIMITS: RuleTable = {
  heading: 'Limits',
  rows: [
    {
      row: 'event binary: 50 MB',
      heldBy: [['e2e/events/events', 'limits: 50 MiB, 5 MiB a chunk (docs/spec/events.md#limits)']],
      check: async (t, world) => {
        const path = `/event/events/${(await world.event()).id}/binaries`;
        const content = Buffer.alloc(50 * MIB + 1);
        const send = (bytes: number): Promise<Reply> =>
          world.rest.request('POST', path, { body: content.subarray(0, bytes), headers: OCTETS });
        t.match(await send(50 * MIB + 1), { status: 413, json: { message: new RegExp(String(50 * MIB)) } });
        t.equal((await world.rest.get(path)).status, 404, 'nothing is kept of it');
        t.match(await send(50 * MIB), { status: 201, json: { length: 50 * MIB } });
      },
    },
    {
      row: 'event binary chunk: 5 MB',
      heldBy: [['e2e/events/events', 'limits: 50 MiB, 5 MiB a chunk (docs/spec/events.md#limits)']],
      check: async (t, world) => {
        const path = `/event/events/${(await world.event()).id}/binaries`;
        const content = Buffer.alloc(5 * MIB + 1);
        const send = (bytes: number): Promise<Reply> =>
          world.rest.request('POST', path, {
            body: content.subarray(0, bytes),
            headers: { ...OCTETS, 'content-range': `0-${bytes - 1}/*` },
          });
        t.match(await send(5 * MIB + 1), { status: 413, json: { message: new RegExp(String(5 * MIB)) } });
        t.match(await send(5 * MIB), { status: 200, json: { range: `0-${5 * MIB - 1}/*` } });
      },
    },
    tenantField('id', 32, (length) => `b${text(length - 1)}`, false),
    tenantField('company', 256),
    tenantField('domain', 256, (length) => `c${text(length - 1)}`),
    tenantField('adminName', 50, text, false),
    tenantField('adminPass', 32),
    tenantField('adminEmail', 254, mail),
    tenantField('contactName', 30),
    tenantField('contactPhone', 20, (length) => '1'.repeat(length)),
    {
      row: 'domain: at least 2 characters',
      check: async (t, world) => {
        t.match(await world.management.post('/tenant/tenants', world.tenantBody({ domain: 'z' })), {
          status: 422,
          json: { message: /domain/ },
        });
        t.equal((await world.management.post('/tenant/tenants', world.tenantBody({ domain: 'zz' }))).status, 201);
      },
    },
    {
      row: 'pageSize 5 where nothing is said, 2000 for agents',
      check: async (t, world) => {
        for (const path of [
          '/event/events',
          '/alarm/alarms',
          '/inventory/managedObjects',
          '/measurement/measurements',
          '/devicecontrol/operations',
          '/devicecontrol/bulkoperations',
          '/tenant/options',
        ]) {
          t.equal((await world.rest.read(path)).statistics.pageSize, 5, path);
        }
        const deviceId = await world.ownedDevice();
        for (let count = 0; count < 6; count += 1) await world.operation({ deviceId });
        const page = await world.rest.read(`/devicecontrol/operations?agentId=${deviceId}&pageSize=2000`);
        t.equal(page.statistics.pageSize, 2000);
        t.equal(page.operations.length, 6);
        t.equal((await world.rest.read(`/devicecontrol/operations?agentId=${deviceId}`)).operations.length, 5);
      },
    },
  ],
};
