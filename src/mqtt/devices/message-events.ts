/**
 * Events that rows of a message look for (SmartREST 407 and 408): those that are stored, and those that rows before
 * them make.
 */
import { isSameJson } from '../../model/documents/json-equality.ts';
import { parseEntityTime } from '../../model/documents/entity-time.ts';
import { splitMembers, stringMember, type Members } from '../../model/documents/json-document.ts';
import { PlatformError } from '../../model/errors.ts';
import type { EventSearch, EventWanted } from '../../ports/event-search.ts';
import type { EffectTarget } from '../../smartrest/effects/records.ts';
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
  readonly members: Members;
}

export class MessageEvents {
  /** Split when they are looked for: most messages look for none. */
  readonly #made: { readonly id: string; readonly time: number; readonly doc: string }[] = [];
  readonly #searches = new Set<string>();

  /** A row of the message makes an event of the message's object. */
  add(id: string, { time, doc }: Pick<NewEvent, 'time' | 'doc'>): void {
    this.#made.push({ id, time, doc });
  }

  /**
   * @returns the newest event that fits, by time, then by id; undefined when there is none.
   * @throws PlatformError `mqtt/events-of-message`, and why the history could not be read; NotLoaded until it was.
   */
  newest(wanted: EventWanted, { connection }: Device, { events, objects }: SearchParts): FoundEvent | undefined {
    const question = JSON.stringify([wanted.type, wanted.fragment, wanted.until]);
    if (!this.#searches.has(question) && this.#searches.size >= SEARCHES_MAX)
      throw new PlatformError(MESSAGE_EVENTS_LIMIT, { maximum: SEARCHES_MAX });
    this.#searches.add(question);
    const { tenantNumber: tenant, userName: user } = connection.principal;
    const answer = objects.known.ask(`event ${question}`, () =>
      events.newest(wanted, { tenant, user }).catch((error: Error) => error),
    );
    // The row is refused, and the message behind it goes on: the history may be away for long.
    if (answer instanceof Error) throw answer;
    const made = this.#made.map(({ id, time, doc }) => ({ id, time, members: splitMembers(doc) }));
    return [...made, ...(answer === undefined ? [] : [foundEvent(answer)])]
      .filter(({ members, time }) => fits(members, time, wanted))
      .sort((one, other) => other.time - one.time || Number(other.id) - Number(one.id))[0];
  }

  /**
   * Whether the newest events of the type have all of `fragments` already, at the time of the event (408); of a present
   * one all events count. Members of a fragment that the event does not name do not count.
   */
  areKnown(
    event: Pick<NewEvent, 'type' | 'time'>,
    fragments: Members,
    { source, receivedAt }: Pick<EffectTarget, 'source' | 'receivedAt'>,
    device: Device,
    parts: SearchParts,
  ): boolean {
    // The present is another one each time that the message is planned.
    const until = event.time < receivedAt ? { until: event.time } : {};
    return [...fragments].every(([fragment, value]) => {
      const known = this.newest({ source, type: event.type, fragment, ...until }, device, parts);
      const text = known?.members.get(fragment);
      return text === undefined ? value === 'null' : holds(text, value);
    });
  }
}

function foundEvent(doc: string): FoundEvent {
  const members = splitMembers(doc);
  return {
    id: stringMember(members, 'id') ?? '',
    time: parseEntityTime(stringMember(members, 'time') ?? '') ?? 0,
    members,
  };
}

const fits = (members: Members, time: number, { type, fragment, until = Infinity }: EventWanted): boolean =>
  stringMember(members, 'type') === type && (fragment === undefined || members.has(fragment)) && time <= until;

/** Whether a value has what another one names: of an object its members, of anything else all of it. */
function holds(stored: string, wanted: string): boolean {
  if (!wanted.startsWith('{') || !stored.startsWith('{')) return isSameJson(stored, wanted);
  const members = splitMembers(stored);
  return [...splitMembers(wanted)].every(([name, value]) => holds(members.get(name) ?? 'null', value));
}
