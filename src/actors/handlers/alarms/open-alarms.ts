/**
 * Which alarms of a source and type are open, the longest open first: repeats count for that one. Several are possible
 * when cleared ones are opened again, as many as there are alarms: a chain, so that each change writes a few short
 * documents however many there are. `openAlarm` has the first and, when there are several, the last; `openAlarmLink` of
 * each of several the one before it and the one behind it.
 */
import type { ActorContext } from '../../runtime/context.ts';

interface Link {
  readonly previous: string;
  readonly next: string;
}

export const openKey = (source: string, type: string): string => `${source}\n${type}`;

/** @param key see `openKey`. @returns the id of the alarm that is open for longest. */
export const firstOpen = (context: ActorContext, key: string): string | undefined =>
  context.get('openAlarm', key)?.split(',')[0];

/** Ids of all that are open, the longest open first. @param entry of the collection `openAlarm`. */
export function* openIds(context: ActorContext, entry: string): Generator<string> {
  for (let [id] = entry.split(','); id !== ''; id = linkOf(context, id)?.next ?? '') yield id;
}

/** The alarm is open or not; that it was so before changes nothing. */
export function setOpen(context: ActorContext, key: string, id: string, isOpen: boolean): void {
  if (isOpen) append(context, key, id);
  else remove(context, key, id);
}

function linkOf(context: ActorContext, id: string): Link | undefined {
  const text = context.get('openAlarmLink', id);
  if (text === undefined) return undefined;
  const [previous, next] = text.split(',');
  return { previous, next };
}

const putLink = (context: ActorContext, id: string, { previous, next }: Link): void =>
  context.put('openAlarmLink', id, `${previous},${next}`);

function append(context: ActorContext, key: string, id: string): void {
  const entry = context.get('openAlarm', key);
  if (entry === undefined) {
    context.put('openAlarm', key, id);
    return;
  }
  const [first, last = first] = entry.split(',');
  if (first === id || linkOf(context, id) !== undefined) return;
  putLink(context, last, { previous: linkOf(context, last)?.previous ?? '', next: id });
  putLink(context, id, { previous: last, next: '' });
  context.put('openAlarm', key, `${first},${id}`);
}

function remove(context: ActorContext, key: string, id: string): void {
  const [first, last] = context.get('openAlarm', key)?.split(',') ?? [];
  if (last === undefined) {
    if (first === id) context.remove('openAlarm', key);
    return;
  }
  const link = linkOf(context, id);
  if (link === undefined) return;
  const { previous, next } = link;
  const [newFirst, newLast] = [previous === '' ? next : first, next === '' ? previous : last];
  context.remove('openAlarmLink', id);
  context.put('openAlarm', key, newFirst === newLast ? newFirst : `${newFirst},${newLast}`);
  if (newFirst === newLast) {
    context.remove('openAlarmLink', newFirst);
    return;
  }
  if (previous !== '') putLink(context, previous, { previous: linkOf(context, previous)?.previous ?? '', next });
  if (next !== '') putLink(context, next, { previous, next: linkOf(context, next)?.next ?? '' });
}
