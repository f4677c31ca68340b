/**
 * A run says until when it is under way (`StoredRun.until`), and its node moves that on. Another node ends only a run whose
 * time is over: a tenant that moves to another node takes no run along.
 */
import { SCORING_RECORDS } from '../../model/entities/scoring/model.ts';
import type { Log } from '../../ports/log.ts';
import { changeRecords, isChangedMeanwhile, readRecord } from '../../records/records.ts';
import type { RecordParts } from '../records.ts';
import { runRecordId, type StoredRun } from './stored.ts';

export const RUN_LEASE_MS = 60_000;
const RENEWED_EVERY_MS = 20_000;

export class RunLease {
  readonly #parts: RecordParts & { readonly log: Log };
  readonly #tenant: number;
  readonly #jobId: number;
  readonly #number: number;
  readonly #timer: NodeJS.Timeout;
  #renewing: Promise<void> | undefined;

  /** Moves the time on until `end`. */
  constructor(parts: RecordParts & { readonly log: Log }, tenant: number, jobId: number, number: number) {
    this.#parts = parts;
    this.#tenant = tenant;
    this.#jobId = jobId;
    this.#number = number;
    this.#timer = setInterval(() => {
      this.#renewing ??= this.renew().finally(() => {
        this.#renewing = undefined;
      });
    }, RENEWED_EVERY_MS);
  }

  /** Resolves when the record is not changed here any more. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
  }

  /** Moves the time on now. Never rejects. */
  async renew(): Promise<void> {
    const parts = this.#parts;
    const [tenant, jobId, number] = [this.#tenant, this.#jobId, this.#number];
    const id = runRecordId(jobId, number);
    try {
      const expected = await readRecord(parts, tenant, SCORING_RECORDS, id);
      const run = expected === undefined ? undefined : (JSON.parse(expected) as StoredRun);
      if (run?.status !== 'Running') return;
      const value = JSON.stringify({ ...run, until: parts.now() + RUN_LEASE_MS } satisfies StoredRun);
      await changeRecords(parts, tenant, [{ collection: SCORING_RECORDS, id, expected, value }]);
    } catch (error) {
      // It was ended, or deleted, in this moment.
      if (isChangedMeanwhile(error)) return;
      parts.log.warn({ err: error, tenant, jobId, number }, 'the time of a run could not be moved on');
    }
  }
}
