/**
 * What a node of a cluster remembers of documents, and how it follows what other nodes change (docs/internals/cluster.md,
 * Caches).
 */
import type { NodeCaches } from '../../cluster/node.ts';
import type { Change, ToldRecord } from '../../cluster/gateway/outcome-sender.ts';
import { shardOf } from '../../ingest/journal/command-record.ts';
import type { ActorKey } from '../../model/commands/command.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import type { RecordCollection } from '../../model/commands/collections.ts';
import { recordsChanged } from './core.ts';
import type { ServerCore } from './core.ts';
import { SERVER_WIDE, TENANT_KEY } from '../../model/commands/keys.ts';

/** What could not be read is read again after this time. */
const RETRY_MS = 2_000;
const LIST_MAX = 100_000;
const GATHER_MS = 50;
const ALL = -1;

type CachedCore = Pick<
  ServerCore,
  'tenants' | 'authenticator' | 'events' | 'sources' | 'documents' | 'forwarding' | 'log'
>;

export class ClusterCaches implements NodeCaches {
  readonly #core: CachedCore;
  /** Shards of which changes may not have been told; ALL of them when this node may have missed some. */
  readonly #untold = new Set<number>();
  #isStarted = false;
  #timer: NodeJS.Timeout | undefined;
  #forgetting: Promise<void> = Promise.resolve();
  /** Of each reading of records that is under way: those that were changed since. */
  readonly #changedMeanwhile = new Set<Set<string>>();

  /** @param core is asked for its parts when there is a change. */
  constructor(core: CachedCore) {
    this.#core = core;
  }

  onChanged(changes: readonly Change[]): void {
    for (const change of changes) this.#changed(change);
  }

  onRecordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    this.#noteChanged(tenant, changes);
    recordsChanged(this.#core, tenant, changes);
  }

  forgetAll(): void {
    this.#core.authenticator.forgetAll();
    this.#core.sources.forgetAll();
    this.#untold.add(ALL);
    this.#forgetSoon(0);
  }

  age(): void {
    this.#core.sources.age();
  }

  /** By an owner of this node or another one. */
  #changed(change: Change): void {
    if (change.kind === 'user') {
      this.#core.authenticator.forget(change.tenant, change.id);
      if (change.keepsConnections !== true) this.#core.events.onUsersEnded?.(change.tenant, new Set([change.id]));
    } else if (change.kind === 'object') {
      this.#core.sources.forget(Number(change.id));
      this.#core.events.onObjectChanged?.(Number(change.id));
    } else if (change.kind === 'links') {
      this.#core.events.onLinksEnded?.();
    } else if (change.kind === 'shard') {
      this.#untold.add(Number(change.id));
      this.#forgetSoon(GATHER_MS);
    } else {
      const told = JSON.parse(change.id) as ToldRecord[];
      this.#noteChanged(
        change.tenant,
        told.map(([collection, id]) => ({ collection, id })),
      );
      // What is remembered of users ends now; the rest when the records are read.
      this.#core.authenticator.recordsChanged(
        change.tenant,
        told.map(([collection, id, expected]) => ({ collection, id, expected, value: undefined })),
      );
      void this.#readRecords(change.tenant, told);
    }
  }

  /** Records that another node has changed are read as they are now. */
  async #readRecords(tenant: number, records: readonly ToldRecord[]): Promise<void> {
    try {
      const changes = await Promise.all(
        records.map(
          async ([collection, id, former]): Promise<RecordChange> => ({
            collection,
            id,
            expected: former,
            value: await this.#core.documents.get(collection, tenant, id),
          }),
        ),
      );
      recordsChanged(this.#core, tenant, changes);
    } catch (error) {
      this.#core.log.warn(
        { tenant, error: (error as Error).message },
        'changed records could not be read; all cached records are read again',
      );
      this.#untold.add(ALL);
      this.#forgetSoon(RETRY_MS);
    }
  }

  /**
   * The tenants are loaded, and the accounts of a first start are stored: before that there is nothing to read again.
   */
  start(): void {
    this.#isStarted = true;
    if (this.#untold.size > 0) this.#forgetSoon(0);
  }

  /** Gathers for a moment: a node that takes shards over tells of each. */
  #forgetSoon(delayMs: number): void {
    if (!this.#isStarted) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#forgetting = this.#forgetting.then(() => this.#forgetMissed());
    }, delayMs).unref();
  }

  /** Messages of other nodes may have been missed: of all actors, or of those of some shards. */
  async #forgetMissed(): Promise<void> {
    const missed = new Set(this.#untold);
    this.#untold.clear();
    const isOf = (tenant: number, key: ActorKey): boolean => missed.has(ALL) || missed.has(shardOf(tenant, key));
    const { sources, tenants, authenticator, events, forwarding, log } = this.#core;
    sources.forgetAll();
    const ofTenants = (): { readonly number: number }[] =>
      [...tenants.all].filter(({ number }) => isOf(number, TENANT_KEY));
    if (isOf(SERVER_WIDE, TENANT_KEY) || ofTenants().length > 0) authenticator.forgetAll();
    try {
      if (isOf(SERVER_WIDE, TENANT_KEY))
        await this.#readAgain(
          SERVER_WIDE,
          'tenant',
          Array.from(tenants.all, ({ id }) => id),
        );
      for (const { number } of ofTenants()) {
        for (const watched of events.watched)
          for (const [collection, known] of watched(number)) await this.#readAgain(number, collection, known);
      }
      await forwarding.load(ofTenants().map(({ number }) => number));
      await events.onMissed?.(isOf);
    } catch (error) {
      log.warn(
        { error: (error as Error).message, retryMs: RETRY_MS },
        'cached records could not be read again; trying again',
      );
      for (const shard of missed) this.#untold.add(shard);
      this.#forgetSoon(RETRY_MS);
    }
  }

  #noteChanged(tenant: number, records: readonly Pick<RecordChange, 'collection' | 'id'>[]): void {
    for (const changed of this.#changedMeanwhile) for (const record of records) changed.add(recordName(tenant, record));
  }

  /** @param known ids that may have been deleted. */
  async #readAgain(tenant: number, collection: RecordCollection, known: readonly string[]): Promise<void> {
    const changed = new Set<string>();
    this.#changedMeanwhile.add(changed);
    let stored: Map<string, string>;
    try {
      stored = new Map(
        (await this.#core.documents.list(collection, tenant, '', { limit: LIST_MAX })).map(({ id, value }) => [
          id,
          value,
        ]),
      );
    } finally {
      this.#changedMeanwhile.delete(changed);
    }
    // What was told while it was being read is newer.
    const ids = new Set(
      [...stored.keys(), ...known].filter((id) => !changed.has(recordName(tenant, { collection, id }))),
    );
    if (ids.size > 0)
      recordsChanged(
        this.#core,
        tenant,
        Array.from(ids, (id) => ({ collection, id, expected: undefined, value: stored.get(id) })),
      );
  }
}

const recordName = (tenant: number, { collection, id }: Pick<RecordChange, 'collection' | 'id'>): string =>
  `${tenant}/${collection}/${id}`;
