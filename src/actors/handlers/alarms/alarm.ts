/** Alarms of a source: de-duplication by type while one is open (docs/spec/alarms.md#status). */
import { isOpenStatus } from '../../../model/entities/alarm.ts';
import type { AlarmCreate, AlarmOfTypeUpdate, AlarmUpdate } from '../../../model/commands/entities.ts';
import type { AuditEntry } from '../../../model/commands/records.ts';
import type { EntityDelete } from '../../../model/commands/deletion.ts';
import { shapeTime } from '../../../model/documents/entity-time.ts';
import { PlatformError } from '../../../model/errors.ts';
import { formatTime } from '../../../model/documents/iso-time.ts';
import {
  dropNulls,
  joinMembers,
  mergeMembers,
  parseMembers,
  splitMembers,
  stringMember,
} from '../../../model/documents/json-document.ts';
import type { Members } from '../../../model/documents/json-document.ts';
import { isAlarmStored } from '../../../model/commands/processing-mode.ts';
import type { ActorContext } from '../../runtime/context.ts';
import { countAlarm } from './counters.ts';
import { isInMaintenance, mappingOf } from './rules.ts';
import { changesBetween, describeChanges } from '../../../model/entities/changes.ts';
import { requireSource } from '../inventory/managed-object.ts';
import { firstOpen, openIds, openKey, setOpen } from './open-alarms.ts';
import { deletedRow, entityRow } from '../../runtime/rows.ts';

/** Members that no client writes. */
const SERVER_KEPT = [
  'id',
  'self',
  'source',
  'creationTime',
  'lastUpdated',
  'count',
  'firstOccurrence',
  'firstOccurrenceTime',
  'firstOccurenceTime',
  'history',
];

/** Open alarms of one type that are looked at for an ACTIVE one; more than one is open only when cleared ones are opened again. */
const OPEN_LOOKED_AT = 100;
/** What changes with everything, or is kept by the server: no change of its own in the audit log. */
const NOT_AUDITED: ReadonlySet<string> = new Set([
  'lastUpdated',
  'count',
  'time',
  'firstOccurrenceTime',
  'firstOccurenceTime',
]);

/** @returns the alarm; `isSuppressed`: nothing was stored, and it has no id. */
export function createAlarm(context: ActorContext, body: AlarmCreate): { doc: string; isSuppressed?: boolean } {
  const { command } = context;
  const source = requireSource(context, 'alarm');
  const mapping = mappingOf(context, body.type);
  if (mapping?.isSuppressed || isInMaintenance(context, source)) {
    return {
      doc: joinMembers(shapeTime(dropNulls(splitMembers(body.doc))).set('source', `{"id":"${source}"}`)),
      isSuppressed: true,
    };
  }
  const openId = firstOpen(context, openKey(source, body.type));
  if (openId !== undefined && isAlarmStored(command.mode)) return repeat(context, openId, body);
  const time = JSON.stringify(formatTime(command.receivedAt));
  const sent = shapeTime(dropNulls(splitMembers(body.doc)));
  for (const name of SERVER_KEPT) sent.delete(name);
  const members: Members = new Map([['id', JSON.stringify(body.id)], ['source', `{"id":"${source}"}`], ...sent]);
  members.set('severity', JSON.stringify(mapping?.severity ?? body.severity));
  if (mapping?.text !== undefined) members.set('text', JSON.stringify(mapping.text));
  members.set('status', JSON.stringify(body.status));
  members.set('count', '1');
  members.set('creationTime', time);
  members.set('lastUpdated', time);
  if (isAlarmStored(command.mode))
    audit(context, body, members, 'Alarm raised', { text: `Alarm raised: ${stringMember(members, 'text') ?? ''}` });
  return { doc: write(context, body.id, members, 'CREATE') };
}

/** The same alarm again: counted, its time moved; everything else stays. */
function repeat(context: ActorContext, id: string, body: AlarmCreate): { doc: string } {
  const members = load(context, id);
  const first = members.get('firstOccurrenceTime') ?? members.get('time') ?? 'null';
  const time = shapeTime(splitMembers(body.doc)).get('time');
  if (time !== undefined) members.set('time', time);
  members.set('count', String(Number(members.get('count') ?? 1) + 1));
  members.set('firstOccurrenceTime', first);
  members.set('firstOccurenceTime', first);
  members.set('lastUpdated', JSON.stringify(formatTime(context.command.receivedAt)));
  return { doc: write(context, id, members, 'UPDATE', members) };
}

