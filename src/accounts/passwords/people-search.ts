/** Users of a tenant by their e-mail address, for callers without login, who take turns. */
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { Turns } from '../../pacing/turns.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { peopleSteps } from '../../records/steps.ts';

/** Who searches, and in whose turn. */
export interface PeopleSearch {
  /** Of `passwordSearches`. */
  readonly turns: Turns;
  /** The address of the client, which is the user of its turn. */
  readonly key: string;
  /** Ends when the client leaves. */
  readonly signal: AbortSignal;
}

/**
 * Requests without login that look through all users of a tenant. They take turns by tenant and address: clients in a
 * loop wait for each other.
 */
export const passwordSearches = (refusals: Refusals): Turns =>
  new Turns({
    refusals,
    running: { all: 2, ofUser: 1 },
    waiting: { all: 100, ofUser: 5 },
    waitMsMax: 10_000,
    limits: {
      all: 'users/password-resets',
      ofUser: 'users/password-resets-of-address',
      wait: 'users/password-resets-wait',
    },
  });

/** The e-mail address of a user. */
export const emailOf = (user: StoredUser): string | undefined => stringMember(splitMembers(user.doc), 'email');

/**
 * Looks through the enabled users with an address, step by step, until `look` has found.
 * @throws PlatformError 503 when too many look for theirs, from this address or in all; the reason of the signal when
 * the client leaves the queue.
 */
export async function searchPeople<Found>(
  { documents }: { readonly documents: DocumentReader },
  tenant: number,
  email: string,
  { turns, key, signal }: PeopleSearch,
  look: (users: readonly StoredUser[]) => Found | undefined | Promise<Found | undefined>,
): Promise<Found | undefined> {
  await turns.begin(tenant, key, signal);
  try {
    for await (const users of peopleOfEmail(documents, tenant, email.toLowerCase())) {
      const found = await look(users);
      if (found !== undefined) return found;
    }
    return undefined;
  } finally {
    turns.end(tenant, key);
  }
}

/** @param wanted lower case. */
async function* peopleOfEmail(documents: DocumentReader, tenant: number, wanted: string): AsyncGenerator<StoredUser[]> {
  for await (const rows of peopleSteps({ documents, tenant })) {
    const candidates = rows
      .filter(({ value }) => value.toLowerCase().includes(wanted))
      .map(({ value }) => JSON.parse(value) as StoredUser);
    const users = candidates.filter((user) => user.enabled && emailOf(user)?.toLowerCase() === wanted);
    if (users.length > 0) yield users;
  }
}
