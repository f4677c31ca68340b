/**
 * What changed rights and ended tokens mean for those who are connected: remembered credentials are looked at again,
 * live sessions end.
 */
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import type { Log } from '../../ports/log.ts';
import type { ConnectedUsers, Principal } from '../../model/access/principal.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import type { CachingAuthenticator } from './authenticator.ts';
import { deviceScope, globalRoles, isReadScope } from '../users/device-scope.ts';
import { effectiveRights } from '../users/effective-rights.ts';
import type { StoredAssignment, StoredGroup } from '../users/groups.ts';
import { isGroupKey } from '../users/groups.ts';
import { grantText, losesRights } from '../users/lost-rights.ts';

/** Users, members of a group and assignments that are read at a time. */
const RECHECKED_AT_ONCE = 1_000;
/** Deleted groups without rights that are remembered: members of one that is forgotten are ended without need. */
const HARMLESS_MAX = 1_000;

export interface RightsWatchOptions {
  readonly authenticator: CachingAuthenticator;
  readonly documents: DocumentReader;
  readonly refusals: Refusals;
  readonly log: Log;
  /** Ends MQTT connections and Bayeux sessions of users. */
  readonly endUsers: (tenant: number, userNames: ReadonlySet<string>) => void;
  /** Ends Bayeux sessions that were opened with a token: of one user, or of all of the tenant. */
  readonly endTokenSessions: (tenant: number, userName: string | undefined) => void;
  /**
   * Ends Bayeux sessions of registered devices: what they may read in the tenant has changed. MQTT connections read
   * nothing by a role.
   */
  readonly endDeviceSessions: (tenant: number) => void;
}

export class RightsWatch {
  readonly #options: RightsWatchOptions;
  /** `<tenant>/<group>` of deleted groups that took no right away, oldest first. */
  readonly #harmless = new Set<string>();

  constructor(options: RightsWatchOptions) {
    this.#options = options;
  }

  /** Called on every node, after the commit and before the answer. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    const { authenticator, endTokenSessions, endDeviceSessions } = this.#options;
    authenticator.recordsChanged(tenant, changes);
    this.#endFormerMembers(tenant, changes);
    for (const change of changes) {
      const end = change.id.indexOf('\n');
      if (change.collection === 'inventoryAssignment') this.#endUser(tenant, change.id.slice(0, end));
      // Users of microservices; those of people are changed by commands of their own.
      else if (change.collection === 'user' && change.expected !== undefined && change.value !== change.expected)
        this.#endUser(tenant, change.id);
      else if (change.collection === 'tokenRevocation' && change.value !== undefined) {
        endTokenSessions(tenant, end < 0 ? undefined : change.id.slice(0, end));
      } else if (isReadScope(change)) endDeviceSessions(tenant);
      else if (losesRights(change)) {
        const { collection, id } = change;
        const ended = collection === 'group' ? this.#endMembers(tenant, id) : this.#endAssigned(tenant, Number(id));
        ended.catch((error: Error) => {
          this.#options.log.error(
            { err: error, tenant, collection, id },
            'live sessions of those who have lost rights could not be ended',
          );
        });
      } else if (
        change.collection === 'group' &&
        isGroupKey(change.id) &&
        change.expected !== undefined &&
        change.value === undefined
      ) {
        if (this.#harmless.size >= HARMLESS_MAX)
          for (const oldest of this.#harmless) {
            this.#harmless.delete(oldest);
            break;
          }
        this.#harmless.add(`${tenant}/${change.id}`);
      }
    }
  }

  /**
   * The members of a deleted group go step by step, and a slow node finds no more of them when it reads: so each is
   * ended when it goes.
   */
  #endFormerMembers(tenant: number, changes: readonly RecordChange[]): void {
    const names = new Set<string>();
    for (const { collection, id, expected, value } of changes) {
      if (collection !== 'groupMember' || expected === undefined || value !== undefined) continue;
      const end = id.indexOf('\n');
      if (!this.#harmless.has(`${tenant}/${id.slice(0, end)}`)) names.add(id.slice(end + 1));
    }
    if (names.size > 0) this.#options.endUsers(tenant, names);
  }

