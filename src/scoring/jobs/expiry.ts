/** Which runs of a job retention rules remove: those whose event they remove (docs/spec/scoring.md#jobs). */
import { ANY, type NamedRule } from '../../model/entities/retention.ts';
import { RUN_EVENT_TYPE, type StoredJob } from './stored.ts';

const DAY_MS = 86_400_000;

/** @returns when the oldest run that is kept began at the earliest, ms since 1970; undefined: all are kept */
export function keptSince(
  rules: readonly NamedRule[],
  { groupOrDeviceId }: Pick<StoredJob, 'groupOrDeviceId'>,
  now: number,
): number | undefined {
  const isOf = (wanted: string, value: string): boolean => wanted === ANY || wanted === value;
  const ages = rules
    .filter(
      ({ rule }) =>
        isOf(rule.dataType, 'EVENT') &&
        isOf(rule.type, RUN_EVENT_TYPE) &&
        isOf(rule.fragmentType, RUN_EVENT_TYPE) &&
        isOf(rule.source, groupOrDeviceId),
    )
    .map(({ rule }) => rule.maximumAge);
  return ages.length === 0 ? undefined : now - Math.min(...ages) * DAY_MS;
}
