/** Backup and restore: offline copies, the manifest, the refusals, and the request to a running server. */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  existsSync,
  appendFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { open } from 'lmdb';
import t from 'tap';
import { backup } from '../../src/cli/backup.ts';
import type { BackupOptions } from '../../src/cli/backup-settings.ts';
import { copyDirectory, verifyManifest, writeManifest } from '../../src/operate/backup/files.ts';
import { lockHolder } from '../../src/operate/control.ts';
import { RESTORE_NAMES, checkBackup, finishRestore, stageRestore } from '../../src/operate/backup/restore-files.ts';
import { freePort } from '../helpers/free-port.ts';
import { COMMAND, millrace, scratchDirectory, start, until } from '../helpers/setup-command.ts';

/** A data directory as the server leaves it, with one document. */
async function dataDirectory(path: string): Promise<void> {
  mkdirSync(join(path, 'clickhouse', 'store', 'abc'), { recursive: true });
  writeFileSync(join(path, 'clickhouse', 'store', 'abc', 'data.bin'), Buffer.alloc(100_000, 7));
  writeFileSync(join(path, 'secrets.json'), '{"a":1}');
  writeFileSync(join(path, 'lock'), '');
  const documents = open({ path: join(path, 'documents') });
  await documents.openDB({ name: 'objects' }).put('1', { name: 'one' });
  await documents.close();
}

t.test('what is backed up comes back', async (t) => {
  const directory = scratchDirectory(t);
  const [data, copy, restored] = ['data', 'copy', 'restored'].map((name) => join(directory, name));
  await dataDirectory(data);
  const made = await millrace(['backup', '--data', data, copy]);
  t.equal(made.code, 0, made.stderr);
  t.equal(made.stdout, `${copy}\n`);
  t.notOk(existsSync(join(copy, 'lock')), 'the lock belongs to the process');
  t.same((await verifyManifest(copy)).problems, []);
  const back = await millrace(['restore', '--data', restored, copy]);
  t.equal(back.code, 0, back.stderr);
  t.equal(readFileSync(join(restored, 'clickhouse/store/abc/data.bin')).length, 100_000);
  t.equal(readFileSync(join(restored, 'secrets.json'), 'utf8'), '{"a":1}');
  t.notOk(existsSync(join(restored, 'backup.json')));
  const documents = open({ path: join(restored, 'documents') });
  t.same(documents.openDB({ name: 'objects' }).get('1'), { name: 'one' });
  await documents.close();
});

/** What in the directory, itself included, others than the owner can get at. */
function openToOthers(directory: string): string[] {
  return ['', ...readdirSync(directory, { recursive: true, encoding: 'utf8' })].filter(
    (name) => (statSync(join(directory, name)).mode & 0o077) !== 0,
  );
}

t.test('copies are for their owner alone, as the data directory is', async (t) => {
  const directory = scratchDirectory(t);
  const [data, copy, old, restored] = ['data', 'copy', 'parent/old', 'restored'].map((name) => join(directory, name));
  await dataDirectory(data);
  chmodSync(join(data, 'clickhouse'), 0o755);
  chmodSync(join(data, 'documents', 'data.mdb'), 0o644);
  for (const to of [copy, old]) t.equal((await millrace(['backup', '--data', data, to])).code, 0);
  t.same(openToOthers(copy), []);
  t.same(openToOthers(join(directory, 'parent')), []);
  // As a backup was that an earlier version made.
  for (const name of ['', 'clickhouse', 'documents']) chmodSync(join(old, name), 0o755);
  chmodSync(join(old, 'documents', 'data.mdb'), 0o644);
  t.equal((await millrace(['restore', '--data', restored, old])).code, 0);
  t.same(openToOthers(restored), []);
});

