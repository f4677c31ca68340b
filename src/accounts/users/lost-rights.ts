/**
 * Whether a change of a group or of an inventory role takes rights away, here and on the nodes that are only told of
 * it.
 */
import type { RecordChange } from '../../model/commands/records.ts';
import type { InventoryGrant } from '../../model/access/inventory-grant.ts';
import { devicePermissionGrants } from './effective-rights.ts';
import { isGroupKey } from './groups.ts';
import type { StoredGroup, StoredInventoryRole } from './groups.ts';

/** The text of a group or of an inventory role, or what `toldFormer` made of it. */
type Rights = Partial<Pick<StoredGroup, 'roles' | 'doc'> & Pick<StoredInventoryRole, 'permissions'>> & {
  readonly losesGrants?: boolean;
};

/** Records of both have digits as their ids, beside those that stand for names. */
const isOfRights = ({ collection, id }: RecordChange): boolean =>
  (collection === 'group' || collection === 'inventoryRole') && isGroupKey(id);

export const grantText = ({ root, scope, type, permission }: InventoryGrant): string =>
  `${root}\n${scope}\n${type}\n${permission}`;

export function losesRights(change: RecordChange): boolean {
  if (change.expected === undefined || !isOfRights(change)) return false;
  const former = parsed(change.expected);
  return (
    former.losesGrants === true || isLess(former.roles ?? [], parsed(change.value).roles ?? []) || losesGrants(change)
  );
}

/**
 * @returns what other nodes are told of the former text: it may be as large as a request. They read the present one.
 */
export function toldFormer(change: RecordChange): string | undefined {
  if (change.expected === undefined || !isOfRights(change)) return undefined;
  const { roles } = parsed(change.expected);
  return JSON.stringify({ roles, ...(losesGrants(change) ? { losesGrants: true } : {}) });
}

const losesGrants = ({ expected, value }: RecordChange): boolean =>
  isLess(grantsOf(parsed(expected)), grantsOf(parsed(value)));

function grantsOf({ doc = '{}', permissions = [] }: Rights): string[] {
  return [
    ...devicePermissionGrants(doc).map(grantText),
    ...permissions.map(({ scope, type, permission }) => `${scope}\n${type}\n${permission}`),
  ];
}

function isLess(former: readonly string[], present: readonly string[]): boolean {
  const left = new Set(present);
  return former.some((one) => !left.has(one));
}

const parsed = (text: string | undefined): Rights => (text === undefined ? {} : (JSON.parse(text) as Rights));
