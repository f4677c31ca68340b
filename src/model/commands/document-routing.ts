/**
 * Where a document lives: every document belongs to the actor that writes it, and so to one shard (design 1). Derived
 * from collection and id alone, so that any node finds it. Ids of alarms, events and operations are chosen beside their
 * source (`IdSource.nextBeside`).
 */
import type { ActorKey } from './command.ts';
import type { Collection } from './collections.ts';
import { TENANT_KEY } from './keys.ts';

/** Collections whose ids are numbers given beside their owner, or are the owner itself. */
const BY_NUMBER: ReadonlySet<Collection> = new Set<Collection>([
  'managedObject',
  'binary',
  'availability',
  'alarm',
  'event',
  'operation',
  'eventBinary',
  'openAlarmLink',
  'softwareList',
  'parameterState',
]);
/** Collections whose ids begin with the owner's number and a line feed. */
const BY_NUMBER_PREFIX: ReadonlySet<Collection> = new Set<Collection>([
  'children',
  'parents',
  'externalIdsOf',
  'openAlarm',
  'openOperation',
]);

/**
 * The actor whose shard holds the document. @param id a whole id, or the prefix of a list.
 * @returns undefined for a prefix that does not name one actor (a list over all shards), and for `pending` and `meta`,
 * which each shard has of its own.
 */
export function actorOfDocument(collection: Collection, id: string): ActorKey | undefined {
  if (BY_NUMBER.has(collection)) return id === '' ? undefined : Number(id);
  if (BY_NUMBER_PREFIX.has(collection)) {
    const end = id.indexOf('\n');
    return end < 0 ? undefined : Number(id.slice(0, end));
  }
  switch (collection) {
    case 'externalId':
      return id.includes('\n') ? `x:${id}` : undefined;
    case 'session':
      return id === '' ? undefined : `s:${id}`;
    case 'sessionMessage': {
      const end = id.lastIndexOf('\n');
      return end < 0 ? undefined : `s:${id.slice(0, end)}`;
    }
    case 'pending':
    case 'meta':
      return undefined;
    // Records of a tenant (`RecordCollection`).
    default:
      return TENANT_KEY;
  }
}