t.test('the configuration file says which data', async (t) => {
  const directory = scratchDirectory(t);
  const [data, copy, restored, file] = ['data', 'copy', 'restored', 'config.json'].map((name) => join(directory, name));
  await dataDirectory(data);
  writeFileSync(file, JSON.stringify({ data, 'http-port': 8081 }));
  const made = await millrace(['backup', '--config', file, copy]);
  t.equal(made.code, 0, made.stderr);
  t.ok(existsSync(join(copy, 'secrets.json')));
  writeFileSync(file, JSON.stringify({ data: restored }));
  const back = await millrace(['restore', copy], { MILLRACE_CONFIG: file });
  t.equal(back.code, 0, back.stderr);
  t.ok(existsSync(join(restored, 'secrets.json')));
});

t.test('documents are copied consistently while another process writes', async (t) => {
  const directory = scratchDirectory(t);
  const [data, copy] = ['data', 'copy'].map((name) => join(directory, name));
  await dataDirectory(data);
  // As the server opens it (src/store/lmdb/environment.ts): with overlapping syncs LMDB failed once in this loop.
  const documents = open({ path: join(data, 'documents'), overlappingSync: false });
  t.teardown(() => documents.close());
  const made = millrace(['backup', '--data', data, copy]);
  let count = 0;
  let isDone = false;
  void made.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    count += 1;
    await documents.put('count', count);
  }
  t.equal((await made).code, 0, (await made).stderr);
  const copied = open({ path: join(copy, 'documents'), readOnly: true });
  t.same(copied.openDB({ name: 'objects' }).get('1'), { name: 'one' });
  await copied.close();
});

t.test('restore refuses', async (t) => {
  const directory = scratchDirectory(t);
  const [data, copy] = ['data', 'copy'].map((name) => join(directory, name));
  await dataDirectory(data);
  t.equal((await millrace(['backup', '--data', data, copy])).code, 0);
  const full = await millrace(['restore', '--data', data, copy]);
  t.equal(full.code, 1);
  t.match(full.stderr, /is not empty; --force/);
  writeFileSync(join(data, 'newer'), 'x');
  const forced = await millrace(['restore', '--data', data, '--force', copy]);
  t.equal(forced.code, 0, forced.stderr);
  t.notOk(existsSync(join(data, 'newer')));
  writeFileSync(join(copy, 'secrets.json'), '{"a":2}');
  t.match((await millrace(['restore', '--data', data, '--force', copy])).stderr, /secrets.json has other content/);
  t.equal(readFileSync(join(data, 'secrets.json'), 'utf8'), '{"a":1}', 'nothing is touched');
  rmSync(join(copy, 'backup.json'));
  const unfinished = await millrace(['restore', '--data', join(directory, 'new'), copy]);
  t.equal(unfinished.code, 1);
  t.match(unfinished.stderr, /not a finished backup/);
  const other = join(directory, 'other');
  t.equal((await millrace(['backup', '--data', data, other])).code, 0);
  const manifestPath = join(other, 'backup.json');
  const manifest = JSON.parse(readFileSync(manifestPath, 'utf8')) as object;
  writeFileSync(manifestPath, JSON.stringify({ ...manifest, schema: 999 }));
  t.match(
    (await millrace(['restore', '--data', data, '--force', other])).stderr,
    /has schema 999; this version of Millrace knows \d: start the newer version again/,
  );
  writeFileSync(manifestPath, JSON.stringify(manifest));
  const checked = await checkBackup(other);
  await t.rejects(stageRestore(data, other, checked, 2 ** 60), /bytes free; the copy beside the data needs 1152921504/);
  t.equal((await millrace(['restore', '--data', join(data, 'deeper', 'x'), other])).code, 0, 'below a directory');
  await t.rejects(stageRestore(directory, other, checked), /lies inside the data directory/);
  t.same(
    readdirSync(data).filter((name) => name.startsWith('.restor')),
    [],
    'nothing is left of what was refused',
  );
});

