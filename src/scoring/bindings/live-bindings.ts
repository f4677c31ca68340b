/**
 * Scores measurements as they come in, by the bindings of their tenants (docs/internals/scoring.md#bindings). Intake
 * never waits for it: what becomes durable is copied into a bounded backlog, and shed where that is full.
 */
import { tenantAt } from '../../ingest/journal/record-layout.ts';
import { isWholeMeasurement } from '../../ingest/measurements/record.ts';
import type { RecordCollection } from '../../model/commands/collections.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import { BINDINGS_TOTAL_ID, SCORING_BINDINGS, type StoredBinding } from '../../model/entities/scoring/binding.ts';
import { SCORING_MODELS, SCORING_TOTAL_ID, type StoredModel } from '../../model/entities/scoring/model.ts';
import { BackgroundLoop } from '../../pacing/background-loop.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { Log } from '../../ports/log.ts';
import type { MeasurementListener } from '../../ports/measurement-listener.ts';
import { listRecords } from '../../records/records.ts';
import type { OnnxScoring } from '../onnx/onnx-scoring.ts';
import type { Scoring } from '../scoring.ts';
import { Backlog, TenantBacklog } from './backlog.ts';
import { bindingOf } from './bindings.ts';
import { BoundDevices } from './bound-devices.ts';
import { Delivery, type DeliveryOptions } from './delivery.ts';
import { Lane, type LaneCounts, newCounts, type Outcome } from './lane.ts';
import { markText } from './mark.ts';
import { scoreChunk } from './score-chunk.ts';
import { type BindingState, type Bound, stateOf, TenantBindings } from './tenant-bindings.ts';

/** Between two looks at what could not be read, and at groups that are due. */
const PASS_MS = 5_000;
/** At most one line in this time about records that fail; the others are counted in it. */
const LOG_INTERVAL_MS = 10_000;

export interface LiveBindingsOptions extends Omit<DeliveryOptions, 'documents'> {
  readonly documents: DocumentReader;
  readonly history: HistoryReader;
  readonly scoring: Pick<Scoring, 'measure' | 'pauseOf'>;
  readonly onnx: Pick<OnnxScoring, 'apply'>;
  readonly log: Log;
  /** Monotonic, in ms. */
  readonly clock: () => number;
  /** Numbers of the tenants. */
  readonly tenants: () => Iterable<number>;
  readonly isOnlyTenant?: () => boolean;
  readonly onOutcome: (outcome: Outcome, count: number) => void;
  readonly onDelivered: (seconds: number, count: number) => void;
  /** Told when measurements are looked at from now on, or not any more. */
  readonly onActive: (listener: MeasurementListener | undefined) => void;
}

interface OfTenant {
  readonly bindings: TenantBindings;
  readonly backlog: TenantBacklog;
}

