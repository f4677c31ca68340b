/** Subscribers are told of what a DELETE by filters takes (docs/spec/realtime.md#effects). */
import t from 'tap';
import { BayeuxSocket } from '../../helpers/running/bayeux.ts';
import { eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const time = '2026-05-02T10:00:00.000Z';

const KINDS = [
  ['measurements', '/measurement/measurements', { type: 'm', c8y_T: { T: { value: 1 }, U: { value: 2 } } }],
  ['events', '/event/events', { type: 'e', text: 'x' }],
  ['alarms', '/alarm/alarms', { text: 'x', severity: 'MINOR' }],
] as const;

for (const [area, path, body] of KINDS) {
  t.test(area, async (t) => {
    const id = await rest.createDevice(area);
    const create = async (type: string): Promise<string> =>
      (await rest.create(path, { ...body, type, time, source: { id } })).id;
    const kept = await create('kept');
    const gone = [await create('gone')];
    if (area !== 'alarms') gone.push(await create('gone'));
    const live = await BayeuxSocket.open(t, server, '/notification/realtime');
    await live.subscribe(`/${area}/${id}`);
    t.equal((await rest.delete(`${path}?source=${id}&type=gone`)).status, 204);
    await eventually('all are told', () => live.messages.length >= gone.length);
    t.same(
      (await rest.read(`${path}?source=${id}`))[area].map((one: { id: string }) => one.id),
      [kept],
    );
    t.same(
      live.messages.map(({ data }) => data).sort((a, b) => Number(a.data) - Number(b.data)),
      gone.sort((a, b) => Number(a) - Number(b)).map((one) => ({ realtimeAction: 'DELETE', data: one })),
      'each once, whatever its number of series',
    );
  });
}
