/**
 * Events that rows of a message look for (SmartREST 407): those that are stored, and those that rows before them make.
 */
import { parseEntityTime } from '../../model/documents/entity-time.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import { PlatformError } from '../../model/errors.ts';
import type { EventSearch, EventWanted } from '../../ports/event-search.ts';
import type { NewEvent } from '../../smartrest/effects/effects.ts';
import type { Device } from './device.ts';
import type { LoadedDocuments } from './loaded-documents.ts';

/** Searches of one message: each is a query of the history. */
const SEARCHES_MAX = 20;
export const MESSAGE_EVENTS_LIMIT = 'mqtt/events-of-message';

/** What searches use of the application. */
export interface SearchParts {
  readonly events: EventSearch;
  readonly objects: { readonly known: LoadedDocuments };
}

interface FoundEvent {
  readonly id: string;
  readonly time: number;
}

export class MessageEvents {
  readonly #made: (FoundEvent & { readonly type: string })[] = [];
  /** Types. */
  readonly #searches = new Set<string>();

  /** A row of the message makes an event of the message's object. */
  add(id: string, { time, type }: Pick<NewEvent, 'time' | 'type'>): void {
    this.#made.push({ id, time, type });
  }

  /**
   * @returns the newest event that fits, by time, then by id; undefined when there is none.
   * @throws PlatformError `mqtt/events-of-message`, and why the history could not be read; NotLoaded until it was.
   */
  newest(wanted: EventWanted, { connection }: Device, { events, objects }: SearchParts): FoundEvent | undefined {
    if (!this.#searches.has(wanted.type) && this.#searches.size >= SEARCHES_MAX)
      throw new PlatformError(MESSAGE_EVENTS_LIMIT, { maximum: SEARCHES_MAX });
    this.#searches.add(wanted.type);
    const { tenantNumber: tenant, userName: user } = connection.principal;
    const answer = objects.known.ask(`event ${wanted.type}`, () =>
      events.newest(wanted, { tenant, user }).catch((error: Error) => error),
    );
    // The row is refused, and the message behind it goes on: the history may be away for long.
    if (answer instanceof Error) throw answer;
    const made = this.#made.filter(({ type }) => type === wanted.type);
    return [...made, ...(answer === undefined ? [] : [foundEvent(answer)])].sort(
      (one, other) => other.time - one.time || Number(other.id) - Number(one.id),
    )[0];
  }
}

function foundEvent(doc: string): FoundEvent {
  const members = splitMembers(doc);
  return {
    id: stringMember(members, 'id') ?? '',
    time: parseEntityTime(stringMember(members, 'time') ?? '') ?? 0,
  };
}
