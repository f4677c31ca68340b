/**
 * What gives space back passes the limits of the disk and of the journal, a few times for each tenant, as long as the
 * reserve is there.
 */
import t from 'tap';
import { FreeingCommands } from '../../src/ingest/journal/freeing-commands.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { Command } from '../../src/model/commands/command.ts';

t.test('a share of each tenant, which comes back with time', async (t) => {
  const state = { refusal: undefined as string | undefined, freeBytes: 60, now: 0 };
  const commands = { request: async () => 'asked' as never, requestBeyondBound: async () => 'passed' as never };
  const freeing = new FreeingCommands({
    commands,
    intake: {
      get refusal() {
        return state.refusal;
      },
    },
    freeBytes: () => state.freeBytes,
    reserveBytes: 50,
    now: () => state.now,
  });
  const send = (tenant: number): Promise<string> =>
    freeing.request<string>({
      kind: COMMAND.DATA_DELETE,
      tenant,
      key: 't',
      mode: 0,
      receivedAt: 1,
      body: {},
    } as unknown as Command);
  const passed = async (tenant: number): Promise<number> => {
    let count = 0;
    while (count < 100 && (await send(tenant)) === 'passed') count += 1;
    return count;
  };
  t.equal(await send(1), 'asked', 'nothing refuses');
  state.refusal = 'journal/unavailable';
  t.equal(await send(1), 'asked', 'another limit');
  state.refusal = 'disk/free-bytes';
  t.equal(await passed(1), 20);
  t.equal(await passed(2), 20, 'another tenant has its own');
  state.refusal = 'clickhouse/free-bytes';
  t.equal(await passed(3), 20, 'the disk of ClickHouse');
  state.refusal = 'journal/bytes';
  state.now = 35_000;
  t.equal(await passed(1), 3);
  state.now = 40_000;
  t.equal(await passed(1), 1);
  state.now = 1e9;
  t.equal(await passed(1), 20);
  state.now = 2e9;
  state.freeBytes = 49;
  t.equal(await passed(1), 0, 'the reserve stays');
});
