/** Users, kept by the tenant's actor (document 4 section 3.1). */
import type { UserPut } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { parseMembers } from '../model/json-document.ts';
import type { ActorContext } from './context.ts';

/** A user as stored in the collection `user`. */
export interface StoredUser {
  readonly userName: string;
  /** See model/password.ts. */
  readonly password: string;
  readonly roles: readonly string[];
  readonly enabled: boolean;
  /** Further members as sent (names, e-mail, customProperties). */
  readonly doc: string;
}

export function putUser(context: ActorContext, body: UserPut): { doc: string } {
  const text = context.get('user', body.userName);
  if (text !== undefined && body.mustBeNew) throw new PlatformError('users/duplicate', { id: body.userName });
  const old = text === undefined ? undefined : JSON.parse(text) as StoredUser;
  const user: StoredUser = {
    userName: body.userName, password: body.password ?? old?.password ?? '', roles: body.roles ?? old?.roles ?? [],
    enabled: body.enabled ?? old?.enabled ?? true, doc: mergeDocuments(old?.doc ?? '{}', body.doc ?? '{}'),
  };
  context.put('user', body.userName, JSON.stringify(user));
  return { doc: user.doc };
}

function mergeDocuments(old: string, sent: string): string {
  const members = parseMembers(old);
  for (const [name, value] of parseMembers(sent)) {
    if (value === 'null') members.delete(name);
    else members.set(name, value);
  }
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
}

export function deleteUser(context: ActorContext, body: { userName: string }): undefined {
  if (context.get('user', body.userName) === undefined) throw new PlatformError('users/not-found', { id: body.userName });
  context.remove('user', body.userName);
  return undefined;
}
