/** kill -9 in the middle of a change of many alarms: after the restart it goes on, and nothing is changed twice. */
import t from 'tap';
import { Rest, PASSWORD, TENANT, eventually, startServer } from '../helpers/running/server.ts';
import { scratchDirectory } from '../helpers/setup-command.ts';

const ALARMS = 3_000;
const TIME = '2024-05-02T10:00:00.000Z';

t.test('kill -9 while alarms are being cleared', async (t) => {
  const data = scratchDirectory(t);
  const server = await startServer(t, { data });
  const device = await server.rest.createDevice('Many');
  const raise = (rest: Rest, type: string): Promise<unknown> =>
    rest.request('POST', '/alarm/alarms', {
      headers: { accept: '' },
      body: { source: { id: device }, type, text: 't', time: TIME, severity: 'MINOR' },
    });
  for (let start = 0; start < ALARMS; start += 300)
    await Promise.all(Array.from({ length: 300 }, (_, index) => raise(server.rest, `type ${start + index}`)));
  const counted = async (rest: Rest, query: string): Promise<number> =>
    Number((await rest.get(`/alarm/alarms/count?source=${device}&${query}`)).text);
  t.equal(await counted(server.rest, 'status=ACTIVE'), ALARMS);
  // The answer may not come any more.
  const answer = server.rest.put(`/alarm/alarms?source=${device}&status=ACTIVE`, { status: 'CLEARED' }).then(
    ({ status }) => status,
    () => 0,
  );
  await eventually('it has begun', async () => (await counted(server.rest, 'status=CLEARED')) > 0);
  await server.stop('SIGKILL');
  t.comment(`answered with ${await answer}`);
  const again = await startServer(t, { data });
  const rest = new Rest(again.url, `${TENANT}/admin`, PASSWORD);
  await raise(rest, 'later');
  const left = await counted(rest, 'status=ACTIVE');
  t.comment(`${left} left after the restart`);
  await eventually('all are cleared', async () => (await counted(rest, 'status=CLEARED')) === ALARMS, 60_000);
  t.equal(await counted(rest, 'status=ACTIVE'), 1, 'but for the one that came later');
  const total = async (activity: string): Promise<number> => {
    const { statistics } = await rest.read(`/audit/auditRecords?type=Alarm&pageSize=1&withTotalElements=true`);
    t.comment(`${activity}: ${JSON.stringify(statistics)}`);
    return statistics.totalElements as number;
  };
  t.equal(await total('raised and changed'), 2 * ALARMS + 1, 'each was raised and cleared once');
  t.match((await rest.read(`/inventory/managedObjects/${device}`)).c8y_ActiveAlarmsStatus, { minor: 1 });
});
