/** Events of a source (docs/spec/events.md). */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { EntityDelete } from '../../model/commands/deletion.ts';
import type { EntityUpdate, EventBinaryChange, EventCreate } from '../../model/commands/entities.ts';
import { shapeTime } from '../../model/documents/entity-time.ts';
import { PlatformError } from '../../model/errors.ts';
import { EVENT_FIXED_FIELDS } from '../../model/entities/event.ts';
import { areParametersKnown, PARAMETER_UPDATE, withParameters } from '../../model/entities/parameter-state.ts';
import { EVENT_BINARY_MARKS } from '../../model/entities/event-binary.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import {
  dropNulls,
  joinMembers,
  mergeMembers,
  parseMembers,
  splitMembers,
  stringMember,
} from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import type { ActorContext } from '../runtime/context.ts';
import { requireSource } from './inventory/managed-object.ts';
import { deletedRow, entityRow } from '../runtime/rows.ts';

/** Members that no client writes. */
const SERVER_KEPT = ['id', 'self', 'source', 'creationTime', 'lastUpdated', ...EVENT_BINARY_MARKS];

export function createEvent(context: ActorContext, body: EventCreate): { doc: string } {
  const { command } = context;
  const source = requireSource(context, 'event');
  const time = JSON.stringify(formatTime(command.receivedAt));
  const sent = shapeTime(dropNulls(splitMembers(body.doc)));
  for (const name of SERVER_KEPT) sent.delete(name);
  const members: Members = new Map([['id', JSON.stringify(body.id)], ['source', `{"id":"${source}"}`], ...sent]);
  members.set('creationTime', time);
  members.set('lastUpdated', time);
  const text = joinMembers(members);
  if (body.type === PARAMETER_UPDATE && !notesParameters(context, source, members, body)) return { doc: text };
  if (isStored(command.mode)) {
    context.put('event', body.id, text);
    context.row(entityRow(command, 'events', { id: body.id, source: Number(source), members, doc: text }));
    if (body.managedObjectDoc) {
      context.send({
        kind: COMMAND.MANAGED_OBJECT_UPDATE,
        key: command.key,
        body: { doc: body.managedObjectDoc, mayChangeOwner: false },
      });
    }
  }
  context.notify('events', source, 'CREATE', text);
  return { doc: text };
}

/** @returns false when nothing is to be made of the event: what it says is known. */
function notesParameters(context: ActorContext, source: string, event: Members, body: EventCreate): boolean {
  const state = context.get('parameterState', source);
  if (body.unlessKnown === true && areParametersKnown(state, event, body.time)) return false;
  if (!isStored(context.command.mode)) return true;
  const next = withParameters(state, event, body.time);
  if (next !== state) context.put('parameterState', source, next);
  return true;
}

function load(context: ActorContext, id: string): Members {
  const text = context.get('event', id);
  if (text === undefined) throw new PlatformError('event/not-found', { id });
  return splitMembers(text);
}

export function updateEvent(context: ActorContext, body: EntityUpdate): { doc: string } {
  const { command } = context;
  const members = load(context, body.id);
  const changes = parseMembers(body.doc);
  for (const name of [...SERVER_KEPT, ...EVENT_FIXED_FIELDS]) changes.delete(name);
  if (!mergeMembers(members, changes)) return { doc: joinMembers(members) };
  return { doc: writeChanged(context, body.id, members, isStored(command.mode)) };
}

function writeChanged(context: ActorContext, id: string, members: Members, mayStore: boolean): string {
  const { command } = context;
  members.set('lastUpdated', JSON.stringify(formatTime(command.receivedAt)));
  const text = joinMembers(members);
  if (mayStore) {
    context.put('event', id, text);
    context.row(entityRow(command, 'events', { id, source: Number(command.key), members, doc: text }));
  }
  context.notify('events', String(command.key), 'UPDATE', text);
  return text;
}

/** Attaches, replaces or removes the binary, unless another request was faster. Always stored: the content is. */
export function changeEventBinary(context: ActorContext, body: EventBinaryChange): { doc: string } {
  const { id, expected, value } = body;
  const members = load(context, id);
  if (context.get('eventBinary', id) !== expected)
    throw new PlatformError('general/changed-meanwhile', { collection: 'binary of event', id });
  if (value === undefined) context.remove('eventBinary', id);
  else context.put('eventBinary', id, value);
  mergeMembers(members, parseMembers(body.marks));
  return { doc: writeChanged(context, id, members, true) };
}

export function deleteEvent(context: ActorContext, body: EntityDelete): undefined {
  const members = load(context, body.id);
  context.remove('event', body.id);
  // Its content is removed by the sweep.
  if (context.get('eventBinary', body.id) !== undefined) context.remove('eventBinary', body.id);
  context.row(deletedRow(context.command, 'events', body.id, Number(context.command.key), members));
  context.notify(
    'events',
    String(context.command.key),
    'DELETE',
    JSON.stringify(body.id),
    stringMember(members, 'type'),
  );
  return undefined;
}
