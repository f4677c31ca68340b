/**
 * What the audit log says about commands of REST clients: who changed the inventory, external IDs and events, and who
 * deleted data.
 */
import { AUDITED_KINDS } from '../../model/commands/command.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { Asked } from '../../model/commands/command.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import type { ChildLink, ChildLinks } from '../../model/commands/links.ts';
import { describeFilter, someOf } from '../../model/commands/deletion.ts';
import type { DataDelete } from '../../model/commands/deletion.ts';
import type { EntityUpdate } from '../../model/commands/entities.ts';
import type { ExternalIdBind } from '../../model/commands/external-ids.ts';
import { memberText, splitMembers, stringOf } from '../../model/documents/json-document.ts';
import { changesBetween, describeChanges } from '../../model/entities/changes.ts';
import type { ActorContext } from './context.ts';

type AuditedKind = (typeof AUDITED_KINDS)[number];
type Entry = Pick<AuditEntry, 'type' | 'activity' | 'text' | 'source' | 'changes'>;

/** Changes with everything. */
const NOT_AUDITED: ReadonlySet<string> = new Set(['lastUpdated']);

/** `Pump 7 (251)`, or the id alone. */
function named(context: ActorContext, collection: 'managedObject' | 'event', id: string, member: string): string {
  const text = context.get(collection, id) ?? context.before(collection, id) ?? '{}';
  const name = stringOf(memberText(text, member));
  return name === undefined ? id : `${name} (${id})`;
}

function changed(
  context: ActorContext,
  collection: 'managedObject' | 'event',
  id: string,
): Pick<AuditEntry, 'text' | 'changes'> {
  const changes = changesBetween(
    splitMembers(context.before(collection, id) ?? '{}'),
    splitMembers(context.get(collection, id) ?? '{}'),
    NOT_AUDITED,
  );
  return { text: describeChanges(changes), changes: changes.listed };
}

const keyOf = (context: ActorContext): string => String(context.command.key);
const linkOf = (link: ChildLink | ChildLinks): string =>
  `${'children' in link ? someOf(link.children) : link.child} of the ${link.kind} of ${link.parent}`;
const bindingOf = ({ type, externalId, managedObject }: ExternalIdBind): string =>
  `${type} ${externalId} of ${managedObject}`;

function ofManagedObject(context: ActorContext, activity: string, id: string): Entry {
  return {
    type: 'Inventory',
    activity,
    text: `${activity}: ${named(context, 'managedObject', id, 'name')}`,
    source: id,
  };
}

function ofEvent(context: ActorContext, activity: string, id: string): Entry {
  return { type: 'Event', activity, text: `${activity}: ${named(context, 'event', id, 'text')}`, source: id };
}

function ofUpdate(context: ActorContext, entry: Entry, collection: 'managedObject' | 'event', id: string): Entry {
  const { text, changes } = changed(context, collection, id);
  return { ...entry, text: `${entry.text}: ${text}`, changes };
}

const ENTRIES: Readonly<Record<AuditedKind, (context: ActorContext) => Entry>> = {
  [COMMAND.MANAGED_OBJECT_CREATE]: (context) => ofManagedObject(context, 'Managed object created', keyOf(context)),
  [COMMAND.MANAGED_OBJECT_UPDATE]: (context) =>
    ofUpdate(
      context,
      ofManagedObject(context, 'Managed object updated', keyOf(context)),
      'managedObject',
      keyOf(context),
    ),
  [COMMAND.MANAGED_OBJECT_DELETE]: (context) => ofManagedObject(context, 'Managed object deleted', keyOf(context)),
  [COMMAND.CHILD_ADD]: (context) => ofLink(context, 'Child added'),
  [COMMAND.CHILD_REMOVE]: (context) => ofLink(context, 'Child removed'),
  [COMMAND.EXTERNAL_ID_BIND]: (context) => ofBinding(context, 'External ID bound'),
  [COMMAND.EXTERNAL_ID_UNBIND]: (context) => ofBinding(context, 'External ID unbound'),
  [COMMAND.EVENT_UPDATE]: (context) => {
    const { id } = context.command.body as EntityUpdate;
    return ofUpdate(context, ofEvent(context, 'Event updated', id), 'event', id);
  },
  [COMMAND.EVENT_DELETE]: (context) => ofEvent(context, 'Event deleted', (context.command.body as EntityUpdate).id),
  [COMMAND.EVENT_BINARY_CHANGE]: (context) =>
    ofEvent(context, 'Binary of event changed', (context.command.body as EntityUpdate).id),
  [COMMAND.DATA_DELETE]: (context) => {
    const { table, filter } = context.command.body as DataDelete;
    const activity = `${table[0].toUpperCase()}${table.slice(1)} deleted`;
    // Of the type whose sources are managed objects: it is about the data of one, or of all.
    const source = filter['source'] ?? filter['sources']?.split(',', 1)[0];
    const about = source === undefined ? {} : { source };
    return { type: 'Inventory', activity, text: `${activity}: ${describeFilter(filter)}`, ...about };
  },
};

function ofLink(context: ActorContext, activity: string): Entry {
  const link = context.command.body as ChildLink | ChildLinks;
  return { type: 'Inventory', activity, text: `${activity}: ${linkOf(link)}`, source: link.parent };
}

function ofBinding(context: ActorContext, activity: string): Entry {
  const body = context.command.body as ExternalIdBind;
  return { type: 'Inventory', activity, text: `${activity}: ${bindingOf(body)}`, source: body.managedObject };
}

/**
 * Writes what the handler has just done into the audit log, when a REST client asked for it and something has changed.
 */
export function auditCommand(context: ActorContext): void {
  const { kind, body } = context.command;
  const { askedBy } = body as Asked;
  if (askedBy === undefined || !isAudited(kind)) return;
  const entry = (): AuditEntry => ({ ...ENTRIES[kind](context), ...askedBy });
  if (kind === COMMAND.DATA_DELETE) {
    // The projector carries it out, between two blocks: rows of its own would belong to neither.
    context.send({ kind: COMMAND.RECORDS_CHANGE, key: context.command.key, body: { changes: [], audits: [entry()] } });
  } else if (context.changes.length > 0) {
    context.audit(entry());
  }
}

const isAudited = (kind: number): kind is AuditedKind => (AUDITED_KINDS as readonly number[]).includes(kind);
