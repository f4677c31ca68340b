/**
 * Deletes everything that a tenant had: its applications with their users in other tenants, documents by commands to
 * the actors that own them, rows of the history, and, through the sweep of unreferenced content, binaries. Driven by a
 * record that is written together with the end of the tenant: a crash is finished by the next start. Commands that were
 * under way when the tenant ended may still write, so that nothing is taken for gone before it stayed gone for a while.
 */
import type { Collection } from '../../model/commands/collections.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { DocumentsRemove } from '../../model/commands/deletion.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import { BackgroundLoop } from '../../pacing/background-loop.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import {
  REQUESTS,
  REQUESTS_TENANT,
  joinPrefix,
  requestKey,
  tenantPrefix,
} from '../../model/entities/device-request.ts';
import type { StoredDeviceRequest } from '../../model/entities/device-request.ts';
import { actorOfDocument } from '../../model/commands/document-routing.ts';
import type { Log } from '../../ports/log.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';
import { tryChange } from '../../records/records.ts';

const DELETION_PREFIX = 'tenant-deletion/';
export const deletionKey = (number: number): string => `${DELETION_PREFIX}${number}`;

/** Also written before a tenant is made: what a crash leaves of one that was never ready is removed likewise. */
export interface TenantDeletionJob {
  readonly number: number;
  /** ms since 1970; not begun before. */
  readonly notBefore: number;
  /** Who deleted the tenant; absent when a crash left one that was never ready. */
  readonly by?: string;
  /** When nothing was found any more for the first time. */
  readonly emptySince?: number;
}

/** Documents of one collection that are removed in one step. */
const STEP_DOCUMENTS = 500;
/** Requests of new devices that are removed in one step. */
const STEP_REQUESTS = 100;
/** Bytes of the ids in the commands of one step: these take much more. */
const STEP_ID_BYTES = 128 * 1024;
/** Deletions that are read at once. */
const JOBS_READ = 1_000;
/** Time without a returning record after which a deletion is done. */
const QUIET_MS = 60_000;
const STEP_PAUSE_MS = 10;
const IDLE_PAUSE_MS = 5_000;
/** Of one deletion that failed: it begins with the first, and doubles. The others go on meanwhile. */
const FAILED_PAUSE_MS = 5_000;
const FAILED_PAUSE_MAX_MS = 10 * 60_000;
/** In audit records, when no user deleted the tenant. */
const NOBODY = 'system';

export interface TenantDeletionOptions {
  readonly documents: DocumentReader;
  readonly commands: CommandPort;
  /**
   * Removes the applications of a tenant that is gone, ending their subscriptions and users in other tenants.
   * @param by for audit records. @returns whether there were any.
   */
  readonly removeApplications: (tenant: number, by: string) => Promise<boolean>;
  /** All collections that a tenant can have. */
  readonly collections: readonly Exclude<Collection, 'pending' | 'meta'>[];
  readonly rows: {
    /** Whether the history has rows of the tenant, after all that was acknowledged before the call. */
    has(tenant: number): Promise<boolean>;
    remove(tenant: number): Promise<void>;
  };
  /** Whether this process does it: the owner of the whole server's records. */
  readonly isMine: () => boolean;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly quietMs?: number;
}

/** As many of them, one at least, as one step takes. */
function firstOf<Named extends { readonly id: string }>(records: readonly Named[]): Named[] {
  let bytes = 0;
  const end = records.findIndex(({ id }, index) => {
    bytes += Buffer.byteLength(id);
    return index > 0 && bytes > STEP_ID_BYTES;
  });
  return end < 0 ? [...records] : records.slice(0, end);
}

export class TenantDeletion {
  removedDocumentsCount = 0;
  readonly #options: TenantDeletionOptions;
  readonly #loop = new BackgroundLoop();
  /** Tenants whose applications this process has seen to be gone: looked at again when all else is. */
  readonly #withoutApplications = new Set<number>();
  /** Deletions that failed, by number of the tenant: no more than there are. */
  readonly #failed = new Map<number, { readonly pauseMs: number; readonly retryAt: number }>();