t.test('backup refuses', async (t) => {
  const directory = scratchDirectory(t);
  const data = join(directory, 'data');
  await dataDirectory(data);
  const check = async (to: string, pattern: RegExp): Promise<void> => {
    const result = await millrace(['backup', '--data', data, to]);
    t.equal(result.code, 1);
    t.match(result.stderr, pattern);
  };
  await check(join(data, 'inside'), /inside the data directory/);
  await check(directory, /is not empty/);
  symlinkSync('/etc/hostname', join(data, 'clickhouse', 'link'));
  mkdirSync(join(directory, 'empty'));
  for (const name of ['absent-yet', 'empty'])
    await check(join(directory, name), /the backup could not be made: .* cannot be copied with it/);
  t.notOk(existsSync(join(directory, 'absent-yet')), 'nothing is left of what failed');
  t.same(readdirSync(join(directory, 'empty')), []);
  rmSync(join(data, 'clickhouse', 'link'));
  writeFileSync(join(data, 'lock'), String(process.pid));
  await check(join(directory, 'copy'), /process \d+ holds/);
  t.match(
    (await millrace(['backup', '--data', join(directory, 'absent'), join(directory, 'copy')])).stderr,
    /the data directory .* does not exist/,
  );
});

t.test('a running server is asked', async (t) => {
  const data = scratchDirectory(t);
  const to = join(scratchDirectory(t), 'copy');
  const requests: string[] = [];
  let [answer, isPrivate] = ['{"ok":true}', true];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      requests.push(chunk.toString());
      if (!isPrivate) {
        mkdirSync(to);
        writeFileSync(join(to, 'backup.json'), '{}');
      }
      socket.write(`${answer}\n`);
    });
  });
  await new Promise<void>((done) => {
    server.listen(join(data, 'control.sock'), done);
  });
  t.teardown(() => server.close());
  await t.rejects(backup({ data, config: undefined } as BackupOptions, to, '1.0.0'), {
    message: /the server sees another .*PrivateTmp/,
  });
  isPrivate = false;
  t.equal((await millrace(['backup', '--data', data, to])).code, 0);
  t.same(JSON.parse(requests[1]), { command: 'backup', to });
  isPrivate = true;
  rmSync(to, { recursive: true });
  answer = '{"ok":false,"error":"the disk is full"}';
  const failed = await millrace(['backup', '--data', data, to]);
  t.equal(failed.code, 1);
  t.match(failed.stderr, /the disk is full/);
  answer = 'what?';
  t.match((await millrace(['backup', '--data', data, to])).stderr, /did not answer/);
});

t.test('the manifest finds what is missing, changed or added', async (t) => {
  const directory = scratchDirectory(t);
  const [from, to] = ['from', 'to'].map((name) => join(directory, name));
  mkdirSync(join(from, 'a'), { recursive: true });
  for (const name of ['a/one', 'a/two', 'three', 'skipped']) writeFileSync(join(from, name), name);
  symlinkSync('../three', join(from, 'a/link'));
  symlinkSync('one', join(from, 'a/other'));
  t.equal(await copyDirectory(from, to, ['skipped']), 'a/onea/twothree'.length);
  const manifest = await writeManifest(to, { version: '1', timeMs: 0, checksums: false });
  t.same(
    manifest.files.map((file) => file.path),
    ['a/one', 'a/two', 'three'],
  );
  t.same(manifest.links, [
    { path: 'a/link', target: '../three' },
    { path: 'a/other', target: 'one' },
  ]);
  t.equal(manifest.time, '1970-01-01T00:00:00.000Z');
  t.same((await verifyManifest(to)).problems, []);
  rmSync(join(to, 'a/link'));
  rmSync(join(to, 'a/other'));
  symlinkSync('two', join(to, 'a/other'));
  symlinkSync('two', join(to, 'a/new'));
  rmSync(join(to, 'a/one'));
  appendFileSync(join(to, 'a/two'), '!');
  writeFileSync(join(to, 'four'), '');
  t.same((await verifyManifest(to)).problems, [
    'a/one is missing',
    'a/two has 6 bytes instead of 5',
    'four is not in the manifest',
    'a/link is not a link to ../three',
    'a/other is not a link to one',
    'the link a/new is not in the manifest',
  ]);
  writeFileSync(join(to, 'backup.json'), JSON.stringify({ ...manifest, files: [{ path: '../x', sizeBytes: 1 }] }));
  t.match((await verifyManifest(to)).problems, [/lacks its time, version or list/]);
});

