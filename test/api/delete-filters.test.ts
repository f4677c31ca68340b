/** The filters that DELETE routes put into a command are known to the store: an unknown one would stop the projector for good. */
import t from 'tap';
import type { DataDelete } from '../../src/model/command.ts';
import { COMMAND } from '../../src/model/command.ts';
import { ClickHouseHistoryWriter } from '../../src/store/clickhouse-history.ts';
import { startApi } from './helpers/api.ts';

const RANGE = 'dateFrom=2024-05-02&dateTo=2024-05-03';
const CREATED = 'createdFrom=2024-05-02&createdTo=2024-05-03';
const UPDATED = 'lastUpdatedFrom=2024-05-02&lastUpdatedTo=2024-05-03';

t.test('every filter of every DELETE', async (t) => {
  const api = await startApi(t);
  const where: string[] = [];
  const writer = new ClickHouseHistoryWriter({ command: async (sql: string) => void where.push(sql), query: async (sql: string) => {
    where.push(sql);
    return sql.includes('FROM system.') ? [{ found: 0 }] : [];
  } } as never);
  const check = async (path: string, row?: object): Promise<void> => {
    api.fake.rows = row === undefined ? [] : [[row]];
    t.equal((await api.call('DELETE', path)).status, 204, path);
    const command = api.fake.sent.at(-1);
    t.equal(command?.kind, COMMAND.DATA_DELETE);
    const { table, filter } = command?.body as DataDelete;
    where.length = 0;
    const run: Promise<unknown> = table === 'measurements' ? writer.deleteMeasurements(2, filter, 1) : writer.select(2, table, filter, 0);
    await t.resolves(run, path);
    // A filter that is passed over would delete more than was asked for.
    const conditions = (where.at(-1) ?? '').split('seq <=')[0].split(' AND ').length;
    const names = Object.keys(filter);
    t.ok(conditions > names.length, `${path}: each of ${names.join()} is a condition in ${where.at(-1)}`);
  };
  await check(`/measurement/measurements?source=1&type=a&fragmentType=b&valueFragmentType=c&valueFragmentSeries=d&${RANGE}`);
  await check('/measurement/measurements/7', { entityId: '7', sourceId: '1', timeMs: '1714600000000', type: 'a',
    fragment: '', series: '', value: 0, unit: '', doc: '' });
  await check(`/event/events?source=1&type=a&fragmentType=b&fragmentValue=c&${RANGE}&${CREATED}&${UPDATED}`);
  await check(`/alarm/alarms?source=1&type=a&severity=MAJOR,MINOR&status=ACTIVE&${RANGE}&${CREATED}&${UPDATED}`);
  await check('/alarm/alarms?resolved=true&withSourceDevices=true&source=1');
  await check(`/devicecontrol/operations?agentId=1&deviceId=2&status=PENDING&${RANGE}`);
});
