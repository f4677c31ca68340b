/**
 * Data of an older version: `fixtures/data-8fbfd87.tar.gz` has the data directory of a server of commit 8fbfd87 that
 * was killed while its history store stood still (`data`, with an unread journal), and a backup that it had made before
 * (`backup`).
 */
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { ServerProcess } from '../helpers/process/server.ts';
import { ROOT } from '../helpers/root.ts';
import { millrace, scratchDirectory, until } from '../helpers/setup-command.ts';

const directory = scratchDirectory(t);
execFileSync('tar', ['-xzf', join(ROOT, 'test/fixtures/data-8fbfd87.tar.gz'), '-C', directory]);
/** What the script that made it has written: before the backup, and again behind it. */
const OF_EACH_ROUND = { measurements: 50, events: 6 };
/** Twelve hours from now: no retention run in the middle of the test. */
const QUIET_HOUR = String((new Date().getUTCHours() + 12) % 24);

async function isComplete(t: Test, data: string, rounds: number): Promise<void> {
  const server = new ServerProcess(t, { data, args: ['--retention-hour', QUIET_HOUR] });
  await server.start();
  const read = async (path: string): Promise<any> => {
    const answer = await server.http('GET', path, undefined, { accept: 'application/json' });
    t.equal(answer.status, 200, path);
    return answer.json();
  };
  const device = (await read('/identity/externalIds/c8y_Serial/pump-1')).managedObject.id;
  t.match(await read(`/inventory/managedObjects/${device}`), {
    name: 'pump',
    note: 'Pumpe é',
    big: 12_345,
    childDevices: { references: { length: 1 } },
  });
  for (const [path, name] of [
    ['/measurement/measurements', 'measurements'],
    ['/event/events', 'events'],
  ] as const) {
    const page = await read(`${path}?source=${device}&pageSize=2000&withTotalPages=true`);
    t.equal(page[name].length, OF_EACH_ROUND[name] * rounds, `${name} of ${rounds} rounds`);
    t.equal(new Set(page[name].map(({ id }: { id: string }) => id)).size, page[name].length, 'each once');
  }
  t.match(await read(`/alarm/alarms?source=${device}`), {
    alarms: [{ text: 'too hot', severity: 'MAJOR', status: 'ACTIVE' }],
  });
  t.match(await read('/tenant/options/fixture/colour'), { value: 'green' });
  t.ok((await read('/user/t1/groups?pageSize=100')).groups.some(({ name }: { name: string }) => name === 'fixture'));
  t.equal(
    (await read('/retention/retentions?pageSize=100')).retentionRules.filter(
      ({ maximumAge }: { maximumAge: number }) => maximumAge === 3_650,
    ).length,
    2,
  );
  const erna = { authorization: `Basic ${Buffer.from('t1/erna:Erna-Password-1').toString('base64')}` };
  t.equal((await server.http('GET', '/user/currentUser', undefined, erna)).status, 200, 'passwords are known');
  const written = await server.http('POST', '/event/events', {
    source: { id: device },
    type: 'new',
    text: 'of this version',
    time: new Date().toISOString(),
  });
  t.equal(written.status, 201, 'and it goes on');
  await until('all is in the history', async () => (await server.http('GET', '/health/ready')).status === 200);
  t.equal((await server.terminate()).code, 0);
}

t.test('a data directory with an unread journal opens and is complete', async (t) => {
  const data = join(directory, 'moved');
  cpSync(join(directory, 'data'), data, { recursive: true });
  await isComplete(t, data, 2);
});

t.test('a backup is restored and is complete', async (t) => {
  const data = join(directory, 'restored');
  const restored = await millrace(['restore', join(directory, 'backup'), '--data', data]);
  t.equal(restored.code, 0, restored.stderr);
  await isComplete(t, data, 1);
});