t.test('a link that leads out of the directory is refused', async (t) => {
  for (const target of ['/etc/hostname', '../outside']) {
    const directory = scratchDirectory(t);
    mkdirSync(join(directory, 'from'));
    symlinkSync(target, join(directory, 'from', 'link'));
    await t.rejects(copyDirectory(join(directory, 'from'), join(directory, 'to')), { message: /cannot be copied/ });
  }
});

/** A server on a data directory, with the first tenant's administrator. */
async function serve(data: string, port = 0): Promise<{ url: string; stop(): Promise<number | null> }> {
  const running = start(
    COMMAND,
    ['serve', '--host', '127.0.0.1', '--http-port', String(port), '--mqtt-port', '0', '--data', data],
    { MILLRACE_ADMIN_PASSWORD: 'secret-1' },
  );
  await until('the screen', () => running.output().stdout.includes('curl') || running.child.exitCode !== null);
  const url = /http:\/\/[\d.:]+/.exec(running.output().stdout)?.[0];
  if (url === undefined) throw new Error(running.output().stderr);
  return {
    url,
    stop: async () => {
      running.child.kill('SIGTERM');
      return (await running.ended).code;
    },
  };
}

const HEADERS = {
  authorization: `Basic ${Buffer.from('t1/admin:secret-1').toString('base64')}`,
  'content-type': 'application/json',
  accept: 'application/json',
};

