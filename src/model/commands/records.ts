/** Bodies of commands that write records of a tenant and its audit log. */
import type { ErrorCode } from '../errors.ts';
import type { RecordCollection } from './collections.ts';

/**
 * One record. `expected`: the text that the caller has read (undefined: none was there); another one refuses the whole
 * change with `general/changed-meanwhile`, and the caller reads and tries again. `value` undefined deletes.
 * `expectedDigest`: in the place of a long text (model/commands/record-change.ts).
 */
export interface RecordChange {
  readonly collection: RecordCollection;
  readonly id: string;
  readonly expected: string | undefined;
  readonly expectedDigest?: string;
  readonly value: string | undefined;
  /**
   * Only of the collection `job`: the value, the text of an object, gets the member `seq`, the sequence of the command
   * that stores it.
   */
  readonly isPositioned?: true;
}
/** How many records there are, and the UTF-8 bytes of their texts. */
export interface RecordsSum {
  readonly count: number;
  readonly bytes: number;
}
/** A bound on a sum: `error` has the places `limit` and `maximum`. */
export interface SumBound {
  readonly maximum: number;
  readonly limit: string;
  readonly error: ErrorCode;
}
/**
 * A sum over records, kept in one more record, since adding them up for each change would read them all. A change that
 * makes a sum greater than its bound is refused. `before`: what the caller has added up when there was no such record;
 * it begins with that.
 */
export interface RecordsTotal {
  readonly collection: RecordCollection;
  readonly id: string;
  readonly added: RecordsSum;
  readonly before?: RecordsSum;
  readonly bounds: Readonly<Record<keyof RecordsSum, SumBound>>;
}
/** A bound on the records whose ids begin with `prefix`: a change that adds some is refused where there are as many. */
export interface PrefixBound extends SumBound {
  readonly collection: RecordCollection;
  readonly prefix: string;
  /** Records that the changes add; 1 without it. */
  readonly added?: number;
}
/** All changes or none. */
export interface RecordsChange {
  readonly changes: readonly RecordChange[];
  readonly prefixes?: readonly PrefixBound[];
  readonly audits?: readonly AuditEntry[];
  readonly totals?: readonly RecordsTotal[];
}

/** Audit records that one command can write. */
export const AUDITS_MAX = 16;

/** What is written into the audit log (docs/spec/audit.md). `changes` are of the `changes[]` of the entity. */
export interface AuditEntry {
  readonly type: string;
  readonly activity: string;
  readonly text: string;
  readonly user?: string;
  readonly application?: string;
  readonly severity?: string;
  readonly source?: string;
  /** Number of the tenant whose log it is; that of the command without it. */
  readonly tenant?: number;
  readonly changes?: readonly {
    readonly attribute: string;
    readonly changeType?: 'ADDED' | 'REPLACED' | 'REMOVED';
    readonly type: string;
    readonly previousValue?: unknown;
    readonly newValue?: unknown;
  }[];
}
