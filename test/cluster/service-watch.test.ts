/** Shards without service are told once, and again when that has ended. */
import t from 'tap';
import { ServiceWatch } from '../../src/cluster/shards/service-watch.ts';
import type { Log } from '../../src/ports/log.ts';
import { silentLog } from '../helpers/stores/nats-server.ts';

t.test('a take-over is not told, a shard that nobody serves is', async (t) => {
  const away = new Set([3, 7]);
  const lines: string[] = [];
  const log: Log = {
    ...silentLog,
    error: (fields: object) => lines.push(JSON.stringify(fields)),
    info: (_: object, text: string) => lines.push(text),
  };
  const watch = new ServiceWatch((shard) => !away.has(shard), log);
  watch.look(0);
  away.delete(3);
  watch.look(29_000);
  t.same(watch.unserved, []);
  away.add(3);
  watch.look(30_000);
  watch.look(31_000);
  t.same(watch.unserved, [7]);
  away.clear();
  watch.look(60_000);
  t.same(watch.unserved, []);
  t.same(lines, ['{"shards":[7]}', 'every shard is served again']);
});
