/** Each endpoint of document 1 (endpoints.ts): status, Location, media type and members of its answer, each of its roles alone, all others, the owner. */
import t from 'tap';
import type { Test } from 'tap';
import type { Reply, Rest } from '../helpers/running-server.ts';
import { ENDPOINTS } from './endpoints.ts';
import type { EndpointRow } from './rows.ts';
import { World } from './world.ts';

const world = await World.start(t);
const serviceBootstrap = await world.serviceBootstrap(await world.application());
/** Owned by nobody who calls: what those may not see who have no role. */
const SECRET = 'Not-for-everybody';
await world.rest.createDevice(SECRET);

async function call(row: EndpointRow, rest: Rest, accept?: string): Promise<Reply> {
  const { path = row.path, body, headers } = await row.call?.(world) ?? {};
  return rest.request(row.method, path, { ...(body === undefined ? {} : { body }), headers: { ...headers, ...(accept === undefined ? {} : { accept }) } });
}

async function checkAnswer(t: Test, row: EndpointRow, rest: Rest): Promise<void> {
  const type = row.answer === undefined ? undefined : `application/vnd.com.nsn.platform.${row.answer}+json`;
  const reply = await call(row, rest, type);
  t.equal(reply.status, row.status, reply.text.slice(0, 300));
  if (row.status === 204) t.equal(reply.text, '', 'no body');
  if (type !== undefined) t.match((reply.headers.get('content-type') ?? '').toLowerCase(), type.toLowerCase());
  const location = reply.headers.get('location');
  if (row.hasLocation === true) t.equal((await rest.get(location ?? 'none')).status, 200, `Location ${location} is there`);
  if (row.has === undefined) return;
  for (const name of row.has) t.not(reply.json[name], undefined, `has ${name}`);
  if (row.has.includes('self')) t.match(reply.json.self, world.server.url, 'self is absolute');
}

async function checkRoles(t: Test, row: EndpointRow, by: Rest): Promise<unknown> {
  const { roles, orOwner = false } = row;
  if (roles === undefined) return undefined;
  const where = by === world.management ? by : world.rest;
  for (const role of roles) {
    const { status, text } = await call(row, await world.only(role, where));
    t.equal(status, row.status, `${role} alone: ${text.slice(0, 200)}`);
  }
  if (row.isForEverybody === true) return t.equal((await call(row, world.owner)).status, row.status, 'a user without any role');
  const lacking = await call(row, await world.lacking([...roles, ...row.furtherRoles ?? []], where));
  // Lists are cut down to what the user owns, which is nothing.
  if (lacking.status === 200 && row.method === 'GET') {
    t.type(lacking.json.statistics, 'object', 'a list');
    t.notMatch(lacking.text, new RegExp(`"id":|${SECRET}`), 'without its roles nothing is seen');
  } else t.equal(lacking.status, 403, `all roles but these: ${lacking.text.slice(0, 200)}`);
  return orOwner && t.equal((await call(row, world.owner)).status, row.status, 'the owner without any role');
}

for (const { heading, rows } of ENDPOINTS) {
  t.test(heading, async (t) => {
    for (const row of rows) {
      await t.test(`${row.method} ${row.path}`, async (t) => {
        const by = row.by === 'management' ? world.management : row.by === 'serviceBootstrap' ? serviceBootstrap : world.rest;
        await checkAnswer(t, row, by);
        await checkRoles(t, row, by);
        const { path = row.path } = await row.call?.(world) ?? {};
        const { status } = await fetch(world.server.url + path, { method: row.method });
        t.equal(status, 401, 'without credentials');
      });
    }
  });
}
