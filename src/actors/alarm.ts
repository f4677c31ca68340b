/** Alarms of a source: de-duplication by type while one is open (document 1, Alarm status; document 4 section 5.4). */
import type { AlarmCreate, AlarmOfTypeUpdate, AlarmUpdate, EntityDelete } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { formatTime } from '../model/iso-time.ts';
import { joinMembers, mergeMembers, parseMembers, splitMembers, stringMember } from '../model/json-document.ts';
import type { Members } from '../model/json-document.ts';
import { isStored } from '../model/processing-mode.ts';
import type { ActorContext } from './context.ts';
import { requireSource } from './managed-object.ts';
import { deletedRow, entityRow } from './rows.ts';

const openKey = (source: string, type: string): string => `${source}\n${type}`;

/** Members that no client writes. */
const SERVER_KEPT = ['id', 'self', 'source', 'creationTime', 'lastUpdated', 'count', 'firstOccurrenceTime', 'firstOccurenceTime', 'history'];

/** Open alarms of a type, the longest open first: repeats count for that one. Several are possible when a cleared one is opened again. */
const openIds = (context: ActorContext, key: string): string[] => context.get('openAlarm', key)?.split(',') ?? [];

function setOpen(context: ActorContext, key: string, id: string, isOpen: boolean): void {
  const before = openIds(context, key);
  if (before.includes(id) === isOpen) return;
  const ids = isOpen ? [...before, id] : before.filter((other) => other !== id);
  if (ids.length > 0) context.put('openAlarm', key, ids.join(','));
  else context.remove('openAlarm', key);
}

export function createAlarm(context: ActorContext, body: AlarmCreate): { doc: string } {
  const { command } = context;
  const source = requireSource(context, 'alarm');
  const [openId] = openIds(context, openKey(source, body.type));
  if (openId !== undefined && isStored(command.mode)) return repeat(context, openId, body);
  const time = JSON.stringify(formatTime(command.receivedAt));
  const sent = parseMembers(body.doc);
  for (const name of SERVER_KEPT) sent.delete(name);
  const members: Members = new Map([['id', JSON.stringify(body.id)], ['source', `{"id":"${source}"}`], ...sent]);
  members.set('severity', JSON.stringify(body.severity));
  members.set('status', JSON.stringify(body.status));
  members.set('count', '1');
  members.set('creationTime', time);
  members.set('lastUpdated', time);
  return { doc: write(context, body.id, members, 'CREATE') };
}

/** The same alarm again: counted, its time moved; everything else stays. */
function repeat(context: ActorContext, id: string, body: AlarmCreate): { doc: string } {
  const members = load(context, id);
  const first = members.get('firstOccurrenceTime') ?? members.get('time') ?? 'null';
  const time = parseMembers(body.doc).get('time');
  if (time !== undefined) members.set('time', time);
  members.set('count', String(Number(members.get('count') ?? 1) + 1));
  members.set('firstOccurrenceTime', first);
  members.set('firstOccurenceTime', first);
  members.set('lastUpdated', JSON.stringify(formatTime(context.command.receivedAt)));
  return { doc: write(context, id, members, 'UPDATE') };
}

function load(context: ActorContext, id: string): Members {
  const text = context.get('alarm', id);
  if (text === undefined) throw new PlatformError('alarm/not-found', { id });
  return splitMembers(text);
}

function write(context: ActorContext, id: string, members: Members, action: 'CREATE' | 'UPDATE'): string {
  const { command } = context;
  const source = String(command.key);
  const text = joinMembers(members);
  if (isStored(command.mode)) {
    const key = openKey(source, stringMember(members, 'type') ?? '');
    setOpen(context, key, id, stringMember(members, 'status') !== 'CLEARED');
    context.put('alarm', id, text);
    context.row(entityRow(command, 'alarms', { id, source: Number(source), members }));
  }
  context.notify('alarms', source, action, text);
  return text;
}

export function updateAlarm(context: ActorContext, body: AlarmUpdate): { doc: string } {
  const members = load(context, body.id);
  // A PUT whose body equals the stored data changes nothing and notifies nobody (document 1, Alarms rule 4).
  const changes = parseMembers(body.doc);
  for (const name of SERVER_KEPT) changes.delete(name);
  if (!mergeMembers(members, changes)) return { doc: joinMembers(members) };
  members.set('lastUpdated', JSON.stringify(formatTime(context.command.receivedAt)));
  return { doc: write(context, body.id, members, 'UPDATE') };
}

/** SmartREST 305 and 306. */
export function updateAlarmOfType(context: ActorContext, body: AlarmOfTypeUpdate): { doc: string } {
  const source = requireSource(context, 'alarm');
  const [id] = openIds(context, openKey(source, body.type));
  if (id === undefined) throw new PlatformError('alarm/not-found', { id: `of type ${body.type}` });
  return updateAlarm(context, { id, doc: body.doc, user: body.user });
}

export function deleteAlarm(context: ActorContext, body: EntityDelete): undefined {
  const members = load(context, body.id);
  const source = String(context.command.key);
  setOpen(context, openKey(source, stringMember(members, 'type') ?? ''), body.id, false);
  context.remove('alarm', body.id);
  context.row(deletedRow(context.command, 'alarms', body.id, Number(source), members));
  context.notify('alarms', source, 'DELETE', JSON.stringify(body.id));
  return undefined;
}
