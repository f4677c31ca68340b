/** What a user may do and what gives it to him, for people (docs/spec/users.md#effective-rights). */
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { GRANTS_MAX } from '../../model/access/inventory-grant.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import { deviceScope, globalRoles } from './device-scope.ts';
import { groupsOf, originatedGrants } from './effective-rights.ts';
import type { OriginatedGrant, RightOrigin } from './effective-rights.ts';

export interface ExplainedRole {
  readonly name: string;
  /** `OWN`: for objects of the registered device and those below it. */
  readonly holds: 'EVERYWHERE' | 'OWN';
  readonly from: readonly RightOrigin[];
}

export interface ExplainedRights {
  /** By name. */
  readonly roles: readonly ExplainedRole[];
  /** Those that count. */
  readonly grants: readonly OriginatedGrant[];
  /** Further ones, which do not. */
  readonly uncountedGrants: number;
}

export async function explainedRights(
  documents: DocumentReader,
  tenant: number,
  user: StoredUser,
): Promise<ExplainedRights> {
  const groups = await groupsOf(documents, tenant, user);
  const origins = new Map<string, RightOrigin[]>();
  const add = (roles: readonly string[], from: RightOrigin): void => {
    for (const role of new Set(roles)) origins.set(role, [...(origins.get(role) ?? []), from]);
  };
  add(user.roles, { kind: 'user' });
  for (const { id, name, roles } of groups) add(roles, { kind: 'group', id, name });
  const scope = await deviceScope(documents, tenant, user);
  const rolesOf = (id: number): readonly string[] => groups.find((group) => group.id === id)?.roles ?? [];
  const everywhere = scope === undefined ? undefined : globalRoles(user, rolesOf, scope);
  const grants = await originatedGrants(documents, tenant, user, groups);
  return {
    roles: [...origins]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, from]) => ({
        name,
        holds: everywhere === undefined || everywhere.has(name) ? 'EVERYWHERE' : 'OWN',
        from,
      })),
    grants: grants.slice(0, GRANTS_MAX),
    uncountedGrants: Math.max(0, grants.length - GRANTS_MAX),
  };
}
