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
