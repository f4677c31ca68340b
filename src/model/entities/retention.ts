/**
 * Retention (docs/spec/retention.md): rules that say how long data of a kind are kept, and runs that remove what is
 * older. A rule applies by itself: data that two rules select go when the first of them says so. Everything a run has
 * to do is in its record.
 */

export const RETENTION_RULES = 'retentionRule';
export const RETENTION_DATA_TYPES = ['ALARM', 'AUDIT', 'BULK_OPERATION', 'EVENT', 'MEASUREMENT', 'OPERATION'] as const;
export type RetentionDataType = (typeof RETENTION_DATA_TYPES)[number];

/** Days, about ten years. */
export const MAXIMUM_AGE_MAX = 3_650;
/** Rules of a tenant. */
export const RULES_MAX = 100;
export const RULES_LIMIT = 'retention/rules';
/**
 * Together, as JSON: a run has them up to six times in its record, with quotes and backslashes doubled, and a cluster
 * takes 900 KiB at once.
 */
export const RULES_BYTES_MAX = 49_152;
export const RULES_BYTES_LIMIT = 'retention/rules-bytes';
/** Runs of a tenant that are remembered. */
export const RUNS_KEPT = 50;

/** `*` in place of a type, source or fragment stands for any. */
export const ANY = '*';

export interface RetentionRule {
  readonly dataType: RetentionDataType | typeof ANY;
  readonly fragmentType: string;
  readonly type: string;
  /** Id of a managed object; of an audit record any id. */
  readonly source: string;
  /** Days. */
  readonly maximumAge: number;
  /** Only the management tenant changes it. */
  readonly editable: boolean;
}

export interface NamedRule {
  readonly id: string;
  readonly rule: RetentionRule;
}

/** The rule that each tenant begins with: it is stored when it is changed. Ids of others are larger. */
export const DEFAULT_RULE_ID = '1';
const defaultRule = (days: number): RetentionRule => ({
  dataType: ANY,
  fragmentType: ANY,
  type: ANY,
  source: ANY,
  maximumAge: days,
  editable: true,
});
/** Stored in place of the default rule when it was deleted. */
export const REMOVED = '{"removed":true}';

const ID_DIGITS = 16;
const padded = (id: string): string => id.padStart(ID_DIGITS, '0');
export const RULE_PREFIX = 'rule/';
export const RUN_PREFIX = 'run/';
/** How many rules are stored, and their bytes (records/totals.ts). */
export const TOTAL_KEY = 'total';
/** Of the schedule and the run under way. */
export const STATE_KEY = 'state';
export const ruleKey = (id: string): string => `${RULE_PREFIX}${padded(id)}`;
export const runKey = (id: string): string => `${RUN_PREFIX}${padded(id)}`;
export const idOfKey = (key: string): string => String(BigInt(key.slice(key.indexOf('/') + 1)));

/**
 * Rules in the order of their ids. @param stored all records of `RULE_PREFIX`. @param defaultDays 0 for no default
 * rule.
 */
export function rulesOf(
  stored: readonly { readonly id: string; readonly value: string }[],
  defaultDays: number,
): NamedRule[] {
  const rules = stored
    .filter(({ value }) => value !== REMOVED)
    .map(({ id, value }) => ({ id: idOfKey(id), rule: JSON.parse(value) as RetentionRule }));
  const isStored = stored.some(({ id }) => id === ruleKey(DEFAULT_RULE_ID));
  return isStored || defaultDays === 0 ? rules : [{ id: DEFAULT_RULE_ID, rule: defaultRule(defaultDays) }, ...rules];
}

/** What one rule removes of one kind. */
export interface RetentionTarget {
  readonly dataType: RetentionDataType;
  readonly fragmentType: string;
  readonly type: string;
  readonly source: string;
  /** Older than this, ms since 1970. */
  readonly before: number;
}

/** A part that is removed at a time: what lies behind the cursor of the item, through this one. */
export interface RetentionChunk {
  readonly through: string;
  readonly count: number;
}

export interface RetentionItem extends RetentionTarget {
  readonly ruleId: string;
  /** Removed, or to be removed in a dry run. */
  readonly count: number;
  /** Cursor: everything up to it is done. */
  readonly after: string;
  /** Counted and being removed: after a crash it is removed again, not counted again. */
  readonly pending?: RetentionChunk;
  readonly isDone: boolean;
}

