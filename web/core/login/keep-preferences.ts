/** What a person has chosen, kept for this browser at once and in the account for others. */
import { api, got } from '../api/api.ts';
import { user } from '../api/session.ts';
import { preferences, setPreferences } from '../preferences.ts';
import type { Preferences } from '../preferences.ts';

/** @throws ApiError when the account does not take them: this browser has them all the same. */
export async function keepPreferences(changes: Partial<Preferences>): Promise<void> {
  setPreferences(changes);
  const console = preferences.peek();
  const customProperties = { ...user.peek()?.customProperties, console };
  await got(api.PUT('/user/currentUser', { body: { customProperties } as never }));
}
