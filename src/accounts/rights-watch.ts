/** What changed rights and ended tokens mean for those who are connected: remembered credentials are looked at again, live sessions end. */
import type { DocumentReader, RecordChange } from '../model/command.ts';
import type { InventoryGrant } from '../model/inventory-access.ts';
import type { Log } from '../model/log.ts';
import type { ConnectedUsers, Principal } from '../model/principal.ts';
import type { Refusals } from '../model/refusals.ts';
import type { StoredUser } from '../actors/user.ts';
import type { CachingAuthenticator } from './authenticator.ts';
import { effectiveRights } from './effective-rights.ts';
import { isGroupKey } from './groups.ts';
import type { StoredGroup } from './groups.ts';

/** Members of a changed group whose live sessions are ended. */
const MEMBERS_MAX = 100_000;
/** Users that are read at a time. */
const RECHECKED_AT_ONCE = 1_000;

export interface RightsWatchOptions {
  readonly authenticator: CachingAuthenticator;
  readonly documents: DocumentReader;
  readonly refusals: Refusals;
  readonly log: Log;
  /** Ends MQTT connections and Bayeux sessions of a user. */
  readonly endUser: (tenant: number, userName: string) => void;
  /** Ends Bayeux sessions that were opened with a token: of one user, or of all of the tenant. */
  readonly endTokenSessions: (tenant: number, userName: string | undefined) => void;
}

export class RightsWatch {
  readonly #options: RightsWatchOptions;

  constructor(options: RightsWatchOptions) {
    this.#options = options;
  }

  /** Called on every node, after the commit and before the answer. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    const { authenticator, endUser, endTokenSessions } = this.#options;
    authenticator.recordsChanged(tenant, changes);
    for (const change of changes) {
      const end = change.id.indexOf('\n');
      if (change.collection === 'inventoryAssignment') endUser(tenant, change.id.slice(0, end));
      // Users of microservices; those of people are changed by commands of their own.
      else if (change.collection === 'user' && change.expected !== undefined && change.value !== change.expected) endUser(tenant, change.id);
      else if (change.collection === 'tokenRevocation' && change.value !== undefined) {
        endTokenSessions(tenant, end < 0 ? undefined : change.id.slice(0, end));
      } else if (change.collection === 'group' && isGroupKey(change.id) && losesRoles(change)) {
        this.#endMembers(tenant, change.id).catch((error: Error) => {
          this.#options.log.error({ err: error, tenant, group: change.id }, 'live sessions of the members of a group with fewer roles could not be ended');
        });
      }
    }
  }

  /**
   * Changes were missed: of those who are connected, whoever is gone, disabled or has lost a right is ended. Who only gained something stays, as ever.
   * @throws what the store says.
   */
  async recheck(connected: ConnectedUsers): Promise<void> {
    const { documents, endUser } = this.#options;
    for (const [tenant, users] of connected) {
      const entries = [...users];
      for (let from = 0; from < entries.length; from += RECHECKED_AT_ONCE) {
        const some = entries.slice(from, from + RECHECKED_AT_ONCE);
        const texts = await documents.getMany('user', tenant, some.map(([name]) => name));
        const stored = texts.map((text) => (text === undefined ? undefined : JSON.parse(text) as StoredUser));
        const rolesOf = await this.#rolesOfGroups(tenant, stored);
        for (const [index, [name, principals]] of some.entries()) {
          const user = stored[index];
          if (user === undefined || !user.enabled || await this.#hasLost(tenant, user, principals, rolesOf)) endUser(tenant, name);
        }
      }
    }
  }

  /** Of all groups of these users, read once. */
  async #rolesOfGroups(tenant: number, users: readonly (StoredUser | undefined)[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const ids = [...new Set(users.flatMap((user) => user?.groups ?? []))].map(String);
    if (ids.length === 0) return new Map();
    const texts = await this.#options.documents.getMany('group', tenant, ids);
    return new Map(ids.map((id, index) => [id, texts[index] === undefined ? [] : (JSON.parse(texts[index]) as StoredGroup).roles]));
  }

  /** Inventory roles are read for those alone who had some. */
  async #hasLost(tenant: number, user: StoredUser, principals: ReadonlySet<Principal>, rolesOf: ReadonlyMap<string, readonly string[]>): Promise<boolean> {
    const roles = new Set([...user.roles, ...(user.groups ?? []).flatMap((id) => rolesOf.get(String(id)) ?? [])]);
    const held = [...principals];
    if (held.some((principal) => [...principal.roles].some((role) => !roles.has(role)))) return true;
    if (held.every(({ grants = [] }) => grants.length === 0)) return false;
    const { documents, refusals } = this.#options;
    const left = new Set((await effectiveRights(documents, tenant, user, refusals)).grants.map(grantText));
    return held.some(({ grants = [] }) => grants.some((grant) => !left.has(grantText(grant))));
  }

  /** Who only gains something may stay connected. */
  async #endMembers(tenant: number, group: string): Promise<void> {
    const prefix = `${group}\n`;
    const rows = await this.#options.documents.list('groupMember', tenant, prefix, { limit: MEMBERS_MAX });
    for (const { id } of rows) this.#options.endUser(tenant, id.slice(prefix.length));
  }
}

const grantText = ({ root, scope, type, permission }: InventoryGrant): string => `${root}\n${scope}\n${type}\n${permission}`;

function losesRoles({ expected, value }: RecordChange): boolean {
  if (expected === undefined) return false;
  const roles = value === undefined ? [] : (JSON.parse(value) as StoredGroup).roles;
  return (JSON.parse(expected) as StoredGroup).roles.some((role) => !roles.includes(role));
}
