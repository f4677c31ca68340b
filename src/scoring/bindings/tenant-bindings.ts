/** The bindings of one tenant on this node: which are scored now, with which version of their model, and why not. */
import { bindingRecordId, type StoredBinding } from '../../model/entities/scoring/binding.ts';
import { modelId, type StoredModel } from '../../model/entities/scoring/model.ts';
import { PlatformError } from '../../model/errors.ts';
import type { RecordReader } from '../../records/records.ts';
import type { Plan } from '../../scoring-workers/measurements/plan.ts';
import { loadModel, modelInformation } from '../records.ts';
import type { BoundDevices, GroupDevices } from './bound-devices.ts';
import { type Lane, type LaneCounts, newCounts } from './lane.ts';
import { Selection } from './selection.ts';
import { namesOf, planOf, signatureOf } from './signature.ts';

const BEING_READ = 'It is being read.';

/** What a binding is scored with. */
export interface Bound {
  readonly binding: StoredBinding;
  readonly model: StoredModel;
  readonly information: string;
  readonly plan: Plan;
}

interface Found {
  readonly bound: Bound;
  readonly group: GroupDevices | undefined;
}

interface Known {
  binding: StoredBinding;
  readonly counts: LaneCounts;
  lane: Lane | undefined;
  group: GroupDevices | undefined;
  /** That the lane uses. */
  model: StoredModel | undefined;
  /** Why it is not scored. */
  problem: string | undefined;
  /** It is to be read once more: a store did not answer. */
  isUnresolved: boolean;
}

export interface BindingState {
  /** `ACTIVE`: measurements are scored; `INACTIVE`: as its `isActive` says; `WAITING`: see the reason. */
  readonly state: 'ACTIVE' | 'INACTIVE' | 'WAITING';
  readonly reason: string | null;
}

/** @param bindings of its tenant; undefined: none is known */
export function stateOf({ id, isActive }: StoredBinding, bindings: TenantBindings | undefined): BindingState {
  if (!isActive) return { state: 'INACTIVE', reason: null };
  const reason = bindings === undefined ? BEING_READ : bindings.problemOf(id);
  return { state: reason === undefined ? 'ACTIVE' : 'WAITING', reason: reason ?? null };
}

export interface TenantBindingsOptions {
  readonly documents: RecordReader['documents'];
  readonly devices: BoundDevices;
  /** @param after resolves when the lane before it has ended */
  readonly makeLane: (bound: Bound, counts: LaneCounts, after: Promise<void> | undefined) => Lane;
  /** Why nothing is scored with the model for some time; undefined: it is. */
  readonly pauseOf: (model: StoredModel) => string | undefined;
}

export class TenantBindings {
  readonly #tenant: number;
  readonly #options: TenantBindingsOptions;
  readonly #known = new Map<number, Known>();
  /** Changes go one after the other. */
  #changes: Promise<void> = Promise.resolve();
  /** Undefined: nothing is to be scored. */
  selection: Selection | undefined;

  constructor(tenant: number, options: TenantBindingsOptions) {
    this.#tenant = tenant;
    this.#options = options;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Ids of the records. */
  get recordIds(): string[] {
    return Array.from(this.#known.keys(), bindingRecordId);
  }

  /** Ids of the records of the models. */
  get modelIds(): string[] {
    return Array.from(this.#known.values(), ({ binding }) => modelId(binding.modelKind, binding.modelName));
  }

  countsOf(id: number): LaneCounts {
    return this.#known.get(id)?.counts ?? newCounts();
  }

  /** Why it is not scored; undefined: it is. */
  problemOf(id: number): string | undefined {
    const known = this.#known.get(id);
    if (known === undefined) return BEING_READ;
    const { problem, group, model } = known;
    return problem ?? group?.problem ?? (model && this.#options.pauseOf(model));
  }

  /** @param binding undefined: it was deleted. Resolves when measurements are scored so. */
  set(id: number, binding: StoredBinding | undefined): Promise<void> {
    return this.#change(async () => {
      const known = this.#known.get(id);
      if (binding === undefined) {
        if (known === undefined) return;
        this.#known.delete(id);
        void this.#take(known, true);
        this.#select();
      } else if (known === undefined) {
        const added = {
          binding,
          counts: newCounts(),
          lane: undefined,
          group: undefined,
          model: undefined,
          problem: BEING_READ,
          isUnresolved: true,
        };
        this.#known.set(id, added);
        await this.#resolve(added, binding);
      } else if (known.isUnresolved || JSON.stringify(known.binding) !== JSON.stringify(binding)) {
        await this.#resolve(known, binding);
      }
    });
  }

  /** A model was uploaded, deleted, activated or deactivated. */
  modelChanged(kind: string, name: string): Promise<void> {
    return this.#change(async () => {
      const bound = [...this.#known.values()].filter(
        ({ binding: { modelKind, modelName } }) => modelKind === kind && modelName === name,
      );
      // Also those that are not reached when a store fails are read again.
      for (const known of bound) known.isUnresolved = true;
      for (const known of bound) await this.#resolve(known, known.binding);
    });
  }

