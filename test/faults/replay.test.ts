/**
 * The process ends between the commit of the journal and that of the documents: the next start handles what the journal
 * has beyond them, once.
 */
import { join } from 'node:path';
import t from 'tap';
import { encodeCommand } from '../../src/ingest/journal/command-record.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { LmdbJournal } from '../../src/store/lmdb/journal.ts';
import { openLmdb } from '../../src/store/lmdb/environment.ts';
import { ServerProcess } from '../helpers/process/server.ts';

/** Of the first tenant. */
const TENANT_NUMBER = 2;

t.test('a command that is in the journal alone', async (t) => {
  const server = await new ServerProcess(t).start();
  const device = await server.createDevice('replayed');
  t.equal((await server.terminate()).code, 0);
  const environment = openLmdb(join(server.data, 'documents'));
  const journal = new LmdbJournal(environment);
  const now = Date.now();
  const doc = JSON.stringify({ type: 'x', text: 'journaled', time: new Date(now).toISOString() });
  const record = encodeCommand({
    kind: COMMAND.EVENT_CREATE,
    tenant: TENANT_NUMBER,
    key: Number(device),
    mode: 0,
    receivedAt: now,
    body: { id: '4503599627370496', type: 'x', time: now, doc },
  });
  await journal.append(journal.lastSeq + 1, record, 1);
  await environment.close();
  for (const start of ['the next start', 'a further start']) {
    await server.start();
    t.match((await server.http('GET', '/event/events/4503599627370496')).text, /journaled/, `${start}: the document`);
    const { events } = (await server.http('GET', `/event/events?source=${device}`)).json<{
      events: { text: string }[];
    }>();
    t.same(
      events.map(({ text }) => text),
      ['journaled'],
      `${start}: the history`,
    );
    t.equal((await server.terminate()).code, 0);
  }
});
