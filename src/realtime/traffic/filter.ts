/** Filters of MQTT traffic: as a channel tells them, and what passes them. */
import type { TrafficFilter, TrafficKind } from '../../ports/traffic.ts';

/** The longest value of a member. */
const VALUE_LENGTH_MAX = 200;
const KINDS: readonly string[] = ['in', 'out', 'error'] satisfies readonly TrafficKind[];
const NAMES: readonly string[] = ['client', 'device', 'topic', 'kind'] satisfies readonly (keyof TrafficFilter)[];

/** @param text a query, `kind=in&topic=s%2Fus`. @returns undefined for one that is not a filter. */
export function parseTrafficFilter(text: string): TrafficFilter | undefined {
  const filter: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    if (!NAMES.includes(name) || Object.hasOwn(filter, name)) return undefined;
    if (value === '' || value.length > VALUE_LENGTH_MAX) return undefined;
    filter[name] = value;
  }
  if (filter['kind'] !== undefined && !KINDS.includes(filter['kind'])) return undefined;
  return filter;
}

/** Whether a topic matches the levels of a topic filter. */
export function matchesTopic(filter: readonly string[], topic: string): boolean {
  const levels = topic.split('/');
  for (const [index, wanted] of filter.entries()) {
    if (wanted === '#') return true;
    if (index >= levels.length || (wanted !== '+' && wanted !== levels[index])) return false;
  }
  return filter.length === levels.length;
}