export class LiveBindings implements MeasurementListener {
  readonly #options: LiveBindingsOptions;
  readonly #delivery: Delivery;
  readonly #devices: BoundDevices;
  readonly #backlog: Backlog;
  readonly #loop = new BackgroundLoop();
  readonly #tenants = new Map<number, OfTenant>();
  /** Tenants whose bindings are to be read: at the start, and where reading failed. */
  readonly #unread = new Set<number>();
  /** Ids of records that changed while those of their tenant were being read. */
  readonly #changedMeanwhile = new Map<number, Set<string>>();
  /** Of the group whose records come one after the other. */
  #view: DataView = new DataView(new ArrayBuffer(0));
  #viewed: Buffer | undefined;
  #generation = 0;
  #failures = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: LiveBindingsOptions) {
    const { documents, history, refusals, isOnlyTenant, clock } = options;
    const shared = isOnlyTenant === undefined ? {} : { isOnlyTenant };
    this.#options = options;
    this.#delivery = new Delivery(options);
    this.#devices = new BoundDevices({ documents, history, refusals, clock, ...shared });
    this.#backlog = new Backlog({ refusals, clock, ...shared });
  }

  /** Measurements that wait or are scored. */
  get backlogCount(): number {
    return this.#backlog.measurements;
  }

  get backlogBytes(): number {
    return this.#backlog.bytes.used;
  }

  get groupDevicesCount(): number {
    return this.#devices.count;
  }

  take(records: Buffer, at: number): void {
    const selection = this.#tenants.get(tenantAt(records, at))?.bindings.selection;
    if (selection === undefined) return;
    try {
      // The projector sets damaged ones aside.
      if (isWholeMeasurement(this.#viewOf(records), at)) selection.offer(records, at);
    } catch (error) {
      this.#noteFailure(error as Error, tenantAt(records, at));
    }
  }

  #viewOf(records: Buffer): DataView {
    if (records !== this.#viewed) {
      this.#viewed = records;
      this.#view = new DataView(records.buffer, records.byteOffset, records.length);
    }
    return this.#view;
  }

  /** To be told of all changed records. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    for (const { collection, id, value } of changes) {
      if (collection === SCORING_BINDINGS && id !== BINDINGS_TOTAL_ID) {
        this.#changedMeanwhile.get(tenant)?.add(id);
        this.#set(tenant, Number(id), value === undefined ? undefined : bindingOf({ id, value }));
      } else if (collection === SCORING_MODELS && id !== SCORING_TOTAL_ID) {
        const [kind = '', name = ''] = id.split('\n');
        const found = this.#tenants.get(tenant);
        if (found !== undefined) this.#settle(tenant, found, found.bindings.modelChanged(kind, name));
      }
    }
  }

  /** What is kept in memory, with the ids that may have been deleted: to be read again when changes were missed. */
  watched(tenant: number): readonly (readonly [RecordCollection, readonly string[]])[] {
    const found = this.#tenants.get(tenant)?.bindings;
    if (found === undefined) return [[SCORING_BINDINGS, []]];
    return [
      [SCORING_BINDINGS, found.recordIds],
      [SCORING_MODELS, found.modelIds],
    ];
  }

  /** Of this node, since it knows the binding. */
  countsOf(tenant: number, { id }: StoredBinding): LaneCounts {
    return this.#tenants.get(tenant)?.bindings.countsOf(id) ?? newCounts();
  }

  stateOf(tenant: number, binding: StoredBinding): BindingState {
    return stateOf(binding, this.#tenants.get(tenant)?.bindings);
  }

  /** Reads the bindings of all tenants, and then the devices of groups again and again. */
  start(): void {
    for (const tenant of this.#options.tenants()) this.#unread.add(tenant);
    this.#loop.repeat(
      PASS_MS,
      () => this.step(),
      (error) => this.#noteFailure(error as Error, undefined),
    );
  }

  /** Reads what is to be read. Never rejects: what fails is read again in the next step. */
  async step(): Promise<void> {
    for (const tenant of [...this.#unread]) {
      if (this.#loop.isStopped) return;
      await this.#orLater(tenant, () => this.#read(tenant));
    }
    const { clock } = this.#options;
    for (const [tenant, groups] of this.#devices.due()) {
      const began = clock();
      for (const group of groups) {
        if (this.#loop.isStopped) return;
        await this.#orLater(undefined, () => this.#devices.refresh(group));
      }
      this.#devices.pause(tenant, clock() - began);
    }
  }

  /** Scores what waits. */
  async stop(): Promise<void> {
    this.#options.onActive(undefined);
    await this.#loop.stop();
    await Promise.all(Array.from(this.#tenants.values(), ({ bindings }) => bindings.end(false)));
  }

  forgetTenant(tenant: number): void {
    this.#unread.delete(tenant);
    const found = this.#tenants.get(tenant);
    this.#tenants.delete(tenant);
    if (found !== undefined) this.#settle(tenant, found, found.bindings.end(true));
  }

  async #orLater(tenant: number | undefined, work: () => Promise<void>): Promise<void> {
    // Before the work: a change that fails meanwhile asks for another reading.
    if (tenant !== undefined) this.#unread.delete(tenant);
    try {
      await work();
    } catch (error) {
      if (tenant !== undefined) this.#unread.add(tenant);
      this.#noteFailure(error as Error, tenant);
    }
  }

  async #read(tenant: number): Promise<void> {
    const changed = new Set<string>();
    this.#changedMeanwhile.set(tenant, changed);
    try {
      const rows = await listRecords(this.#options, tenant, SCORING_BINDINGS);
      for (const row of rows) {
        const binding = changed.has(row.id) ? undefined : bindingOf(row);
        // What was told while they were being read is newer.
        if (binding !== undefined) await this.#of(tenant).bindings.set(binding.id, binding);
      }
    } finally {
      this.#changedMeanwhile.delete(tenant);
      this.#activate();
    }
  }

  #set(tenant: number, id: number, binding: StoredBinding | undefined): void {
    if (binding === undefined && !this.#tenants.has(tenant)) return;
    const found = this.#of(tenant);
    this.#settle(tenant, found, found.bindings.set(id, binding));
  }

  /** A change takes effect as soon as its model is read; where that fails, all of the tenant is read again. */
  #settle(tenant: number, { bindings }: OfTenant, changed: Promise<void>): void {
    changed
      .catch((error: Error) => {
        this.#noteFailure(error, tenant);
        this.#unread.add(tenant);
      })
      .finally(() => {
        if (bindings.size === 0 && this.#tenants.get(tenant)?.bindings === bindings) this.#tenants.delete(tenant);
        this.#activate();
      });
  }

  #activate(): void {
    const isActive = [...this.#tenants.values()].some(({ bindings }) => bindings.selection !== undefined);
    this.#options.onActive(isActive && !this.#loop.isStopped ? this : undefined);
  }

  #of(tenant: number): OfTenant {
    let found = this.#tenants.get(tenant);
    if (found === undefined) {
      const backlog = new TenantBacklog(tenant, this.#backlog);
      const makeLane = (bound: Bound, counts: LaneCounts, after: Promise<void> | undefined): Lane =>
        this.#lane(backlog, bound, counts, after);
      const { documents, scoring } = this.#options;
      const pauseOf = (model: StoredModel): string | undefined => scoring.pauseOf(tenant, model)?.error.message;
      const bindings = new TenantBindings(tenant, { documents, devices: this.#devices, makeLane, pauseOf });
      this.#tenants.set(tenant, (found = { bindings, backlog }));
    }
    return found;
  }

  #lane(backlog: TenantBacklog, bound: Bound, counts: LaneCounts, after: Promise<void> | undefined): Lane {
    const { log, now, clock, onOutcome, onDelivered, scoring } = this.#options;
    const { binding, model } = bound;
    const { tenant } = backlog;
    const mark = (depth: number) => ({
      depth: depth + 1,
      model: model.name,
      version: model.blob,
      bindingId: String(binding.id),
    });
    this.#generation += 1;
    const sender = { tenant, generation: this.#generation, user: binding.user, output: binding.output };
    return new Lane({
      backlog,
      counts,
      score: (chunk) => scoreChunk(this.#options, tenant, bound, chunk, markText(mark(chunk.depth))),
      hasRoom: binding.modelKind === 'pmml' && bound.plan.measurement !== undefined,
      pausedUntil: () => scoring.pauseOf(tenant, model)?.until,
      deliver: (measured, depth) => this.#delivery.deliver(sender, measured, mark(depth)),
      onOutcome,
      onDelivered,
      after,
      subject: { tenant, binding: binding.id },
      log,
      now,
      clock,
    });
  }

  #noteFailure(error: Error, tenant: number | undefined): void {
    this.#failures += 1;
    const now = this.#options.clock();
    if (now - this.#loggedAt < LOG_INTERVAL_MS) return;
    this.#loggedAt = now;
    this.#options.log.error(
      { err: error, tenant, failures: this.#failures },
      'a binding could not be read or followed',
    );
    this.#failures = 0;
  }
}
