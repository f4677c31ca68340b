/**
 * Every route of the table under hostile paths, queries, headers and bodies, with ids of another tenant in every
 * position: no crash, no 500, no words of the server's inside, and the other tenant is neither seen nor changed. Each
 * run sends the same; MILLRACE_TEST_SEED has it send others.
 */
import { Agent, request } from 'node:http';
import t from 'tap';
import { apiRoutes } from '../../../src/api/routes.ts';
import type { Route } from '../../../src/api/request/route.ts';
import { Random, hostileRequest } from '../../helpers/clients/hostile-requests.ts';
import type { HostileRequest } from '../../helpers/clients/hostile-requests.ts';
import { PASSWORD, Rest, startServer } from '../../helpers/running/server.ts';
import { PATIENCE } from '../../helpers/until.ts';

const SEED = Number(process.env['MILLRACE_TEST_SEED'] ?? 20_261_121);
const DURATION_MS = Number(process.env['MILLRACE_TEST_FUZZ_MS'] ?? 8_000);
const AT_ONCE = 12;
/** Passwords, tokens and locks of the users that send the requests: afterwards they could not. */
const LEFT_OUT = /currentUser|\/users\/\{userId\}|logout|\/tenant\/tenants\/\{id\}/;
/** What no answer may hold: stacks, paths, statements, messages of the engine. */
const INSIDE =
  /\n\s+at \w|node_modules|\/src\/[\w-]+\/|\.ts:\d|\.js:\d|DB::|Code: \d+|SELECT .* FROM|TypeError|RangeError|ECONN|LMDB|MDB_/;
const MARK = 'Tenant-Two-Secret-Kq7';

const server = await startServer(t);
t.comment(`seed ${SEED}`);

/** Of the attacking tenant, so that some requests get further. */
async function ownIds(): Promise<string[]> {
  const { rest } = server;
  const [device, child] = [await rest.createDevice('own'), await rest.createDevice('own child')];
  const common = { source: { id: device }, time: new Date().toISOString(), type: 'own_Type', text: 'x' };
  const created = [
    await rest.create('/event/events', common),
    await rest.create('/alarm/alarms', { ...common, severity: 'MAJOR' }),
    await rest.create('/measurement/measurements', common),
    await rest.create('/devicecontrol/operations', { deviceId: device }),
    await rest.create('/user/t1/groups', { name: 'own-group' }),
    await rest.create('/user/inventoryroles', { name: 'own-role', permissions: [] }),
    await rest.create('/retention/retentions', { dataType: 'EVENT', maximumAge: 900 }),
  ].map(({ id }) => String(id));
  await rest.create('/user/t1/users', { userName: 'own-user', password: PASSWORD, email: 'own@example.com' });
  return [
    device,
    child,
    ...created,
    'own-user',
    'own-group',
    'own_Type',
    't1',
    'ROLE_ALARM_READ',
    'access.control',
    'allow.origin',
  ];
}

