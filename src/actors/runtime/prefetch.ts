/** The documents that a group's commands will obviously read: asked for at once where each would cost a round trip. */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { AlarmCreate, EntityUpdate } from '../../model/commands/entities.ts';
import type { ChildLinks } from '../../model/commands/links.ts';
import type { JournalCommand } from '../../ingest/journal/command-record.ts';
import type { PrefetchKey } from './state-view.ts';

/** Only of the actor itself: what others write is read when it is needed. */
export function* documentsOf(commands: Iterable<JournalCommand>): Generator<PrefetchKey> {
  for (const { kind, tenant, key, body } of commands) {
    if (typeof key === 'number') {
      yield { collection: 'managedObject', tenant, id: String(key) };
      if (kind === COMMAND.ALARM_CREATE)
        yield { collection: 'openAlarm', tenant, id: `${key}\n${(body as AlarmCreate).type}` };
      else if (kind === COMMAND.ALARM_UPDATE || kind === COMMAND.ALARM_DELETE)
        yield { collection: 'alarm', tenant, id: (body as EntityUpdate).id };
      else if (kind === COMMAND.CHILD_ADD || kind === COMMAND.CHILD_REMOVE)
        yield* linksOf(tenant, body as Partial<ChildLinks>);
      else if (kind === COMMAND.EVENT_UPDATE || kind === COMMAND.EVENT_DELETE)
        yield { collection: 'event', tenant, id: (body as EntityUpdate).id };
    } else if (key.startsWith('x:')) {
      yield { collection: 'externalId', tenant, id: key.slice(2) };
    } else if (key.startsWith('s:')) {
      yield { collection: 'session', tenant, id: key.slice(2) };
    }
  }
}

/** Of several links: one by one they would be that many round trips. */
function* linksOf(tenant: number, { parent, kind, children = [], maker }: Partial<ChildLinks>): Generator<PrefetchKey> {
  if (maker !== undefined)
    for (const child of children) yield { collection: 'children', tenant, id: `${parent}\n${kind}\n${child}` };
}
