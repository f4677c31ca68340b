/** Exports end with the access of who asked for them. */
import t from 'tap';
import type { ApiRequest } from '../../../src/api/request/request.ts';
import { exportRows } from '../../../src/api/export/export.ts';
import type { ExportShape } from '../../../src/api/export/export.ts';
import type { ExportRow } from '../../../src/history/batches.ts';
import { Exports } from '../../../src/history/exports.ts';

const ROWS = 5;
const shape: ExportShape = {
  columns: [{ name: 'n', type: 'text' }],
  texts: async (batch: readonly string[][]) => batch.map(([, doc]) => doc),
} as unknown as ExportShape;

/** @param end what ends behind the second row. @returns what was sent, and whether it broke off. */
async function run(
  end: (state: { tenant: object | undefined; user: string | undefined }) => void,
): Promise<{ sent: string; failure: unknown; counted: string[] }> {
  const state: { tenant: object | undefined; user: string | undefined } = {
    tenant: { status: 'ACTIVE' },
    user: '{"enabled":true}',
  };
  const result = { sent: '', failure: undefined as unknown, counted: [] as string[] };
  const count = (limit: string): void => void result.counted.push(limit);
  const exports = new Exports({ count });
  let piped: Promise<void> = Promise.resolve();
  const request = {
    principal: { tenantNumber: 1, userName: 'ada' },
    refused: count,
    route: { path: '/event/events' },
    platform: {
      exports,
      refusals: { count },
      tenants: { byNumber: () => state.tenant },
      documents: { get: () => state.user },
    },
    stream: () => undefined,
    exchange: {
      isOver: false,
      pipe: (pieces: AsyncIterable<string>) => {
        piped = (async () => {
          for await (const piece of pieces) result.sent += piece;
        })().catch((error: unknown) => {
          result.failure = error;
        });
        return piped;
      },
    },
  } as unknown as ApiRequest;
  const batches = (async function* all() {
    for (let index = 1; index <= ROWS; index += 1) {
      if (index === 3) end(state);
      yield [[String(index), String(index)]] satisfies ExportRow[];
    }
  })();
  await exportRows(request, 'ndjson', shape, batches);
  await piped;
  t.equal(exports.count, 0, 'its place is free');
  return result;
}

t.test('who may go on gets all', async (t) => {
  t.same(await run(() => undefined), { sent: '1\n2\n3\n4\n5\n', failure: undefined, counted: [] });
});

t.test('a suspended or deleted tenant, a disabled or deleted user: it is broken off and counted', async (t) => {
  for (const [what, end] of [
    [
      'suspended',
      (state) => {
        state.tenant = { status: 'SUSPENDED' };
      },
    ],
    [
      'no tenant',
      (state) => {
        state.tenant = undefined;
      },
    ],
    [
      'disabled',
      (state) => {
        state.user = '{"enabled":false}';
      },
    ],
    [
      'no user',
      (state) => {
        state.user = undefined;
      },
    ],
  ] as [string, Parameters<typeof run>[0]][]) {
    const { sent, failure, counted } = await run(end);
    t.equal(sent, '1\n2\n', what);
    t.match(failure, { code: 'security/unauthorized' }, 'so that nobody takes it for complete');
    t.same(counted, ['exports/access-ended'], what);
  }
});
