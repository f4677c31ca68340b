/**
 * Each endpoint of document 1 (endpoints.ts): status, Location, media type and members of its answer, what it did, no
 * body without Accept, each of its roles alone, all others, the owner, nobody.
 */
import t from 'tap';
import type { Test } from 'tap';
import type { Reply, Rest } from '../helpers/running/server.ts';
import { ENDPOINTS } from './endpoints.ts';
import type { Call, EndpointRow } from './rows.ts';
import { World, vendor } from './world.ts';

const world = await World.start(t);
const serviceBootstrap = (await world.service()).bootstrap;
/** Owned by nobody who calls: what those may not see who have no role. */
const SECRET = 'Not-for-everybody';
await world.rest.createDevice(SECRET);

async function send(
  row: EndpointRow,
  rest: Rest,
  accept?: string,
): Promise<{ readonly sent: Call; readonly reply: Reply }> {
  const { path = row.path, body, headers } = (await row.call?.(world)) ?? {};
  const reply = await rest.request(row.method, path, {
    ...(body === undefined ? {} : { body }),
    headers: { ...headers, ...(accept === undefined ? {} : { accept }) },
  });
  return { sent: { path, ...(body === undefined ? {} : { body }) }, reply };
}

const call = async (row: EndpointRow, rest: Rest, accept?: string): Promise<Reply> =>
  (await send(row, rest, accept)).reply;

/** The error body, with its media type for those that ask for it. */
function isError(t: Test, reply: Reply, status: number, error: string, what: string): void {
  t.equal(reply.status, status, `${what}: ${reply.text.slice(0, 200)}`);
  t.match(reply.json, { error, message: /./, info: /^http/ }, what);
}

async function checkAnswer(t: Test, row: EndpointRow, rest: Rest): Promise<void> {
  const type = row.answer === undefined ? undefined : vendor(row.answer);
  const { sent, reply } = await send(row, rest, type);
  t.equal(reply.status, row.status, reply.text.slice(0, 300));
  if (row.status === 204) t.equal(reply.text, '', 'no body');
  if (type !== undefined) t.match((reply.headers.get('content-type') ?? '').toLowerCase(), type.toLowerCase());
  const location = reply.headers.get('location');
  if (row.hasLocation === true)
    t.equal((await rest.get(location ?? 'none')).status, 200, `Location ${location} is there`);
  for (const name of row.has ?? []) t.not(reply.json[name], undefined, `has ${name}`);
  if (row.has?.includes('self') === true) t.match(reply.json.self, world.server.url, 'self is absolute');
  await row.check?.(t, { world, rest, sent, reply });
}

/** Conventions 3: the answer of a POST or PUT without Accept has the status and no body. */
async function checkWithoutAccept(t: Test, row: EndpointRow, rest: Rest): Promise<void> {
  if (row.method !== 'POST' && row.method !== 'PUT') return;
  const reply = await call(row, rest, '');
  t.match({ status: reply.status, text: reply.text }, { status: row.status, text: '' }, 'without Accept');
  if (row.hasLocation === true)
    t.match(reply.headers.get('location'), world.server.url, 'Location is there all the same');
}

async function checkRoles(t: Test, row: EndpointRow, by: Rest): Promise<unknown> {
  const { roles, orOwner = false } = row;
  if (roles === undefined) return undefined;
  const where = by === world.management ? by : world.rest;
  // ROLE_SYSTEM is given to nobody.
  for (const role of roles.filter((one) => one !== 'ROLE_SYSTEM')) {
    const { status, text } = await call(row, await world.only(role, where));
    t.equal(status, row.status, `${role} alone: ${text.slice(0, 200)}`);
  }
  if (row.isForEverybody === true)
    return t.equal((await call(row, world.owner)).status, row.status, 'a user without any role');
  const lacking = await call(row, await world.lacking([...roles, ...(row.furtherRoles ?? [])], where));
  // Lists are cut down to what the user owns, which is nothing.
  if (lacking.status === 200 && row.method === 'GET') {
    t.type(lacking.json.statistics, 'object', 'a list');
    t.notMatch(lacking.text, new RegExp(`"id":|${SECRET}`), 'without its roles nothing is seen');
  } else isError(t, lacking, 403, 'security/Forbidden', 'all roles but these');
  return orOwner && t.equal((await call(row, world.owner)).status, row.status, 'the owner without any role');
}

for (const { heading, rows } of ENDPOINTS) {
  t.test(heading, async (t) => {
    for (const row of rows) {
      await t.test(`${row.method} ${row.path}`, async (t) => {
        const by =
          row.by === 'management' ? world.management : row.by === 'serviceBootstrap' ? serviceBootstrap : world.rest;
        await checkAnswer(t, row, by);
        await checkWithoutAccept(t, row, by);
        await checkRoles(t, row, by);
        const { path = row.path } = (await row.call?.(world)) ?? {};
        const anonymous = await fetch(world.server.url + path, {
          method: row.method,
          headers: { accept: vendor('error') },
        });
        isError(
          t,
          { status: anonymous.status, text: '', json: await anonymous.json() } as Reply,
          401,
          'general/internalError',
          'without credentials',
        );
        t.match(anonymous.headers.get('content-type'), vendor('error'));
      });
    }
  });
}
