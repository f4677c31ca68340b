/** Retention rules of a tenant, and the end of its runs (docs/spec/retention.md), as records. */
import type { AuditEntry, RecordChange } from '../model/commands/records.ts';
import {
  DEFAULT_RULE_ID,
  REMOVED,
  RETENTION_RULES,
  RULES_BYTES_LIMIT,
  RULES_BYTES_MAX,
  RULES_LIMIT,
  RULES_MAX,
  RULE_PREFIX,
  TOTAL_KEY,
  ruleKey,
  rulesOf,
  runKey,
} from '../model/entities/retention.ts';
import type { NamedRule, RetentionRule, RetentionRun } from '../model/entities/retention.ts';
import { PlatformError } from '../model/errors.ts';
import { listRecords, readRecord, retried, updateRecord } from './records.ts';
import type { RecordPorts, RecordReader } from './records.ts';
import { NO_SUM, changeWithin, sumOfRecord } from './totals.ts';
import type { KeptTotal } from './totals.ts';

/** The rules of a tenant together. */
const rulesTotal = (tenant: number): KeptTotal => ({
  tenant,
  collection: RETENTION_RULES,
  id: TOTAL_KEY,
  bounds: {
    count: { maximum: RULES_MAX, limit: RULES_LIMIT, error: 'retention/too-many' },
    bytes: { maximum: RULES_BYTES_MAX, limit: RULES_BYTES_LIMIT, error: 'retention/too-large' },
  },
  sumOf: (record) => (!record.id.startsWith(RULE_PREFIX) || record.value === REMOVED ? NO_SUM : sumOfRecord(record)),
  records: (ports) => listRecords(ports, tenant, RETENTION_RULES, RULE_PREFIX),
});

/** @param defaultDays of the rule that each tenant begins with. */
export const retentionRules = async (ports: RecordReader, tenant: number, defaultDays: number): Promise<NamedRule[]> =>
  rulesOf(await listRecords(ports, tenant, RETENTION_RULES, RULE_PREFIX), defaultDays);

/** @throws PlatformError 422 when the tenant has no room for more. */
export function addRule(ports: RecordPorts, tenant: number, { id, rule }: NamedRule, audit: AuditEntry): Promise<void> {
  const change: RecordChange = {
    collection: RETENTION_RULES,
    id: ruleKey(id),
    expected: undefined,
    value: JSON.stringify(rule),
  };
  return changeWithin(ports, rulesTotal(tenant), [change], [audit]);
}

/**
 * @param decide makes the next rule of the present one, undefined deletes it. It may throw to refuse.
 * @param auditOf the rule as it is then, or was.
 * @throws PlatformError 404; 422 when the tenant has no room for it.
 */
export function changeRule(
  ports: RecordPorts,
  tenant: number,
  { id, rule }: NamedRule,
  decide: (rule: RetentionRule) => RetentionRule | undefined,
  auditOf: (rule: NamedRule) => AuditEntry,
): Promise<NamedRule> {
  return retried(ports, async () => {
    const expected = await readRecord(ports, tenant, RETENTION_RULES, ruleKey(id));
    if (expected === REMOVED || (expected === undefined && id !== DEFAULT_RULE_ID))
      throw new PlatformError('retention/not-found', { id });
    const present = expected === undefined ? rule : (JSON.parse(expected) as RetentionRule);
    const next = decide(present);
    const value = next !== undefined ? JSON.stringify(next) : id === DEFAULT_RULE_ID ? REMOVED : undefined;
    const change: RecordChange = { collection: RETENTION_RULES, id: ruleKey(id), expected, value };
    if (value !== expected)
      await changeWithin(ports, rulesTotal(tenant), [change], [auditOf({ id, rule: next ?? present })]);
    return { id, rule: next ?? rule };
  });
}

/** Ends a run that is under way; what it has removed stays removed. @throws PlatformError 404. */
export async function cancelRun(ports: RecordPorts, tenant: number, id: string, user: string): Promise<void> {
  const text = `Retention run ${id} canceled`;
  await updateRecord(
    ports,
    tenant,
    RETENTION_RULES,
    runKey(id),
    (stored) => {
      if (stored === undefined) throw new PlatformError('retention/run-not-found', { id });
      const run = JSON.parse(stored) as RetentionRun;
      if (run.status !== 'RUNNING') return stored;
      return JSON.stringify({ ...run, status: 'CANCELED', endedAt: ports.now() } satisfies RetentionRun);
    },
    [{ type: 'SYSTEM', activity: 'Retention run canceled', text, source: id, user }],
  );
}
