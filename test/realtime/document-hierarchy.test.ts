import t from 'tap';
import type { DocumentReader } from '../../src/ports/document-reader.ts';
import { DocumentHierarchy, OwnerAccess } from '../../src/realtime/bayeux/document-hierarchy.ts';
import { principal } from './helpers.ts';

const LINKS = [
  '1\nchildDevices\n2',
  '1\nchildAssets\n3',
  '2\nchildDevices\n4',
  '3\nchildAssets\n4',
  '4\nchildAssets\n1',
  '11\nchildAssets\n9',
];

function createReader(isAsync: boolean): DocumentReader {
  const answer = <Value>(value: Value): Value | Promise<Value> => (isAsync ? Promise.resolve(value) : value);
  return {
    get: (_collection, tenant, id) => answer(tenant === 1 && id === '1' ? '{"owner":"device_1"}' : undefined),
    getMany: () => [],
    list: (_collection, tenant, prefix) =>
      answer(tenant === 1 ? LINKS.filter((id) => id.startsWith(prefix)).map((id) => ({ id, value: '' })) : []),
  };
}

t.test('ancestors by every kind of link, once each, in spite of a cycle', async (t) => {
  const hierarchy = new DocumentHierarchy(createReader(false));
  t.same(hierarchy.ancestors(1, '1'), ['2', '3', '4'], 'at once');
  t.same(hierarchy.ancestors(1, '9'), []);
  t.same(hierarchy.ancestors(2, '1'), []);
  const later = new DocumentHierarchy(createReader(true)).ancestors(1, '1');
  t.ok(later instanceof Promise);
  t.same(await later, ['2', '3', '4']);
});

t.test('the owner may read', async (t) => {
  const access = new OwnerAccess(createReader(true));
  t.equal(await access.mayRead(principal('device_1'), '1', 'events'), true);
  t.equal(await access.mayRead(principal('device_2'), '1', 'events'), false);
  t.equal(await access.mayRead(principal('device_1'), '2', 'events'), false);
  t.equal(await access.mayRead(principal('device_1', [], 2), '1', 'events'), false);
  t.equal(await access.isOwner(principal('device_1'), '1'), true);
  t.equal(await access.isOwner(principal('device_2'), '1'), false);
  t.equal(await access.isOwner(principal('device_1'), '2'), false);
});
