/**
 * Document 1, Tenant, column Visibility. `public` is what everybody sees who may read the tenant. `private` is what the
 * tenant, those above it and nobody else see; of these fields the current tenant, which every user of the tenant reads,
 * has those alone that documents 1 and 4 (section 6.3) list for it.
 */
import type { Test } from 'tap';
import type { FieldRow } from './rows.ts';
import type { World } from './world.ts';

const OF_CURRENT_TENANT = ['allowCreateTenants', 'applications'];
/** Asked for, not kept. */
const NOT_KEPT = ['sendPasswordResetEmail'];

export async function checkVisibility(
  t: Test,
  world: World,
  { field, visibility, isWriteOnly = false }: FieldRow,
): Promise<void> {
  const { id, above, own, reader, nobody, stranger } = await world.family();
  const path = `/tenant/tenants/${id}`;
  const isShown = !isWriteOnly && !NOT_KEPT.includes(field);
  for (const [who, by] of Object.entries({ management: world.management, above, own, reader })) {
    const found = await by.read(path);
    t.equal(found[field] !== undefined, isShown, `${isShown ? 'shown' : 'not shown'}: ${who}`);
    if (who === 'own' || who === 'reader') continue;
    const listed = (await by.read('/tenant/tenants?pageSize=2000')).tenants.find((one: any) => one.id === id);
    t.strictSame(listed?.[field], found[field], `in the list too: ${who}`);
  }
  t.equal((await nobody.get(path)).status, 403, 'without a role');
  t.equal((await stranger.get(path)).status, 404, 'another tenant');
  t.notOk(
    (await stranger.read('/tenant/tenants?pageSize=2000')).tenants.some((one: any) => one.id === id),
    'nor in its list',
  );
  const current = await nobody.read('/tenant/currentTenant?withParent=true');
  if (visibility === 'private')
    t.equal(current[field] !== undefined, OF_CURRENT_TENANT.includes(field), 'of the current tenant');
  else if (field === 'id' || field === 'domain')
    t.equal(current[field === 'id' ? 'name' : 'domainName'], (await own.read(path))[field]);
  else if (field === 'parent') t.equal(current.parent, (await own.read(path)).parent);
}