  /** @param drops what waits is given up, else it is scored */
  async end(drops: boolean): Promise<void> {
    this.selection = undefined;
    await this.#change(async () => {
      const lanes = Array.from(this.#known.values(), (known) => this.#take(known, drops));
      this.#known.clear();
      await Promise.all(lanes);
      this.selection = undefined;
    });
  }

  /** Resolves when changes so far have taken effect. */
  settled(): Promise<void> {
    return this.#changes;
  }

  #change(change: () => Promise<void>): Promise<void> {
    const changed = this.#changes.then(change);
    // The caller is told; the next change goes on from what is.
    this.#changes = changed.catch(() => undefined);
    return changed;
  }

  /** What waits is scored as it would have been. @returns when it is */
  #take(known: Known, drops: boolean): Promise<void> | undefined {
    const { lane, group } = known;
    known.lane = undefined;
    known.group = undefined;
    if (group !== undefined) this.#options.devices.release(group);
    return lane?.end(drops);
  }

  /**
   * Measurements go on as before until everything is read, and then as it says: none is lost between.
   * @throws where a store fails: nothing is scored until it is resolved again
   */
  async #resolve(known: Known, binding: StoredBinding): Promise<void> {
    known.isUnresolved = true;
    let found: Found | undefined;
    let problem: string | undefined = BEING_READ;
    try {
      if (binding.isActive) found = await this.#find(binding);
      problem = undefined;
      known.isUnresolved = false;
    } catch (error) {
      if (!(error instanceof PlatformError && error.status < 500)) throw error;
      problem = error.message;
      known.isUnresolved = false;
    } finally {
      const ended = this.#take(known, !binding.isActive);
      known.binding = binding;
      known.problem = problem;
      known.group = found?.group;
      known.model = found?.bound.model;
      known.lane = found && this.#options.makeLane(found.bound, known.counts, ended);
      this.#select();
    }
  }

  /** @throws PlatformError 400, 404 for what cannot be scored now; where a store fails */
  async #find(binding: StoredBinding): Promise<Found> {
    const { documents, devices } = this.#options;
    const { modelKind, modelName, groupOrDeviceId, isGroup } = binding;
    const model = await loadModel({ documents }, this.#tenant, modelKind, modelName);
    if (!model.isActive) throw new PlatformError('scoring/model-inactive', { name: modelName });
    const information = await modelInformation({ documents }, this.#tenant, modelKind, modelName);
    const plan = planOf(binding, signatureOf(modelKind, information));
    const bound = { binding, model, information, plan };
    if (!isGroup || groupOrDeviceId === undefined) return { bound, group: undefined };
    const group = devices.acquire(this.#tenant, groupOrDeviceId);
    try {
      await devices.refresh(group);
    } catch (error) {
      devices.release(group);
      throw error;
    }
    return { bound, group };
  }

  #select(): void {
    const candidates = [];
    for (const { binding, lane, group, counts } of this.#known.values()) {
      if (lane === undefined) continue;
      const { groupOrDeviceId, scoresPredictions } = binding;
      const device = groupOrDeviceId === undefined ? undefined : new Set([Number(groupOrDeviceId)]);
      candidates.push({
        names: namesOf(binding),
        devices: group ?? device,
        scoresPredictions,
        offer: (records: Buffer, at: number, depth: number) => lane.offer(records, at, depth),
        leaveOut: () => {
          counts.leftOut += 1;
        },
      });
    }
    this.selection = candidates.length === 0 ? undefined : new Selection(candidates);
  }
}
