/** Groups of the inventory: static ones with links, dynamic ones with a query. */
import { api, got } from '../../core/api/api.ts';
import { BY_OBJECT, madeObject } from '../../core/api/rights.ts';
import { sendRaw } from '../../core/api/send.ts';
import { href } from '../../core/route.ts';
import { addChildren, childrenAmong, listChildren, removeChildren } from '../../core/server/children.ts';
import type { ChildKind } from '../../core/server/children.ts';
import { listObjects, nameOf, quoted, readObject } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { hasTime, offerUndo } from '../../core/api/undo.ts';
import type { TreeNode } from '../../parts/object-tree.tsx';

const ADMIN = ['ROLE_INVENTORY_ADMIN', 'ROLE_MANAGED_OBJECT_ADMIN'];
export const INVENTORY_ADMIN = [...ADMIN, BY_OBJECT];
/** For objects that are below none. */
export const INVENTORY_CREATE = [...ADMIN, 'ROLE_INVENTORY_CREATE', 'ROLE_MANAGED_OBJECT_CREATE'];
export const INVENTORY_CREATE_BELOW = [...INVENTORY_CREATE, BY_OBJECT];

/** Groups that are below none. */
export const ROOT_GROUPS = "(type eq 'c8y_DeviceGroup' or has(c8y_IsDynamicGroup))";

export const isDynamic = (object: ManagedObject): boolean => Object.hasOwn(object, 'c8y_IsDynamicGroup');
export const isGroup = (object: ManagedObject): boolean =>
  isDynamic(object) || Object.hasOwn(object, 'c8y_IsDeviceGroup');

/** The query of a dynamic group's members, as the list of devices takes it. */
export const queryOf = (group: ManagedObject): string => String(group['c8y_DeviceQueryString'] ?? '');

/** With `$filter=`, as groups store it, and with a condition on the name. */
export function memberQuery(query: string, name: string): string {
  const [, filter] = /^\s*\$filter=(.*?)(?:\s+\$orderby=.*)?$/s.exec(query) ?? [
    '',
    query.replace(/\s*\$orderby=.*$/s, ''),
  ];
  const parts = [
    ...(filter.trim() === '' ? [] : [/\sor\s/i.test(filter) ? `(${filter.trim()})` : filter.trim()]),
    ...(name === '' ? [] : [`name eq ${quoted(`${name}*`)}`]),
  ];
  return `$filter=${parts.length === 0 ? 'has(c8y_IsDevice)' : parts.join(' and ')}`;
}

export const nodeOf = (object: ManagedObject): TreeNode => ({
  id: object.id,
  name: nameOf(object),
  href: isGroup(object) ? href('/groups/:id', { id: object.id }) : href('/devices/:id', { id: object.id }),
  canOpen: isGroup(object) && !isDynamic(object),
});

/** What is below a node of the tree of groups. */
export const belowGroup = async (node: TreeNode, page: number, signal: AbortSignal): Promise<readonly TreeNode[]> =>
  (await listChildren(node.id, 'childAssets', { page, query: '$orderby=name asc' }, signal)).map(nodeOf);

/** Roots of the tree, at most 100. */
export const rootGroups = (signal: AbortSignal): Promise<readonly ManagedObject[]> =>
  listObjects({ query: `$filter=${ROOT_GROUPS} $orderby=name asc` }, 1, signal);

/** @param parent of a group below another one. @param query of a dynamic group. @throws ApiError. */
export async function createGroup(given: {
  readonly name: string;
  readonly query?: string;
  readonly parent?: string;
}): Promise<ManagedObject> {
  const { name, query, parent } = given;
  const body =
    query === undefined
      ? { name, type: parent === undefined ? 'c8y_DeviceGroup' : 'c8y_DeviceSubGroup', c8y_IsDeviceGroup: {} }
      : {
          name,
          type: 'c8y_DynamicGroup',
          c8y_IsDynamicGroup: {},
          c8y_DeviceQueryString: query.trim().startsWith('$') ? query.trim() : `$filter=(${query.trim()})`,
        };
  if (parent === undefined) {
    const made = (await got(
      api.POST('/inventory/managedObjects', { body: body as never }),
    )) as unknown as ManagedObject;
    madeObject();
    return made;
  }
  const headers = {
    'Content-Type': 'application/vnd.com.nsn.cumulocity.managedObject+json',
    Accept: 'application/json',
  };
  const path = `/inventory/managedObjects/${encodeURIComponent(parent)}/childAssets`;
  return (await (await sendRaw(path, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as ManagedObject;
}

const put = async (id: string, body: Readonly<Record<string, unknown>>): Promise<ManagedObject> =>
  (await got(
    api.PUT('/inventory/managedObjects/{id}', { params: { path: { id } }, body: body as never }),
  )) as unknown as ManagedObject;

/** Changes members of a group, and offers to undo it while others have not. @throws ApiError. */
export async function changeGroup(
  group: ManagedObject,
  body: Readonly<Record<string, unknown>>,
  done: string,
  onChanged: (group: ManagedObject) => void,
): Promise<void> {
  const before = Object.fromEntries(Object.keys(body).map((name) => [name, group[name] ?? null]));
  const changed = await put(group.id, body);
  onChanged(changed);
  offerUndo(done, {
    isAsLeft: hasTime(() => readObject(group.id), changed),
    run: async () => onChanged(await put(group.id, before)),
  });
}

/** Offers to undo that the objects were linked (`isAdded`), or unlinked. @param onDone shows the members again. */
export function offerUndoOfMembers(
  text: string,
  { parent, kind, ids }: { readonly parent: string; readonly kind: ChildKind; readonly ids: readonly string[] },
  isAdded: boolean,
  onDone: () => void,
): void {
  offerUndo(text, {
    isAsLeft: async () => (await childrenAmong(parent, kind, ids)).length === (isAdded ? ids.length : 0),
    run: async () => {
      await (isAdded ? removeChildren : addChildren)(parent, kind, ids);
      onDone();
    },
  });
}
