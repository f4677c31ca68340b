/** The commands that manage a running server, as processes: with a password, and over the control socket. */
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { lineOf } from '../../src/cli/tail/lines.ts';
import { COMMAND, millrace, scratchDirectory, start, until } from '../helpers/setup-command.ts';
import { MANAGEMENT_PASSWORD, PASSWORD, Rest, startServer } from '../helpers/running/server.ts';

type Ended = Awaited<ReturnType<typeof millrace>>;
const lines = ({ stdout }: Ended): any[] =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

t.test('user, tenant, device, token and tail', async (t) => {
  const server = await startServer(t);
  const { url, data } = server;
  const byPassword = ['--url', url, '--password', PASSWORD];
  const bySocket = ['--data', data];

  t.test('users', async (t) => {
    const created = await millrace([
      'user',
      'create',
      'ada',
      '--groups',
      'admins',
      '--email',
      'ada@example.com',
      '--json',
      ...byPassword,
    ]);
    t.equal(created.code, 0, created.stderr);
    const [{ user, password }] = lines(created);
    t.equal(user, 'ada');
    const ada = new Rest(url, 't1/ada', password);
    t.equal((await ada.get('/user/currentUser')).status, 200, 'the generated password works');
    const table = await millrace(['user', 'list', ...bySocket]);
    t.match(
      table.stdout,
      /^USER +EMAIL +ENABLED +GROUPS\n(.*\n)*ada +ada@example.com +true +admins\n/,
      'without a password, over the control socket',
    );
    t.same(
      lines(await millrace(['user', 'list', '--json', ...byPassword])).map(({ userName }) => userName),
      ['ada', 'admin'],
    );
    const changed = await millrace(['user', 'password', 'ada', ...bySocket, '--new-password', 'Another-1']);
    t.same([changed.code, changed.stdout], [0, 'user  ada\n'], 'a given password is not repeated');
    t.match(changed.stderr, /the password of t1\/ada is changed/);
    t.equal((await ada.get('/user/currentUser')).status, 401);
    t.equal((await new Rest(url, 't1/ada', 'Another-1').get('/user/currentUser')).status, 200);
    t.equal((await millrace(['user', 'delete', 'ada', ...byPassword])).code, 0);
    t.equal((await new Rest(url, 't1/ada', 'Another-1').get('/user/currentUser')).status, 401);
  });

  t.test('tenants', async (t) => {
    const created = await millrace([
      'tenant',
      'create',
      'acme',
      '--email',
      'ada@example.com',
      '--url',
      url,
      '--password',
      MANAGEMENT_PASSWORD,
      '--json',
    ]);
    t.equal(created.code, 0, created.stderr);
    const [{ tenant, administrator, password }] = lines(created);
    t.same([tenant, administrator], ['acme', 'admin']);
    t.equal((await new Rest(url, 'acme/admin', password).get('/user/currentUser')).status, 200);
    t.match(
      (await millrace(['tenant', 'list', ...bySocket])).stdout,
      /^TENANT .*\nacme +acme +acme +ACTIVE +management\n/,
    );
  });

  t.test('a device with credentials of its own, seen by tail', async (t) => {
    const created = await millrace(['device', 'create', 'kiln-7', '--type', 'kiln', '--json', ...byPassword]);
    t.equal(created.code, 0, created.stderr);
    const [{ id, user, password }] = lines(created);
    t.equal(user, 't1/device_kiln-7');
    t.match(created.stderr, /mosquitto_pub -h 127\.0\.0\.1 -p \d+ -i kiln-7 -u t1\/device_kiln-7 -P \S+ -t s\/us/);
    const tail = start(COMMAND, ['tail', '--device', 'kiln-7', '--json', '--count', '2', ...bySocket]);
    await until('it is subscribed', () => tail.output().stderr.includes('showing measurements'));
    const device = new Rest(url, user, password);
    const time = '2026-11-25T10:00:00.000Z';
    const measurement = { source: { id }, type: 'kiln', time, kiln: { T: { value: 900, unit: 'C' } } };
    t.equal((await device.post('/measurement/measurements', measurement)).status, 201, 'as the device itself');
    await server.rest.createDevice('another');
    t.equal(
      (
        await device.post('/alarm/alarms', {
          source: { id },
          type: 'hot',
          time,
          text: 'too hot',
          severity: 'MAJOR',
          status: 'ACTIVE',
        })
      ).status,
      201,
    );
    const ended = await tail.ended;
    t.equal(ended.code, 0, ended.stderr);
    const seen = lines(ended);
    t.match(
      seen.sort((a, b) => (a.kind < b.kind ? 1 : -1)),
      [
        { kind: 'measurements', action: 'CREATE', entity: { type: 'kiln', kiln: { T: { value: 900 } } } },
        { kind: 'alarms', action: 'CREATE', entity: { type: 'hot' } },
      ],
    );
    t.equal(lineOf(seen[0]), `${time}  measurement  ${id}  kiln  kiln.T=900 C`);
    const filtered = start(COMMAND, ['tail', '--kind', 'events', '--type', 'wanted', '--count', '1', ...byPassword]);
    await until('it is subscribed', () => filtered.output().stderr.includes('showing events of the tenant t1'));
    for (const type of ['other', 'wanted'])
      await device.post('/event/events', { source: { id }, type, time, text: 'an event' });
    t.equal((await filtered.ended).stdout, `${time}  event  ${id}  wanted  an event\n`);
    t.match(
      (await millrace(['device', 'list', ...bySocket])).stdout,
      /^ID +NAME .*\n(.*\n)*\d+ +kiln-7 +kiln +device_kiln-7 /,
    );
    const again = await millrace(['device', 'password', 'kiln-7', '--new-password', 'Other-kiln-1', ...byPassword]);
    t.equal(again.code, 0, again.stderr);
    t.equal((await new Rest(url, user, 'Other-kiln-1').get(`/inventory/managedObjects/${id}`)).status, 200);
    t.equal((await millrace(['device', 'delete', 'kiln-7', ...bySocket])).code, 0);
    t.equal(await server.rest.idOf('kiln-7'), undefined);
  });

  t.test('tokens', async (t) => {
    for (const how of [byPassword, bySocket]) {
      const made = await millrace(['token', 'create', ...how]);
      t.equal(made.code, 0, made.stderr);
      const asked = (): Promise<Response> =>
        fetch(`${url}/user/currentUser`, { headers: { authorization: `Bearer ${made.stdout.trim()}` } });
      t.equal((await asked()).status, 200);
      t.equal((await millrace(['token', 'revoke', ...byPassword])).code, 0);
      t.equal((await asked()).status, 401);
    }
  });

  t.test('a forgotten password, and mistakes', async (t) => {
    const reset = await millrace(['user', 'password', 'admin', ...bySocket, '--json']);
    t.equal(reset.code, 0, reset.stderr);
    const [{ password }] = lines(reset);
    t.equal((await server.rest.get('/user/currentUser')).status, 401);
    t.equal((await new Rest(url, 't1/admin', password).get('/user/currentUser')).status, 200);
    const own = await millrace([
      'user',
      'password',
      'admin',
      '--url',
      url,
      '--password',
      password,
      '--new-password',
      PASSWORD,
    ]);
    t.equal(own.code, 0, `your own password too: ${own.stderr}`);
    const failing: [args: string[], code: number, said: RegExp][] = [
      [['user', 'list', '--url', url, '--password', 'wrong'], 1, /^millrace: GET \/user\/t1\/users\?.*: 401 /],
      [
        ['user', 'list', '--url', 'http://127.0.0.1:1', '--password', 'x'],
        1,
        /^millrace: http:\/\/127\.0\.0\.1:1 does not answer: /,
      ],
      [
        ['user', 'list', '--data', scratchDirectory(t)],
        1,
        /no password is given and no server runs on .*; give --password/,
      ],
      [['user', 'list', '--user', 'unknown', ...bySocket], 1, /^millrace: t1\/unknown does not exist, or is disabled/],
      [['user', 'password', 'admin', '--new-password', 'short', ...bySocket], 1, /password.*6 to 32 characters/],
      [['tail', '--device', 'nowhere', ...byPassword], 1, /no device has the serial or id nowhere/],
      [
        ['tail', '--kind', 'all', ...byPassword],
        2,
        /--kind is "all"; it takes .*measurements, events, alarms, operations/,
      ],
      [['user', 'create', ...byPassword], 2, /<name> is missing: the name of the user/],
      [['user'], 2, /Usage: millrace user <command>/],
    ];
    for (const [args, code, said] of failing) {
      const ended = await millrace(args);
      t.equal(ended.code, code, args.join(' '));
      t.match(ended.stderr, said);
      t.equal(ended.stdout, '');
    }
  });
});

