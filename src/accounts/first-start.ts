/** Accounts of the first start: administrators of both tenants and the device bootstrap user. */
import { randomInt } from 'node:crypto';
import type { DocumentChange, Documents } from '../ports/stores/documents.ts';
import type { StoredUser } from '../model/entities/stored-user.ts';
import { memberKey } from '../actors/handlers/users/user.ts';
import { kindOfName } from './passwords/hashes.ts';
import type { PasswordHashes } from './passwords/hashes.ts';
import { ADMINS_GROUP, GROUPS_MADE_KEY, predefinedRecords } from './users/groups.ts';
import { matchesGenerated } from '../model/access/password-hash.ts';
import { BOOTSTRAP_ROLE, BOOTSTRAP_USER, ROLES } from '../model/access/roles.ts';
import type { Tenants } from './tenants/tenants.ts';
import { MANAGEMENT_TENANT } from './tenants/tenants.ts';

/** Without characters that look alike; 32 of them, so each is 5 bits. */
const PASSWORD_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
/** 80 bits, behind a slow hash. */
const PASSWORD_LENGTH = 16;
/** 130 bits: a fast hash keeps it, so that devices register while others guess. */
const BOOTSTRAP_PASSWORD_LENGTH = 26;
/** Before the first login: nothing else waits. */
const FIRST_TURN = { tenant: 0, account: '' };

export interface AccountSettings {
  readonly adminUser: string;
  readonly adminPassword?: string | undefined;
  readonly managementUser: string;
  readonly managementPassword?: string | undefined;
  readonly bootstrapPassword?: string | undefined;
}

export interface FirstAccounts {
  readonly isFirstStart: boolean;
  /** Passwords that were generated now, by `<tenant>/<user>`. */
  readonly generated: ReadonlyMap<string, string>;
  /** Accounts whose password the configuration has replaced now, as `<tenant>/<user>`. */
  readonly replaced: ReadonlySet<string>;
}

/**
 * Creates the accounts that are missing. A configured password is given to an account once: what its user has set since
 * stays, as does whether it is enabled. A start with another one replaces it, so that a forgotten password can be
 * replaced.
 * @param keep stores generated passwords where they can be found again.
 */
export async function createFirstAccounts(
  documents: Documents,
  tenants: Tenants,
  settings: AccountSettings,
  hashes: PasswordHashes,
  keep: (generated: ReadonlyMap<string, string>) => Promise<void>,
): Promise<FirstAccounts> {
  const generated = new Map<string, string>();
  const replaced = new Set<string>();
  const changes: DocumentChange[] = [];
  let anyExisted = false;
  const wanted = [
    { tenant: tenants.default.id, userName: settings.adminUser, password: settings.adminPassword, roles: ROLES },
    {
      tenant: MANAGEMENT_TENANT,
      userName: settings.managementUser,
      password: settings.managementPassword,
      roles: ROLES,
    },
    {
      tenant: MANAGEMENT_TENANT,
      userName: BOOTSTRAP_USER,
      password: settings.bootstrapPassword,
      roles: [BOOTSTRAP_ROLE],
    },
  ];
  for (const account of wanted) {
    const kind = kindOfName(account.userName);
    const matches = async (password: string, stored: string): Promise<boolean> =>
      matchesGenerated(password, stored) || hashes.inTurn(FIRST_TURN, (slow) => slow.verify(password, stored, kind));
    const isLong = account.password === undefined && account.userName === BOOTSTRAP_USER;
    const number = tenants.byId(account.tenant)?.number as number;
    const existing = await documents.get('user', number, account.userName);
    if (existing !== undefined) anyExisted = true;
    if (existing !== undefined && account.password === undefined) continue;
    const old = existing === undefined ? undefined : (JSON.parse(existing) as StoredUser);
    if (
      account.password !== undefined &&
      old?.configured !== undefined &&
      (await matches(account.password, old.configured))
    )
      continue;
    const password = account.password ?? generatePassword(isLong ? BOOTSTRAP_PASSWORD_LENGTH : PASSWORD_LENGTH);
    if (account.password === undefined) generated.set(`${account.tenant}/${account.userName}`, password);
    // The same password again leaves tokens and its date alone.
    const isSame = old !== undefined && (await matches(password, old.password));
    if (old !== undefined && !isSame) replaced.add(`${account.tenant}/${account.userName}`);
    const hash = isSame ? old.password : await hashes.hash(password, isLong ? 'generated' : kind, FIRST_TURN);
    const user: StoredUser = {
      ...old,
      userName: account.userName,
      password: hash,
      roles: account.roles,
      enabled: true,
      doc: old?.doc ?? '{}',
      tokenGeneration: (old?.tokenGeneration ?? 0) + (isSame ? 0 : 1),
      ...(account.password === undefined ? {} : { configured: hash }),
    };
    changes.push({ collection: 'user', tenant: number, id: account.userName, value: JSON.stringify(user) });
  }
  const admins = new Map([
    [tenants.default.id, settings.adminUser],
    [MANAGEMENT_TENANT, settings.managementUser],
  ]);
  for (const { id, number } of tenants.all)
    changes.push(...(await missingGroups(documents, number, admins.get(id), changes)));
  // First kept, then valid: a password that was never shown would lock out every user.
  if (generated.size > 0) await keep(generated);
  if (changes.length > 0) await documents.commit(changes, undefined);
  return { isFirstStart: !anyExisted, generated, replaced };
}

/** The predefined groups of a tenant that has none yet, with its administrator in `admins`. */
async function missingGroups(
  documents: Documents,
  tenant: number,
  admin: string | undefined,
  users: readonly DocumentChange[],
): Promise<DocumentChange[]> {
  if ((await documents.get('group', tenant, GROUPS_MADE_KEY)) !== undefined) return [];
  const changes: DocumentChange[] = predefinedRecords().map((record) => ({ ...record, tenant }));
  if (admin === undefined) return changes;
  const text =
    users.find((change) => change.collection === 'user' && change.tenant === tenant && change.id === admin)?.value ??
    (await documents.get('user', tenant, admin));
  if (text === undefined) return changes;
  const user = JSON.parse(text) as StoredUser;
  const groups = [...new Set([...(user.groups ?? []), ADMINS_GROUP])];
  return [
    ...changes,
    { collection: 'user', tenant, id: admin, value: JSON.stringify({ ...user, groups }) },
    { collection: 'groupMember', tenant, id: memberKey(ADMINS_GROUP, admin), value: '1' },
  ];
}

function generatePassword(length: number): string {
  return Array.from({ length }, () => PASSWORD_ALPHABET[randomInt(PASSWORD_ALPHABET.length)]).join('');
}
