/** What a person has chosen, kept for this browser at once and in the account for others. */
import { api, got } from '../api/api.ts';
import { user } from '../api/session.ts';
import type { CurrentUser } from '../api/session.ts';
import { setPreferences } from '../preferences.ts';
import type { Preferences } from '../preferences.ts';

/** The account takes one change after the other: each has those before it. */
let sending: Promise<void> = Promise.resolve();

/** @throws ApiError when the account does not take them: this browser has them all the same. */
export function keepPreferences(changes: Partial<Preferences>): Promise<void> {
  setPreferences(changes);
  const sent = sending.then(() => send(changes));
  // Who made the change is told of its failure.
  sending = sent.catch(() => undefined);
  return sent;
}

async function send(changes: Partial<Preferences>): Promise<void> {
  // What the login has read may be older than what other browsers and programs have written since.
  const { customProperties: kept } = (await got(api.GET('/user/currentUser'))) as unknown as CurrentUser;
  // What was not chosen is not kept: it stays that of each browser.
  const console = { ...(kept?.['console'] as object | undefined), ...changes };
  const customProperties = { ...kept, console };
  await got(api.PUT('/user/currentUser', { body: { customProperties } as never }));
  const changed = user.peek();
  if (changed !== undefined) user.value = { ...changed, customProperties };
}
