/**
 * Topics of JSON over MQTT (docs/spec/mqtt-json.md#topics): `[t/|q/|c/]<api>/<resource>/<action>[/<id>]`, a leading
 * slash is tolerated.
 */
import { PROCESSING_MODE, type ProcessingMode } from '../model/commands/processing-mode.ts';

export type JsonArea = 'measurements' | 'events' | 'alarms' | 'managedObjects';
export type JsonAction = 'create' | 'createBulk' | 'update' | 'delete' | 'createChildDevice';

export interface JsonTopic {
  readonly kind: 'json';
  readonly mode: ProcessingMode;
  readonly area: JsonArea;
  readonly action: JsonAction;
  /**
   * The entity of `update` and `delete` (for managed objects an external ID or an id), the parent of
   * `createChildDevice`.
   */
  readonly id?: string;
}

/** Area and actions of `<api>/<resource>`; the value says whether an id follows the action. */
interface Resource {
  readonly area: JsonArea;
  readonly actions: Readonly<Partial<Record<string, boolean>>>;
}

const RESOURCES: ReadonlyMap<string, Resource> = new Map<string, Resource>([
  ['measurement/measurements', { area: 'measurements', actions: { create: false, createBulk: false, delete: true } }],
  ['event/events', { area: 'events', actions: { create: false, createBulk: false, update: true, delete: true } }],
  ['alarm/alarms', { area: 'alarms', actions: { create: false, createBulk: false, update: true } }],
  ['inventory/managedObjects', { area: 'managedObjects', actions: { create: false, update: true } }],
]);

/** Topic filters that together match every topic read here; topics.ts keeps them out of subscriptions. */
export const JSON_PUBLISH_FILTERS: readonly string[] = jsonPublishFilters();

/** APIs of the platform: who publishes below one means JSON. */
const APIS = new Set(['measurement', 'event', 'alarm', 'inventory', 'devicecontrol']);

/** Begins like a topic of JSON, which may mean nothing all the same. */
export function isLikeJson(topic: string): boolean {
  const levels = topic.split('/');
  if (levels[0] === '') levels.shift();
  return APIS.has(jsonMode(levels[0]) === PROCESSING_MODE.PERSISTENT ? levels[0] : levels[1]);
}

/** @returns what a JSON topic asks for; undefined when it is none. */
export function parseJsonTopic(topic: string): JsonTopic | undefined {
  const levels = topic.split('/');
  if (levels[0] === '') levels.shift();
  const mode = jsonMode(levels[0]);
  if (mode !== PROCESSING_MODE.PERSISTENT) levels.shift();
  const resource = RESOURCES.get(`${levels[0]}/${levels[1]}`);
  if (resource === undefined || levels.length < 3) return undefined;
  const { area, actions } = resource;
  if (area === 'managedObjects' && levels.length === 5 && levels[3] === 'childDevices' && levels[4] === 'create') {
    return levels[2] === '' ? undefined : { kind: 'json', mode, area, action: 'createChildDevice', id: levels[2] };
  }
  const action = levels[2];
  if (!Object.hasOwn(actions, action)) return undefined;
  if (actions[action] === false)
    return levels.length === 3 ? { kind: 'json', mode, area, action: action as JsonAction } : undefined;
  return levels.length === 4 && levels[3] !== ''
    ? { kind: 'json', mode, area, action: action as JsonAction, id: levels[3] }
    : undefined;
}

/** Mode of the first level; PERSISTENT when it names an API already. */
function jsonMode(level: string): ProcessingMode {
  switch (level) {
    case 't':
      return PROCESSING_MODE.TRANSIENT;
    case 'q':
      return PROCESSING_MODE.QUIESCENT;
    case 'c':
      return PROCESSING_MODE.CEP;
    default:
      return PROCESSING_MODE.PERSISTENT;
  }
}

function jsonPublishFilters(): string[] {
  const filters: string[] = [];
  for (const prefix of ['', '/', 't/', 'q/', 'c/', '/t/', '/q/', '/c/']) {
    for (const [path, { actions }] of RESOURCES) {
      for (const [action, hasId] of Object.entries(actions))
        filters.push(`${prefix}${path}/${action}${hasId === true ? '/+' : ''}`);
    }
    filters.push(`${prefix}inventory/managedObjects/+/childDevices/create`);
  }
  return filters;
}