  constructor(options: TenantDeletionOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop.repeat(
      IDLE_PAUSE_MS,
      async () => ((await this.step()) ? STEP_PAUSE_MS : IDLE_PAUSE_MS),
      (error) => {
        this.#options.log.warn(
          { error: (error as Error).message, retryMs: IDLE_PAUSE_MS },
          'the deletions of tenants could not be read',
        );
      },
    );
  }

  /** Something is to be done: it need not wait for the next look. */
  wake(): void {
    this.#loop.wake();
  }

  /** Resolves when nothing is under way any more. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /**
   * One bounded step of each deletion. One that fails is tried again later, and holds up no other. @returns whether
   * there is more to do at once.
   */
  async step(): Promise<boolean> {
    const { documents, isMine } = this.#options;
    if (!isMine()) {
      this.#failed.clear();
      return false;
    }
    let isMore = false;
    for (let after: string | undefined; ; ) {
      const jobs = await documents.list('job', SERVER_WIDE, DELETION_PREFIX, {
        limit: JOBS_READ,
        ...(after === undefined ? {} : { after }),
      });
      for (const { id, value } of jobs) if (await this.#tryToAdvance(id, value)) isMore = true;
      if (jobs.length < JOBS_READ) return isMore;
      after = jobs[jobs.length - 1].id;
    }
  }

  /** @returns whether there is more to do at once. */
  async #tryToAdvance(id: string, text: string): Promise<boolean> {
    const { now, log } = this.#options;
    const job = JSON.parse(text) as TenantDeletionJob;
    const failed = this.#failed.get(job.number);
    if (job.notBefore > now() || (failed !== undefined && failed.retryAt > now())) return false;
    try {
      const isMore = await this.#advance(id, text, job);
      this.#failed.delete(job.number);
      return isMore;
    } catch (error) {
      const pauseMs = failed === undefined ? FAILED_PAUSE_MS : Math.min(FAILED_PAUSE_MAX_MS, 2 * failed.pauseMs);
      this.#failed.set(job.number, { pauseMs, retryAt: now() + pauseMs });
      log.warn(
        { tenantNumber: job.number, error: (error as Error).message, retryMs: pauseMs },
        'a tenant could not be deleted yet',
      );
      return false;
    }
  }

  async #advance(id: string, text: string, job: TenantDeletionJob): Promise<boolean> {
    const { rows, now, quietMs = QUIET_MS } = this.#options;
    const { emptySince, ...begun } = job;
    // First of all: its microservices have access to other tenants.
    const hadApplications = !this.#withoutApplications.has(job.number) && (await this.#removeApplications(job));
    if (hadApplications || (await this.#removeDocuments(job.number))) {
      if (emptySince !== undefined) await this.#store(id, text, begun);
      return true;
    }
    if (await this.#removeDeviceRequests(job.number)) return true;
    if (await rows.has(job.number)) {
      await rows.remove(job.number);
      if (emptySince !== undefined) await this.#store(id, text, begun);
      return true;
    }
    if (await this.#removeApplications(job)) {
      if (emptySince !== undefined) await this.#store(id, text, begun);
      return true;
    }
    if (emptySince === undefined) await this.#store(id, text, { ...job, emptySince: now() });
    else if (now() - emptySince >= quietMs) {
      await this.#store(id, text, undefined);
      this.#withoutApplications.delete(job.number);
      this.#options.log.info({ tenantNumber: job.number }, 'everything of a deleted tenant is gone');
    }
    return false;
  }

  /** @returns whether there were any. */
  async #removeApplications({ number, by = NOBODY }: TenantDeletionJob): Promise<boolean> {
    const hadSome = await this.#options.removeApplications(number, by);
    this.#withoutApplications.add(number);
    return hadSome;
  }

  /** @returns whether there were any. */
  async #removeDocuments(tenant: number): Promise<boolean> {
    const { documents, collections } = this.#options;
    for (const collection of collections) {
      const page = firstOf(await documents.list(collection, tenant, '', { limit: STEP_DOCUMENTS }));
      if (page.length === 0) continue;
      const byActor = new Map<string | number, string[]>();
      for (const { id } of page) {
        const actor = actorOfDocument(collection, id);
        if (actor === undefined) throw new Error(`${collection} ${id} belongs to no actor`);
        const ids = byActor.get(actor);
        if (ids === undefined) byActor.set(actor, [id]);
        else ids.push(id);
      }
      await Promise.all(
        Array.from(byActor, ([key, ids]) => {
          const body: DocumentsRemove = { collection, ids };
          return this.#request(COMMAND.DOCUMENTS_REMOVE, tenant, key, body);
        }),
      );
      this.removedDocumentsCount += page.length;
      return true;
    }
    return false;
  }

  /**
   * Requests of new devices are records of the whole server. An id that was taken by another tenant meanwhile is left
   * alone.
   * @returns whether there were any.
   */
  async #removeDeviceRequests(tenant: number): Promise<boolean> {
    const { documents } = this.#options;
    const page = (prefix: string): Promise<{ id: string; value: string }[]> | { id: string; value: string }[] =>
      documents.list(REQUESTS, REQUESTS_TENANT, prefix, { limit: STEP_REQUESTS });
    const prefix = tenantPrefix(tenant);
    const own = firstOf([...(await page(prefix)), ...(await page(joinPrefix(tenant)))]);
    if (own.length === 0) return false;
    const changes: RecordChange[] = own.map(({ id, value }) => ({
      collection: REQUESTS,
      id,
      expected: value,
      value: undefined,
    }));
    for (const { id } of own) {
      if (!id.startsWith(prefix)) continue;
      const key = requestKey(id.slice(prefix.length));
      const expected = await documents.get(REQUESTS, REQUESTS_TENANT, key);
      const isOwn = expected !== undefined && (JSON.parse(expected) as StoredDeviceRequest).tenant === tenant;
      if (isOwn) changes.push({ collection: REQUESTS, id: key, expected, value: undefined });
    }
    await this.#changeRecords(changes);
    return true;
  }

  async #store(id: string, expected: string, job: TenantDeletionJob | undefined): Promise<void> {
    const change: RecordChange = {
      collection: 'job',
      id,
      expected,
      value: job === undefined ? undefined : JSON.stringify(job),
    };
    await this.#changeRecords([change]);
  }

  /** Records of the whole server. */
  async #changeRecords(changes: readonly RecordChange[]): Promise<void> {
    // False: the tenant was made ready meanwhile, a device asked, or another node had the same step. The next look sees.
    await tryChange(this.#options, SERVER_WIDE, changes);
  }

  #request(
    kind: typeof COMMAND.DOCUMENTS_REMOVE,
    tenant: number,
    key: string | number,
    body: object,
  ): Promise<unknown> {
    const { commands, now } = this.#options;
    return commands.request({ kind, tenant, key, mode: PROCESSING_MODE.PERSISTENT, receivedAt: now(), body });
  }
}
