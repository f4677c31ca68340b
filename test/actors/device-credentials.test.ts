/**
 * The end of an accepted request: it goes and the user of another tenant comes, together and once, also over a crash
 * (docs/spec/device-registration.md#credentials).
 */
import t from 'tap';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { joinKey, requestKey, tenantKey } from '../../src/model/entities/device-request.ts';
import { openPlatform, TENANT } from './platform.ts';
import type { Platform } from './platform.ts';

const REQUEST = '{"id":"4711"}';
const user = (platform: Platform): { password: string } | undefined => {
  const text = platform.stored.get('user', TENANT, 'device_4711');
  return text === undefined ? undefined : (JSON.parse(text) as { password: string });
};
const requests = (platform: Platform): string[] => platform.ids('deviceRequest', '', 0);

async function withRequest(platform: Platform): Promise<Platform> {
  await platform.request({
    kind: COMMAND.RECORDS_CHANGE,
    tenant: 0,
    key: 't',
    body: {
      changes: [
        { collection: 'deviceRequest', id: requestKey('4711'), value: REQUEST },
        { collection: 'deviceRequest', id: tenantKey(TENANT, '4711'), value: '1' },
      ],
    },
  });
  return platform;
}
const issue = (platform: Platform, password: string, more: object = {}): Promise<unknown> =>
  platform.request({
    kind: COMMAND.DEVICE_CREDENTIALS_ISSUE,
    tenant: 0,
    key: 't',
    body: { id: '4711', expected: REQUEST, tenant: TENANT, user: { userName: 'device_4711', password }, ...more },
  });

t.test('once', async (t) => {
  const platform = await withRequest(openPlatform(t));
  await issue(platform, 'one', { groupId: '9' });
  t.match(user(platform), { password: 'one', enabled: true });
  t.same(requests(platform), [joinKey(TENANT, 'device_4711')]);
  t.same(platform.usersChanged, [`${TENANT}/device_4711 stays`]);
  await t.rejects(issue(platform, 'two'), { code: 'general/changed-meanwhile' });
  t.match(user(platform), { password: 'one' });
});

t.test('over a crash: both or none', async (t) => {
  for (const when of ['crashBefore', 'crashAfter'] as const) {
    for (let commit = 1; commit <= 3; commit += 1) {
      const platform = await withRequest(openPlatform(t));
      let commits = 0;
      platform.documents[when] = () => {
        commits += 1;
        return commits === commit;
      };
      issue(platform, 'one').catch(() => undefined); // never answered when it crashes
      await platform.settled();
      const next = await (await platform.crash()).recover();
      const isIssued = user(next) !== undefined;
      t.equal(requests(next).length, isIssued ? 0 : 2, `${when} commit ${commit}`);
      // The journal has the command: what was begun is ended.
      t.ok(isIssued);
    }
  }
});
