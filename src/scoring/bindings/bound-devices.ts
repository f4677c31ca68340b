/** The devices of the groups that bindings name, read again and again: a group says nothing when it changes. */
import { devicesOfGroup, GroupError, GroupTooLarge } from '../../history/group-members.ts';
import { PlatformError } from '../../model/errors.ts';
import { Shares } from '../../pacing/shares.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { BINDING_DEVICES_MAX, BINDING_DEVICES_OF_NODE_MAX, SCORING_LIMIT } from '../limits.ts';

/** The groups of a tenant are read again after as many times what reading them took. */
const PAUSE_FACTOR = 20;
/** All bindings of a tenant take one share. */
const HOLDER = 'bindings';

/** The devices of one group as they were read last. */
export class GroupDevices {
  readonly tenant: number;
  readonly groupId: string;
  ids: ReadonlySet<number> = new Set();
  /** Why none is scored; undefined: nothing is wrong. */
  problem: string | undefined;
  users = 0;

  constructor(tenant: number, groupId: string) {
    this.tenant = tenant;
    this.groupId = groupId;
  }

  has(source: number): boolean {
    return this.ids.has(source);
  }
}

export interface BoundDevicesOptions {
  readonly documents: DocumentReader;
  readonly history: HistoryReader;
  readonly refusals: Refusals;
  /** Monotonic, in ms. */
  readonly clock: () => number;
  readonly isOnlyTenant?: () => boolean;
  /** Lower, in tests. */
  readonly devicesMax?: number;
}

export class BoundDevices {
  readonly #options: BoundDevicesOptions;
  readonly #groups = new Map<string, GroupDevices>();
  /** Devices that are remembered. */
  readonly #shares: Shares;
  /** Of tenants whose groups were read, by `clock`. */
  readonly #dueAt = new Map<number, number>();

  constructor(options: BoundDevicesOptions) {
    this.#options = options;
    const { devicesMax = BINDING_DEVICES_OF_NODE_MAX, isOnlyTenant } = options;
    this.#shares = new Shares(SCORING_LIMIT.BINDING_DEVICES_OF_NODE, devicesMax, isOnlyTenant);
  }

  /** Devices of all groups that are remembered. */
  get count(): number {
    return this.#shares.used;
  }

  /** The group is needed; give it back with `release`. Its devices are read with `refresh`. */
  acquire(tenant: number, groupId: string): GroupDevices {
    const key = `${tenant}/${groupId}`;
    const group = this.#groups.get(key) ?? new GroupDevices(tenant, groupId);
    this.#groups.set(key, group);
    group.users += 1;
    return group;
  }

  release(group: GroupDevices): void {
    group.users -= 1;
    if (group.users > 0) return;
    this.#groups.delete(`${group.tenant}/${group.groupId}`);
    this.#remember(group, new Set());
  }

  /** Groups that are to be read again, by tenant. Call `pause` when those of a tenant are. */
  due(): ReadonlyMap<number, readonly GroupDevices[]> {
    const now = this.#options.clock();
    for (const [tenant, dueAt] of this.#dueAt) if (dueAt <= now) this.#dueAt.delete(tenant);
    const due = new Map<number, GroupDevices[]>();
    for (const group of this.#groups.values()) {
      if (this.#dueAt.has(group.tenant)) continue;
      const ofTenant = due.get(group.tenant);
      if (ofTenant === undefined) due.set(group.tenant, [group]);
      else ofTenant.push(group);
    }
    return due;
  }

  /** @param tookMs what reading the groups of the tenant took: one with many takes no larger part of the stores' time */
  pause(tenant: number, tookMs: number): void {
    this.#dueAt.set(tenant, this.#options.clock() + PAUSE_FACTOR * tookMs);
  }

  /** @throws where a store fails: the devices stay as they were */
  async refresh(group: GroupDevices): Promise<void> {
    const { documents, history, refusals } = this.#options;
    const { tenant, groupId } = group;
    const full = group.ids.size === 0 ? this.#shares.refusal(tenant, HOLDER) : undefined;
    if (full !== undefined) return this.#refuse(group, full);
    try {
      const readers = { tenant, documents, history };
      const ids = new Set((await devicesOfGroup(readers, groupId, BINDING_DEVICES_MAX)).map(Number));
      group.problem = undefined;
      const limit = this.#remember(group, ids);
      if (limit !== undefined) this.#refuse(group, limit);
    } catch (error) {
      const isOfGroup = error instanceof GroupError;
      if (!isOfGroup && !(error instanceof PlatformError && error.code === 'inventory/invalid-query')) throw error;
      this.#remember(group, new Set());
      group.problem = isOfGroup ? `The group ${groupId} ${error.message}.` : error.message;
      if (error instanceof GroupTooLarge) {
        refusals.count(SCORING_LIMIT.BINDING_DEVICES, { tenant, device: groupId, reason: group.problem });
        group.problem = `${group.problem} (${SCORING_LIMIT.BINDING_DEVICES})`;
      }
    }
  }

  #refuse(group: GroupDevices, limit: string): void {
    group.problem = `The groups of all bindings have too many devices. (${limit})`;
    this.#options.refusals.count(limit, { tenant: group.tenant, device: group.groupId, reason: group.problem });
  }

  /** @returns the limit that is in the way: then the group has none. One that was released while it was read has none. */
  #remember(group: GroupDevices, ids: ReadonlySet<number>): string | undefined {
    const { tenant } = group;
    if (group.ids.size > 0) this.#shares.give(tenant, HOLDER, group.ids.size);
    group.ids = new Set();
    if (ids.size === 0 || group.users === 0) return undefined;
    const limit = this.#shares.take(tenant, HOLDER, ids.size);
    if (limit === undefined) group.ids = ids;
    return limit;
  }
}
