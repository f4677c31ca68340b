/** A live message as a line for people. */
import { cell } from '../remote/output.ts';
import type { Kind } from './settings.ts';

export interface LiveMessage {
  readonly kind: Kind;
  readonly action: string;
  readonly entity: Readonly<Record<string, any>>;
}

/** Whether the entity has this type, or a fragment of this name, as operations do. */
export const isOfType = ({ entity }: LiveMessage, type: string): boolean =>
  entity['type'] === type || Object.hasOwn(entity, type);

/** `2026-11-25T10:00:00.000Z  measurement  4711  c8y_Temperature  c8y_Temperature.T=21.5 C`. */
export function lineOf({ kind, action, entity }: LiveMessage): string {
  const time = entity['time'] ?? entity['creationTime'] ?? new Date().toISOString();
  const source = entity['source']?.id ?? entity['deviceId'] ?? '-';
  const what = action === 'CREATE' ? kind.slice(0, -1) : `${kind.slice(0, -1)} ${action.toLowerCase()}d`;
  return [time, what, source, ...SUMMARIES[kind](entity)].map(cell).join('  ');
}

type Summary = (entity: LiveMessage['entity']) => unknown[];

const SUMMARIES: Readonly<Record<Kind, Summary>> = {
  measurements: (entity) => [entity['type'], seriesOf(entity)],
  events: ({ type, text }) => [type, text],
  alarms: ({ type, severity, status, text }) => [type, severity, status, text],
  operations: (entity) => [
    entity['status'],
    fragmentsOf(entity),
    entity['description'] ?? entity['failureReason'] ?? '',
  ],
};

function seriesOf(entity: LiveMessage['entity']): string {
  return Object.entries(entity)
    .filter(([, fragment]) => typeof fragment === 'object' && fragment !== null)
    .flatMap(([name, fragment]) =>
      Object.entries(fragment as Record<string, { value?: unknown; unit?: string }>)
        .filter(([, series]) => typeof series === 'object' && series !== null && 'value' in series)
        .map(([series, { value, unit }]) => `${name}.${series}=${value}${unit === undefined ? '' : ` ${unit}`}`),
    )
    .join(' ');
}

/** Names of what an operation asks for. */
const fragmentsOf = (entity: LiveMessage['entity']): string =>
  Object.keys(entity)
    .filter((name) => !OWN_MEMBERS.has(name))
    .join(',') || '-';
const OWN_MEMBERS = new Set([
  'id',
  'self',
  'deviceId',
  'deviceName',
  'status',
  'creationTime',
  'description',
  'failureReason',
  'bulkOperationId',
  'deviceExternalIDs',
]);
