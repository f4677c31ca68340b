/** Live sessions of users whose records change: those of microservices, beside the commands for people. */
import t from 'tap';
import type { CachingAuthenticator } from '../../src/accounts/authenticator.ts';
import { RightsWatch } from '../../src/accounts/rights-watch.ts';
import type { DocumentReader } from '../../src/model/command.ts';
import type { Log } from '../../src/model/log.ts';

t.test('a user whose record was changed or removed is ended, one that was made or left as it was is not', async (t) => {
  const ended: string[] = [];
  const watch = new RightsWatch({
    authenticator: { recordsChanged: () => undefined } as unknown as CachingAuthenticator, documents: {} as DocumentReader, log: {} as Log,
    endUser: (tenant, userName) => ended.push(`${tenant}/${userName}`), endTokenSessions: () => undefined,
  });
  watch.recordsChanged(7, [
    { collection: 'user', id: 'changed', expected: '{}', value: '{"roles":[]}' }, { collection: 'user', id: 'removed', expected: '{}', value: undefined },
    { collection: 'user', id: 'made', expected: undefined, value: '{}' }, { collection: 'user', id: 'same', expected: '{}', value: '{}' },
    { collection: 'application', id: 'service\n1', expected: '{}', value: undefined },
  ]);
  t.same(ended, ['7/changed', '7/removed']);
});

t.test('after changes were missed: whoever is gone or disabled is ended', async (t) => {
  const ended: string[] = [];
  const users: Record<string, string> = { '7/here': '{"enabled":true}', '7/disabled': '{"enabled":false}', '8/here': '{"enabled":true}' };
  const reads: number[] = [];
  const watch = new RightsWatch({
    authenticator: {} as CachingAuthenticator, log: {} as Log, endTokenSessions: () => undefined,
    documents: { getMany: (_collection: string, tenant: number, ids: string[]) => {
      reads.push(ids.length);
      return ids.map((id) => users[`${tenant}/${id}`] ?? (id.startsWith('many') ? '{"enabled":true}' : undefined));
    } } as unknown as DocumentReader,
    endUser: (tenant, userName) => ended.push(`${tenant}/${userName}`),
  });
  const many = Array.from({ length: 2_500 }, (_, index) => `many-${index}`);
  await watch.recheck(new Map([[7, new Set(['here', 'disabled', 'gone'])], [8, new Set(['here', 'disabled', ...many])]]));
  t.same(ended, ['7/disabled', '7/gone', '8/disabled']);
  t.same(reads, [3, 1_000, 1_000, 502]);
});
