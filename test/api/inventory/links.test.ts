/**
 * Links of the objects of a page: however many objects it has, the document store is asked a few times, since it may be
 * far away.
 */
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { linkCollections } from '../../../src/api/inventory/text.ts';
import type { ApiRequest } from '../../../src/api/request/request.ts';
import { PlatformError } from '../../../src/model/errors.ts';

const PAGE = Array.from({ length: 2_000 }, (_, index) => String(index + 1));

/**
 * A request over a store where each object has the next one as a child device; what is asked at once is one round trip.
 */
function farAway(flags: Readonly<Record<string, boolean>> = {}): { request: ApiRequest; roundTrips: () => number } {
  let roundTrips = 0;
  let open: Promise<void> | undefined;
  const trip = async (): Promise<void> => {
    open ??= pause(1).then(() => {
      roundTrips += 1;
      open = undefined;
    });
    await open;
  };
  const documents = {
    list: async (collection: string, _tenant: number, prefix: string) => {
      await trip();
      const [id, kind] = prefix.split('\n');
      return collection === 'children' && kind === 'childDevices'
        ? [{ id: `${prefix}${Number(id) + 1}`, value: '1' }]
        : [];
    },
    getMany: async (_collection: string, _tenant: number, ids: readonly string[]) => {
      await trip();
      return ids.map((id) => `{"name":"n${id}"}`);
    },
  };
  const query = { isTrue: (name: string) => flags[name] === true, isFalse: (name: string) => flags[name] === false };
  const request = {
    platform: { config: {}, documents, refusals: { count: () => undefined } },
    tenant: 1,
    query,
    baseUrl: 'http://h',
  };
  return { request: request as unknown as ApiRequest, roundTrips: () => roundTrips };
}

t.test('a page of 2,000 objects takes some round trips', async (t) => {
  const { request, roundTrips } = farAway();
  const found = await linkCollections(request, PAGE);
  t.equal(found.length, PAGE.length);
  t.equal(
    found[41].get('childDevices'),
    '{"references":[{"managedObject":{"id":"43","name":"n43","self":"http://h/inventory/managedObjects/43"},' +
      '"self":"http://h/inventory/managedObjects/42/childDevices/43"}],"self":"http://h/inventory/managedObjects/42/childDevices"}',
  );
  t.ok(roundTrips() <= 100, `${roundTrips()} round trips`);
  const nameless = farAway({ skipChildrenNames: true });
  t.match(
    (await linkCollections(nameless.request, PAGE))[1].get('childDevices'),
    /^\{"references":\[\{"managedObject":\{"id":"3","self"/,
  );
  t.ok(nameless.roundTrips() <= 40, `${nameless.roundTrips()} round trips without names`);
});

t.test('counts, and a page that is too large', async (t) => {
  const { request } = farAway({ withChildren: false, withChildrenCount: true });
  const [first] = await linkCollections(request, PAGE.slice(0, 12));
  t.equal(
    first.get('childDevices'),
    '{"count":1,"references":[],"self":"http://h/inventory/managedObjects/1/childDevices"}',
  );
  const small = {
    take: () => {
      throw new PlatformError('general/page-too-large', { limit: 1 });
    },
  };
  await t.rejects(linkCollections(farAway().request, PAGE, small as never), { code: 'general/page-too-large' });
});
