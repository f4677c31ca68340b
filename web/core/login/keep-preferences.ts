/** What a person has chosen, kept for this browser at once and in the account for others. */
import { api, got } from '../api/api.ts';
import { user } from '../api/session.ts';
import { setPreferences } from '../preferences.ts';
import type { Preferences } from '../preferences.ts';

/** @throws ApiError when the account does not take them: this browser has them all the same. */
export async function keepPreferences(changes: Partial<Preferences>): Promise<void> {
  setPreferences(changes);
  const kept = user.peek()?.customProperties;
  // What was not chosen is not kept: it stays that of each browser.
  const console = { ...(kept?.['console'] as object | undefined), ...changes };
  const customProperties = { ...kept, console };
  await got(api.PUT('/user/currentUser', { body: { customProperties } as never }));
  const changed = user.peek();
  if (changed !== undefined) user.value = { ...changed, customProperties };
}