/** The other tenant, with one of everything. */
async function victim(): Promise<{ rest: Rest; ids: string[] }> {
  await server.management.create('/tenant/tenants', {
    company: MARK,
    domain: 'two',
    adminName: 'boss',
    adminEmail: 'boss@example.com',
    adminPass: PASSWORD,
  });
  const [tenant] = (await server.management.read('/tenant/tenants?pageSize=2000')).tenants.filter(
    ({ company }: any) => company === MARK,
  );
  const rest = new Rest(server.url, `${tenant.id}/boss`, PASSWORD);
  const device = await rest.createDevice(MARK, { my_Secret: MARK });
  const child = await rest.createDevice(MARK);
  await rest.create(`/inventory/managedObjects/${device}/childDevices`, { managedObject: { id: child } });
  const common = {
    source: { id: device },
    time: new Date().toISOString(),
    type: 'two_Type',
    text: MARK,
    my_Secret: MARK,
  };
  const event = await rest.create('/event/events', common);
  const alarm = await rest.create('/alarm/alarms', { ...common, severity: 'MAJOR' });
  const measurement = await rest.create('/measurement/measurements', { ...common, two_F: { two_S: { value: 5 } } });
  const operation = await rest.create('/devicecontrol/operations', { deviceId: device, description: MARK });
  const audit = await rest.create('/audit/auditRecords', { ...common, activity: MARK });
  await rest.create(`/identity/globalIds/${device}/externalIds`, { type: 'two_Serial', externalId: 'two-serial' });
  await rest.create(`/user/${tenant.id}/users`, {
    userName: 'two-user',
    password: PASSWORD,
    email: 'two@example.com',
    firstName: MARK,
  });
  const group = await rest.create(`/user/${tenant.id}/groups`, { name: 'two-group', description: MARK });
  const role = await rest.create('/user/inventoryroles', { name: 'two-role', description: MARK, permissions: [] });
  await rest.post('/tenant/options', { category: 'two', key: 'two-key', value: MARK });
  const rule = await rest.create('/retention/retentions', { dataType: 'EVENT', type: MARK, maximumAge: 900 });
  const request = await rest.create('/devicecontrol/newDeviceRequests', { id: 'two-request' });
  const subscription = await rest.create('/notification2/subscriptions', {
    context: 'mo',
    source: { id: device },
    subscription: 'two',
  });
  const ids = [
    device,
    child,
    event.id,
    alarm.id,
    measurement.id,
    operation.id,
    audit.id,
    String(group.id),
    String(role.id),
    rule.id,
    request.id,
    tenant.id,
    'boss',
    `${tenant.id}/boss`,
    'two-user',
    'two-group',
    'two-role',
    'two_Serial',
    'two-serial',
    'two',
    'two-key',
    'two_Type',
    'my_Secret',
    'two.example.com',
    subscription.id,
  ];
  return { rest, ids: ids.map(String) };
}

const COLLECTIONS = [
  '/inventory/managedObjects',
  '/event/events',
  '/alarm/alarms',
  '/measurement/measurements',
  '/devicecontrol/operations',
  '/tenant/options',
  '/retention/retentions',
  '/user/inventoryroles',
  '/devicecontrol/newDeviceRequests',
  '/devicecontrol/bulkoperations',
  '/audit/auditRecords',
  '/notification2/subscriptions',
];

/** All that the other tenant has. */
async function snapshot(rest: Rest, ids: readonly string[]): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const [device] = ids;
  const tenant = ids[11];
  for (const path of [
    ...COLLECTIONS.map((path) => `${path}?pageSize=2000`),
    `/inventory/managedObjects/${device}`,
    `/identity/globalIds/${device}/externalIds`,
    `/user/${tenant}/users?pageSize=2000`,
    `/user/${tenant}/groups?pageSize=2000`,
    '/tenant/currentTenant',
  ]) {
    const { status, text } = await rest.get(path);
    // Logging in is written down.
    found[path] =
      status === 200
        ? JSON.parse(text, (name, value: unknown) =>
            name === 'lastLogin' || name === 'statistics' ? undefined : value,
          )
        : status;
  }
  return found;
}

interface Outcome {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

function send(sent: HostileRequest, authorization: string | undefined): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const headers: Record<string, string | number> = {
      ...sent.headers,
      ...(authorization === undefined ? {} : { authorization }),
    };
    if (sent.body !== undefined) headers['content-length'] = Buffer.byteLength(sent.body);
    const call = request(
      {
        agent,
        host: '127.0.0.1',
        port: server.httpPort,
        method: sent.method,
        path: sent.path,
        headers,
        timeout: 20_000 * PATIENCE,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            type: response.headers['content-type'] ?? '',
            text: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    call.on('timeout', () => call.destroy(new Error('no answer within 20 s')));
    call.on('error', reject);
    call.end(sent.body);
  });
}