async function call(url: string, body?: object): Promise<Record<string, any>> {
  const answer = await fetch(url, {
    headers: HEADERS,
    ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Record<string, any>;
}

t.test('a server on a restored backup has what the first one stored', async (t) => {
  const directory = scratchDirectory(t);
  const data = join(directory, 'data');
  const first = await serve(data);
  const { id } = await call(`${first.url}/inventory/managedObjects`, { name: 'kept', c8y_IsDevice: {} });
  await call(`${first.url}/measurement/measurements`, {
    source: { id },
    type: 'kept',
    time: '2026-01-01T00:00:00.000Z',
    a: { b: { value: 7 } },
  });
  t.equal((await call(`${first.url}/measurement/measurements?source=${id}`)).measurements.length, 1);
  const [running, stopped] = [join(directory, 'running'), join(directory, 'stopped')];
  const byServer = await millrace(['backup', '--data', data, running]);
  t.equal(byServer.code, 0, byServer.stderr);
  t.match(byServer.stderr, /the running server made the backup/);
  t.same(openToOthers(running), []);
  t.equal(await first.stop(), 0);
  const offline = await millrace(['backup', '--data', data, stopped]);
  t.equal(offline.code, 0, offline.stderr);
  for (const backup of [running, stopped]) {
    const restored = `${backup}-restored`;
    const result = await millrace(['restore', '--data', restored, backup]);
    t.equal(result.code, 0, result.stderr);
    const second = await serve(restored);
    t.equal((await call(`${second.url}/inventory/managedObjects/${id}`)).name, 'kept', 'documents');
    const { measurements } = await call(`${second.url}/measurement/measurements?source=${id}`);
    t.match(measurements, [{ type: 'kept', a: { b: { value: 7 } } }], 'history');
    t.equal(await second.stop(), 0);
  }
});

t.test('a running server takes a backup over', async (t) => {
  const directory = scratchDirectory(t);
  const [data, copy] = ['data', 'copy'].map((name) => join(directory, name));
  const server = await serve(data, await freePort());
  const measure = (id: string, value: number) =>
    call(`${server.url}/measurement/measurements`, {
      source: { id },
      type: 'kept',
      time: '2026-01-01T00:00:00.000Z',
      a: { b: { value } },
    });
  const valuesOf = async (id: string): Promise<number[]> =>
    (await call(`${server.url}/measurement/measurements?source=${id}`)).measurements.map(
      (measurement: { a: { b: { value: number } } }) => measurement.a.b.value,
    );
  const { id } = await call(`${server.url}/inventory/managedObjects`, { name: 'kept', c8y_IsDevice: {} });
  await measure(id, 7);
  t.equal((await millrace(['backup', '--data', data, copy])).code, 0);
  await measure(id, 8);
  const { id: later } = await call(`${server.url}/inventory/managedObjects`, { name: 'later' });
  const unforced = await millrace(['restore', '--data', data, copy]);
  t.equal(unforced.code, 1);
  t.match(unforced.stderr, /is the data of a running server; --force/);
  t.same(await valuesOf(id), [7, 8]);
  for (const round of [1, 2]) {
    const restored = await millrace(['restore', '--force', '--data', data, copy]);
    t.equal(restored.code, 0, restored.stderr);
    t.match(restored.stderr, /the server runs on the backup of 2/);
    t.same(await valuesOf(id), [7], 'history');
    t.notOk((await fetch(`${server.url}/inventory/managedObjects/${later}`, { headers: HEADERS })).ok, 'documents');
    t.same(
      readdirSync(data).filter((name) => name.startsWith('.restor')),
      [],
    );
    await measure(id, 10 + round);
    t.same(await valuesOf(id), [7, 10 + round]);
  }
  writeFileSync(join(copy, 'secrets.json'), '{"a":2}');
  const broken = await millrace(['restore', '--force', '--data', data, copy]);
  t.equal(broken.code, 1);
  t.match(broken.stderr, /secrets.json has/);
  t.same(await valuesOf(id), [7, 12], 'nothing is touched');
  t.equal(await server.stop(), 0);
});

t.test('kill -9 at each step of a restore: the old data or the backup, never something between', async (t) => {
  const directory = scratchDirectory(t);
  const [made, from] = ['made', 'from'].map((name) => join(directory, name));
  await dataDirectory(made);
  t.equal((await millrace(['backup', '--data', made, from])).code, 0);
  const contents = (data: string): string[] => readdirSync(data, { recursive: true, encoding: 'utf8' }).sort();
  for (const step of ['copying', 'unwanted', 'whole', 'removed', 'moving', 'moved']) {
    const data = join(directory, step);
    mkdirSync(join(data, 'old'), { recursive: true });
    writeFileSync(join(data, 'secrets.json'), 'old');
    writeFileSync(join(data, 'lock'), String(process.pid));
    if (step === 'copying' || step === 'unwanted') {
      mkdirSync(join(data, RESTORE_NAMES[step]));
      t.equal(await finishRestore(data, async () => undefined), false, step);
      t.same(contents(data), ['lock', 'old', 'secrets.json'], step);
      continue;
    }
    await stageRestore(data, from, await checkBackup(from));
    if (step !== 'whole') for (const name of ['old', 'secrets.json']) rmSync(join(data, name), { recursive: true });
    if (step.startsWith('mov')) renameSync(join(data, RESTORE_NAMES.whole), join(data, RESTORE_NAMES.moving));
    if (step === 'moved') renameSync(join(data, RESTORE_NAMES.moving, 'secrets.json'), join(data, 'secrets.json'));
    t.equal(await finishRestore(data, async () => undefined), true, step);
    t.same(contents(data), [...contents(from).filter((name) => name !== 'backup.json'), 'lock'].sort(), step);
    t.equal(readFileSync(join(data, 'secrets.json'), 'utf8'), '{"a":1}', step);
    t.equal(await finishRestore(data, async () => undefined), false, 'once');
  }
});

t.test('who holds the lock', async (t) => {
  const data = scratchDirectory(t);
  const check = (text: string, want: number | undefined): void => {
    writeFileSync(join(data, 'lock'), text);
    t.equal(lockHolder(data), want, text);
  };
  check('', undefined);
  check(String(process.ppid), process.ppid);
  check(`{"pid": ${process.ppid}}`, process.ppid);
  check(String(process.pid), undefined);
  check('999999999', undefined);
});