export const RUN_STATUSES = ['RUNNING', 'COMPLETED', 'FAILED', 'CANCELED'] as const;
export type RunTrigger = 'SCHEDULE' | 'REQUEST' | 'DISK';

export interface RetentionRun {
  readonly status: (typeof RUN_STATUSES)[number];
  readonly trigger: RunTrigger;
  readonly isDryRun: boolean;
  readonly user?: string;
  /** ms since 1970; ages are counted from here. */
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly items: readonly RetentionItem[];
  readonly failure?: string;
}

export interface RetentionState {
  /** The last nightly time that was taken care of, ms since 1970. */
  readonly doneFor: number;
  /** Id of the run under way. */
  readonly active?: string;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** The last time at or before `now` that was `hour` o'clock UTC. */
export function lastNight(now: number, hour: number): number {
  return Math.floor((now - hour * HOUR_MS) / DAY_MS) * DAY_MS + hour * HOUR_MS;
}

/** Id of a rule in the results of a dry run that was asked for with a rule of its own. */
const UNSAVED_RULE_ID = '0';
export const unsavedRule = (rule: RetentionRule): NamedRule => ({ id: UNSAVED_RULE_ID, rule });

/** What a run is asked for. */
export interface RunWish {
  readonly isDryRun: boolean;
  readonly user?: string;
  /** Of a dry run: this rule in the place of those of the tenant. */
  readonly rule?: RetentionRule;
}

/** What the rules ask for now, one item for each rule and kind. */
export function plannedItems(rules: readonly NamedRule[], now: number): RetentionItem[] {
  return rules.flatMap(({ id, rule: { dataType, fragmentType, type, source, maximumAge } }) =>
    (dataType === ANY ? RETENTION_DATA_TYPES : [dataType]).map((kind) => ({
      ruleId: id,
      dataType: kind,
      fragmentType,
      type,
      source,
      before: now - maximumAge * DAY_MS,
      count: 0,
      after: '',
      isDone: false,
    })),
  );
}

/** Whether data can be selected by both: a dry run counts them once. */
export function mayOverlap(one: RetentionTarget, other: RetentionTarget): boolean {
  const meet = (a: string, b: string): boolean => a === ANY || b === ANY || a === b;
  return one.dataType === other.dataType && meet(one.source, other.source) && meet(one.type, other.type);
}

const NOUNS: Readonly<Record<RetentionDataType, string>> = {
  ALARM: 'alarms',
  AUDIT: 'audit records',
  BULK_OPERATION: 'bulk operations',
  EVENT: 'events',
  MEASUREMENT: 'measurements',
  OPERATION: 'operations',
};

/** One sentence for the audit log: `4 events and 2 alarms were removed`. */
export function describeRun({ items, status, failure }: RetentionRun): string {
  const counts = new Map<RetentionDataType, number>();
  for (const { dataType, count } of items) if (count > 0) counts.set(dataType, (counts.get(dataType) ?? 0) + count);
  const parts = [...counts].map(([dataType, count]) => `${count} ${NOUNS[dataType]}`);
  const removed = parts.length === 0 ? 'nothing' : parts.join(', ');
  if (status === 'FAILED') return `the retention run failed after it had removed ${removed}: ${failure ?? ''}`;
  if (status === 'CANCELED') return `the retention run was canceled after it had removed ${removed}`;
  return `the retention run has removed ${removed}`;
}

/** Whether a removal under way goes on. */
export type IsWanted = () => boolean | Promise<boolean>;

/** Port: how a run finds and removes data. What is gone already is passed over, so that everything may be repeated. */
export interface RetentionStore {
  /**
   * The next part behind `after`. @param others targets whose data are left out of the count.
   * @returns undefined when nothing is left.
   */
  next(
    tenant: number,
    target: RetentionTarget,
    after: string,
    others: readonly RetentionTarget[],
  ): Promise<RetentionChunk | undefined>;
  /**
   * Removes a part. @param isWanted asked before each bounded step: false ends it early; who always says so only wants
   * to know the rest.
   * @returns how much of the part is left: 0 when all of it is gone.
   */
  remove(tenant: number, target: RetentionTarget, after: string, through: string, isWanted: IsWanted): Promise<number>;
}