/** What is wrong with an answer. */
function complaint({ status, type, text }: Outcome): string | undefined {
  if (status >= 500) return `status ${status}: ${text.slice(0, 300)}`;
  if (text.includes(MARK)) return `data of the other tenant: ${text.slice(0, 300)}`;
  if (status < 400) return undefined;
  if (INSIDE.test(text)) return `words of the inside: ${text.slice(0, 300)}`;
  if (!/json/.test(type)) return `an error of type ${type}`;
  const { error, message, errors } = JSON.parse(text) as { error?: unknown; message?: unknown; errors?: unknown };
  // The form of scoring (docs/spec/scoring.md#paths).
  const isList =
    Array.isArray(errors) && errors.length > 0 && errors.every((one) => typeof one === 'string' && one !== '');
  return isList || (typeof error === 'string' && typeof message === 'string' && message !== '')
    ? undefined
    : `no error body: ${text.slice(0, 300)}`;
}

const basic = (user: string): string => `Basic ${Buffer.from(`${user}:${PASSWORD}`).toString('base64')}`;

t.test('hostile requests to every route', async (t) => {
  const two = await victim();
  const own = await ownIds();
  await server.rest.create('/user/t1/users', { userName: 'weak', password: PASSWORD, email: 'weak@example.com' });
  const before = await snapshot(two.rest, two.ids);
  t.ok(JSON.stringify(before).includes(MARK));
  const routes = apiRoutes().filter(({ path, method }) => method === 'GET' || !LEFT_OUT.test(path));
  const random = new Random(SEED);
  const found = new Map<string, string>();
  const until = Date.now() + DURATION_MS;
  const statuses = new Map<number, number>();
  let count = 0;
  const attack = async (route: Route): Promise<void> => {
    const sent = hostileRequest(random, route, random.chance(0.5) ? two.ids : own);
    const user = random.of([
      't1/admin',
      't1/admin',
      't1/admin',
      't1/admin',
      't1/admin',
      't1/admin',
      't1/weak',
      't1/weak',
      undefined,
    ]);
    const name = `${route.method} ${route.path}`;
    count += 1;
    const outcome = await send(sent, user === undefined ? undefined : basic(user)).catch((error: Error) => error);
    const what = outcome instanceof Error ? `no answer: ${outcome.message}` : complaint(outcome);
    if (!(outcome instanceof Error)) statuses.set(outcome.status, (statuses.get(outcome.status) ?? 0) + 1);
    if (what === undefined || found.has(name)) return;
    found.set(
      name,
      `${what}\n  ${sent.method} ${sent.path.slice(0, 300)} ${JSON.stringify(sent.headers).slice(0, 300)} ${String(sent.body ?? '').slice(0, 400)}`,
    );
  };
  // Each route at least once, then for as long as there is time.
  for (let round = 0; round === 0 || Date.now() < until; round += 1) {
    const queue = [...routes];
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let route = queue.pop(); route !== undefined && (round === 0 || Date.now() < until); route = queue.pop())
          await attack(route);
      }),
    );
    if (!server.isRunning) break;
  }
  agent.destroy();
  t.comment(
    `${count} requests to ${routes.length} routes: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}`,
  );
  t.ok(server.isRunning, 'the server runs');
  for (const [name, what] of found) t.fail(`seed ${SEED}: ${name}: ${what}`);
  t.ok(count >= routes.length);
  t.same(await snapshot(two.rest, two.ids), before, 'the other tenant is as it was');
  t.equal(({} as { polluted?: boolean }).polluted, undefined);
  t.same(
    server.complaints.filter((line) => !/refused by the limit/.test(line)).slice(0, 5),
    [],
    'nothing was complained about',
  );
});

t.test('what was found before', async (t) => {
  const audit = { activity: 'x', text: 'x', time: new Date().toISOString(), type: 'x' };
  const { status, text } = await server.rest.post(
    '/audit/auditRecords',
    `${JSON.stringify(audit).slice(0, -1)},"source":{"id":"\\ud800"}}`,
  );
  t.equal(status, 201, `half a character in a link: ${text}`);
});
