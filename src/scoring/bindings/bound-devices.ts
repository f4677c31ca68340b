/** The devices of the groups that bindings name, read again and again: a group says nothing when it changes. */
import { devicesOfGroup, GroupError, GroupTooLarge } from '../../history/group-members.ts';
import { PlatformError } from '../../model/errors.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { BINDING_DEVICES_MAX, BINDING_DEVICES_OF_NODE_MAX, SCORING_LIMIT } from '../limits.ts';

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
}

export class BoundDevices {
  readonly #options: BoundDevicesOptions;
  readonly #groups = new Map<string, GroupDevices>();

  constructor(options: BoundDevicesOptions) {
    this.#options = options;
  }

  /** Devices of all groups that are remembered. */
  get count(): number {
    return [...this.#groups.values()].reduce((sum, { ids }) => sum + ids.size, 0);
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
    if (group.users === 0) this.#groups.delete(`${group.tenant}/${group.groupId}`);
  }

  get groups(): GroupDevices[] {
    return [...this.#groups.values()];
  }

  /** @throws where a store fails: the devices stay as they were */
  async refresh(group: GroupDevices): Promise<void> {
    const { documents, history, refusals } = this.#options;
    const { tenant, groupId } = group;
    const room = Math.min(BINDING_DEVICES_MAX, BINDING_DEVICES_OF_NODE_MAX - this.count + group.ids.size);
    try {
      group.ids = new Set((await devicesOfGroup({ tenant, documents, history }, groupId, room)).map(Number));
      group.problem = undefined;
    } catch (error) {
      const isOfGroup = error instanceof GroupError;
      if (!isOfGroup && !(error instanceof PlatformError && error.code === 'inventory/invalid-query')) throw error;
      group.ids = new Set();
      group.problem = isOfGroup ? `The group ${groupId} ${error.message}.` : error.message;
      if (error instanceof GroupTooLarge) {
        refusals.count(SCORING_LIMIT.BINDING_DEVICES, { device: groupId, reason: group.problem });
        group.problem = `${group.problem} (${SCORING_LIMIT.BINDING_DEVICES})`;
      }
    }
  }
}