/** Who did what to the alarm: its history (docs/spec/alarms.md#history). Repeats are none. */
function audit(
  context: ActorContext,
  by: { readonly id: string; readonly user: string; readonly application?: string },
  members: Members,
  activity: string,
  entry: Pick<AuditEntry, 'text' | 'changes'>,
): void {
  context.audit({
    type: 'Alarm',
    activity,
    ...entry,
    user: by.user,
    severity: stringMember(members, 'severity') ?? 'INFORMATION',
    source: by.id,
    ...(by.application === undefined ? {} : { application: by.application }),
  });
}

function load(context: ActorContext, id: string): Members {
  const text = context.get('alarm', id);
  if (text === undefined) throw new PlatformError('alarm/not-found', { id });
  return splitMembers(text);
}

/** @param before the alarm until now. */
function write(
  context: ActorContext,
  id: string,
  members: Members,
  action: 'CREATE' | 'UPDATE',
  before?: Members,
): string {
  const { command } = context;
  const source = String(command.key);
  const text = joinMembers(members);
  if (isAlarmStored(command.mode)) {
    const keyOf = (alarm: Members): string => openKey(source, stringMember(alarm, 'type') ?? '');
    countAlarm(context, source, before, members);
    if (before !== undefined && keyOf(before) !== keyOf(members)) setOpen(context, keyOf(before), id, false);
    setOpen(context, keyOf(members), id, isOpenStatus(stringMember(members, 'status') ?? 'ACTIVE'));
    context.put('alarm', id, text);
    context.row(entityRow(command, 'alarms', { id, source: Number(source), members, doc: text }));
  }
  context.notify('alarms', source, action, action === 'UPDATE' ? updateText(members) : text);
  return text;
}

/** Updates also say whether they are about the first occurrence (docs/spec/realtime.md#effects). */
const updateText = (members: Members): string =>
  joinMembers([...members, ['firstOccurrence', String(Number(members.get('count') ?? 1) <= 1)]]);

export function updateAlarm(context: ActorContext, body: AlarmUpdate): { doc: string } {
  const members = load(context, body.id);
  // A PUT whose body equals the stored data changes nothing and makes no notification (docs/spec/alarms.md#history).
  const changes = parseMembers(body.doc);
  for (const name of SERVER_KEPT) changes.delete(name);
  const before = new Map(members);
  if (!mergeMembers(members, changes)) return { doc: joinMembers(members) };
  members.set('lastUpdated', JSON.stringify(formatTime(context.command.receivedAt)));
  if (isAlarmStored(context.command.mode)) {
    const changed = changesBetween(before, members, NOT_AUDITED);
    audit(context, body, members, 'Alarm updated', {
      text: `Alarm updated: ${describeChanges(changed)}`,
      changes: changed.listed,
    });
  }
  return { doc: write(context, body.id, members, 'UPDATE', before) };
}

/** SmartREST 305, 306 and custom templates: an ACTIVE alarm of the type, else the ACKNOWLEDGED one. */
export function updateAlarmOfType(context: ActorContext, body: AlarmOfTypeUpdate): { doc: string } {
  const source = requireSource(context, 'alarm');
  const id = activeOrOpen(context, openKey(source, body.type));
  if (id === undefined) throw new PlatformError('alarm/not-found', { id: `of type ${body.type}` });
  return updateAlarm(context, { id, doc: body.doc, user: body.user });
}

function activeOrOpen(context: ActorContext, key: string): string | undefined {
  const entry = context.get('openAlarm', key);
  if (entry === undefined) return undefined;
  let looked = 0;
  for (const id of openIds(context, entry)) {
    if (stringMember(load(context, id), 'status') === 'ACTIVE') return id;
    if (++looked >= OPEN_LOOKED_AT) break;
  }
  return firstOpen(context, key);
}

export function deleteAlarm(context: ActorContext, body: EntityDelete): undefined {
  const members = load(context, body.id);
  if (body.onlyWhenOver === true && stringMember(members, 'status') !== 'CLEARED') return undefined;
  const source = String(context.command.key);
  countAlarm(context, source, members, undefined);
  setOpen(context, openKey(source, stringMember(members, 'type') ?? ''), body.id, false);
  context.remove('alarm', body.id);
  context.row(deletedRow(context.command, 'alarms', body.id, Number(source), members));
  context.notify('alarms', source, 'DELETE', JSON.stringify(body.id), stringMember(members, 'type'));
  return undefined;
}