t.test('tls self-signed', async (t) => {
  const directory = scratchDirectory(t);
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  const flags = ['tls', 'self-signed', '--tls-key', key, '--tls-certificate', certificate];
  const made = await millrace([...flags, '--names', 'localhost,mill.example,127.0.0.1,::1', '--json']);
  t.equal(made.code, 0, made.stderr);
  t.same(lines(made), [{ key, certificate, names: ['localhost', 'mill.example', '127.0.0.1', '::1'] }]);
  t.equal(statSync(key).mode & 0o777, 0o600);
  t.equal(statSync(certificate).mode & 0o777, 0o644);
  const read = new X509Certificate(readFileSync(certificate));
  for (const name of ['localhost', 'mill.example']) t.ok(read.checkHost(name), name);
  for (const address of ['127.0.0.1', '::1']) t.ok(read.checkIP(address), address);
  t.ok(read.verify(read.publicKey), 'it signs itself');
  const tls = createTlsServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) => socket.end());
  t.teardown(() => tls.close());
  await new Promise<void>((resolve) => {
    tls.listen(0, '127.0.0.1', resolve);
  });
  const client = connectTls({
    port: (tls.address() as AddressInfo).port,
    host: '127.0.0.1',
    ca: readFileSync(certificate),
  });
  t.teardown(() => client.destroy());
  await new Promise((resolve, reject) => {
    client.once('secureConnect', resolve).once('error', reject);
  });
  t.ok(client.authorized, 'clients that trust it take it');
  const again = await millrace(flags);
  t.same([again.code, again.stderr], [1, `millrace: ${key} is there already; --force replaces it\n`]);
  const before = readFileSync(key, 'utf8');
  writeFileSync(certificate, 'junk', { mode: 0o666 });
  t.equal((await millrace([...flags, '--force'])).code, 0);
  t.not(readFileSync(key, 'utf8'), before);
  t.ok(
    new X509Certificate(readFileSync(certificate)).checkIP('127.0.0.1'),
    'the names of this machine without --names',
  );
  const wrong = await millrace([...flags, '--names', 'a b']);
  t.same(
    [wrong.code, wrong.stderr],
    [2, 'millrace: --names has "a b"; it takes host names and IP addresses, comma separated\n'],
  );
});
