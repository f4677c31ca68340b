/**
 * Rules about alarms that come from elsewhere: maintenance of the source, options of the tenant
 * (docs/spec/alarms.md#mapping, docs/spec/availability.md#maintenance).
 */
import { ALARM_SEVERITIES } from '../../../model/entities/alarm.ts';
import { AVAILABILITY_FRAGMENTS, requiredInterval } from '../../../model/entities/availability.ts';
import { memberText, parseMembers } from '../../../model/documents/json-document.ts';
import type { ActorContext } from '../../runtime/context.ts';

const MAPPING_CATEGORY = 'alarm.type.mapping';
/** Instead of a severity: alarms of the type are not stored. */
const NO_SEVERITY = 'NONE';

/** What an option makes of new alarms of a type. An absent member leaves what was sent. */
export interface AlarmMapping {
  readonly isSuppressed: boolean;
  readonly severity?: string;
  readonly text?: string;
}

/**
 * Whether the source is in maintenance: `c8y_RequiredAvailability.responseInterval` of 0 or less. Its alarms are not
 * stored.
 */
export function isInMaintenance(context: ActorContext, source: string): boolean {
  const text = context.get('managedObject', source);
  const required = text === undefined ? undefined : memberText(text, AVAILABILITY_FRAGMENTS.REQUIRED);
  const interval =
    required === undefined ? undefined : requiredInterval(new Map([[AVAILABILITY_FRAGMENTS.REQUIRED, required]]));
  return interval !== undefined && interval <= 0;
}

/** The option for exactly this type, or the longest `<type>*` that it begins with. */
export function mappingOf(context: ActorContext, type: string): AlarmMapping | undefined {
  const prefix = `${MAPPING_CATEGORY}\n`;
  let found: { readonly length: number; readonly value: string } | undefined;
  for (const { id, value } of context.list('option', prefix)) {
    const key = id.slice(prefix.length);
    const length = key === type ? Infinity : key.endsWith('*') && type.startsWith(key.slice(0, -1)) ? key.length : 0;
    // One that is only marked as non-editable has no value.
    if (length > (found?.length ?? 0) && parseMembers(value).has('value')) found = { length, value };
  }
  return found === undefined ? undefined : parseMapping(found.value);
}

/** `<severity>|<text>`, either of them may be empty. @param option text of the stored option. */
function parseMapping(option: string): AlarmMapping | undefined {
  const value: unknown = JSON.parse(parseMembers(option).get('value') ?? 'null');
  if (typeof value !== 'string') return undefined;
  const bar = value.indexOf('|');
  const severity = (bar < 0 ? value : value.slice(0, bar)).trim().toUpperCase();
  const text = bar < 0 ? '' : value.slice(bar + 1);
  return {
    isSuppressed: severity === NO_SEVERITY,
    ...((ALARM_SEVERITIES as readonly string[]).includes(severity) ? { severity } : {}),
    ...(text === '' ? {} : { text }),
  };
}