  /**
   * Call it when changes were missed: ends the connections of users that were deleted or disabled, or have lost a right.
   * Users that only gained rights stay connected.
   * @throws what the store says.
   */
  async recheck(connected: ConnectedUsers): Promise<void> {
    const { documents } = this.#options;
    for (const [tenant, users] of connected) {
      const entries = [...users];
      for (let from = 0; from < entries.length; from += RECHECKED_AT_ONCE) {
        const some = entries.slice(from, from + RECHECKED_AT_ONCE);
        const texts = await documents.getMany(
          'user',
          tenant,
          some.map(([name]) => name),
        );
        const stored = texts.map((text) => (text === undefined ? undefined : (JSON.parse(text) as StoredUser)));
        const rolesOf = await this.#rolesOfGroups(tenant, stored);
        for (const [index, [name, principals]] of some.entries()) {
          const user = stored[index];
          if (user === undefined || !user.enabled || (await this.#hasLost(tenant, user, principals, rolesOf)))
            this.#endUser(tenant, name);
        }
      }
    }
  }

  /** Of all groups of these users, read once. */
  async #rolesOfGroups(
    tenant: number,
    users: readonly (StoredUser | undefined)[],
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const ids = [...new Set(users.flatMap((user) => user?.groups ?? []))].map(String);
    if (ids.length === 0) return new Map();
    const texts = await this.#options.documents.getMany('group', tenant, ids);
    return new Map(
      ids.map((id, index) => [id, texts[index] === undefined ? [] : (JSON.parse(texts[index]) as StoredGroup).roles]),
    );
  }

  /** Inventory roles are read for those alone who had some. */
  async #hasLost(
    tenant: number,
    user: StoredUser,
    principals: ReadonlySet<Principal>,
    rolesOf: ReadonlyMap<string, readonly string[]>,
  ): Promise<boolean> {
    const { documents, refusals } = this.#options;
    const ofGroup = (id: number): readonly string[] => rolesOf.get(String(id)) ?? [];
    const scope = await deviceScope(documents, tenant, user);
    const roles =
      scope === undefined
        ? new Set([...user.roles, ...(user.groups ?? []).flatMap(ofGroup)])
        : globalRoles(user, ofGroup, scope);
    const held = [...principals];
    if (held.some((principal) => [...principal.roles].some((role) => !roles.has(role)))) return true;
    if (held.every(({ grants = [] }) => grants.length === 0)) return false;
    const left = new Set((await effectiveRights(documents, tenant, user, refusals)).grants.map(grantText));
    return held.some(({ grants = [] }) => grants.some((grant) => !left.has(grantText(grant))));
  }

  #endUser(tenant: number, userName: string): void {
    this.#options.endUsers(tenant, new Set([userName]));
  }

  /** Who only gains something may stay connected. */
  async #endMembers(tenant: number, group: string): Promise<void> {
    const prefix = `${group}\n`;
    for await (const rows of this.#pages('groupMember', tenant, prefix))
      this.#options.endUsers(tenant, new Set(rows.map(({ id }) => id.slice(prefix.length))));
  }

  /** Assignments are kept by user: all of the tenant are looked through. */
  async #endAssigned(tenant: number, role: number): Promise<void> {
    for await (const rows of this.#pages('inventoryAssignment', tenant, '')) {
      const assigned = rows.filter(({ value }) => (JSON.parse(value) as StoredAssignment).roles.includes(role));
      if (assigned.length > 0)
        this.#options.endUsers(tenant, new Set(assigned.map(({ id }) => id.slice(0, id.indexOf('\n')))));
    }
  }

  /** Others have their turn between two pages. */
  async *#pages(
    collection: 'groupMember' | 'inventoryAssignment',
    tenant: number,
    prefix: string,
  ): AsyncGenerator<{ id: string; value: string }[]> {
    for (let after: string | undefined; ; ) {
      const rows = await this.#options.documents.list(collection, tenant, prefix, {
        limit: RECHECKED_AT_ONCE,
        ...(after === undefined ? {} : { after }),
      });
      yield rows;
      if (rows.length < RECHECKED_AT_ONCE) return;
      after = rows[rows.length - 1].id;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }
}
