/** Links of entities in live data, as REST writes them: a subscriber sees the server under the URL that it called. */
import { withBothMarkers } from '../../model/entities/agent-marker.ts';
import { shapeTime } from '../../model/documents/entity-time.ts';
import { compact, joinMembers, splitMembers } from '../../model/documents/json-document.ts';
import type { Notification } from '../../ports/live-bus.ts';

const PATHS: Readonly<Record<Notification['area'], string>> = {
  measurements: '/measurement/measurements/',
  events: '/event/events/',
  alarms: '/alarm/alarms/',
  managedobjects: '/inventory/managedObjects/',
  operations: '/devicecontrol/operations/',
};
/** Areas whose entities name the object that they are about in `source`; in others that is a fragment of the user's. */
const WITH_SOURCE: ReadonlySet<Notification['area']> = new Set(['measurements', 'events', 'alarms']);
const ID = /^"[^"\\]+"$/;
/** How a measurement begins that came as a row: the usual one, which is not taken apart. */
const CANONICAL_HEAD = /^\{"id":"(\d+)","time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)","source":\{"id":"(\d+)"\}/;
/** Stands for the base URL in entities that are kept: JSON never has it as it is. */
export const BASE_PLACE = '\u0001';

/**
 * @param text of the entity. @param baseUrl without a slash at the end.
 * @returns the entity, its time in the form of a list, with `self` as its first member unless it was not stored, and
 * one in its `source`; in the external IDs of an operation's device, too.
 */
export function linkedEntity(
  { area, isUnstored, isCanonical }: Pick<Notification, 'area' | 'isUnstored' | 'isCanonical'>,
  text: string,
  baseUrl: string,
): string {
  const head = isCanonical === true && isUnstored !== true ? CANONICAL_HEAD.exec(text) : null;
  if (head !== null) {
    const [{ length }, id, time, source] = head;
    return (
      `{"self":${quoted(`${baseUrl}${PATHS.measurements}${id}`)},"id":"${id}","time":"${time}",` +
      `"source":{"self":${quoted(`${baseUrl}${PATHS.managedobjects}${source}`)},"id":"${source}"}${text.slice(length)}`
    );
  }
  const sent = splitMembers(compact(text));
  const members = area === 'managedobjects' ? withBothMarkers(sent) : sent;
  // Others have it from their actor.
  if (area === 'measurements') shapeTime(members);
  const source = WITH_SOURCE.has(area) ? members.get('source') : undefined;
  if (source?.startsWith('{')) members.set('source', linked(splitMembers(source), baseUrl + PATHS.managedobjects));
  if (area === 'operations') linkExternalIds(members, baseUrl);
  return isUnstored === true ? joinMembers(members) : linked(members, baseUrl + PATHS[area]);
}

function linked(members: ReadonlyMap<string, string>, path: string): string {
  const url = urlOf(path, members.get('id'));
  if (url === undefined) return joinMembers(members);
  return joinMembers([['self', quoted(url)], ...[...members].filter(([name]) => name !== 'self')]);
}

/** The link to the list of all external IDs of the operation's device. */
function linkExternalIds(members: Map<string, string>, baseUrl: string): void {
  const externalIds = members.get('deviceExternalIDs');
  const url = urlOf(`${baseUrl}/identity/globalIds/`, members.get('deviceId'));
  if (externalIds?.startsWith('{') !== true || url === undefined) return;
  const self = quoted(`${url}/externalIds`);
  members.set('deviceExternalIDs', joinMembers(splitMembers(externalIds).set('self', self)));
}

const urlOf = (path: string, id: string | undefined): string | undefined =>
  id === undefined || !ID.test(id) ? undefined : path + encodeURIComponent(JSON.parse(id) as string);

/** JSON text of a URL. */
const quoted = (url: string): string => (url.startsWith(BASE_PLACE) ? `"${url}"` : JSON.stringify(url));
