/** Links of entities in live data, as REST writes them: a subscriber sees the server under the URL that it called. */
import { compact, joinMembers, splitMembers } from '../model/json-document.ts';
import type { Notification } from '../model/command.ts';

const PATHS: Readonly<Record<Notification['area'], string>> = {
  measurements: '/measurement/measurements/', events: '/event/events/', alarms: '/alarm/alarms/', managedobjects: '/inventory/managedObjects/',
  operations: '/devicecontrol/operations/',
};
/** What was not stored has none, and no link. */
const ID = /^"[^"\\]+"$/;

/**
 * @param text of the entity. @param baseUrl without a slash at the end.
 * @returns the entity with `self` as its first member, and one in its `source`.
 */
export function linkedEntity(area: Notification['area'], text: string, baseUrl: string): string {
  const members = splitMembers(compact(text));
  const source = members.get('source');
  if (source?.startsWith('{')) members.set('source', linked(splitMembers(source), baseUrl + PATHS.managedobjects));
  return linked(members, baseUrl + PATHS[area]);
}

function linked(members: ReadonlyMap<string, string>, path: string): string {
  const id = members.get('id');
  if (id === undefined || !ID.test(id)) return joinMembers(members);
  const self = JSON.stringify(path + encodeURIComponent(JSON.parse(id) as string));
  return joinMembers([['self', self], ...[...members].filter(([name]) => name !== 'self')]);
}
