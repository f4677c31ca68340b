/** DELETE on a collection by the filters of its GET (document 1 Conventions 8): one command, carried out in order with the inserts. */
import { COMMAND } from '../model/command.ts';
import type { DataDelete } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import type { ApiRequest } from './api-request.ts';
import { NO_CONTENT } from './reply.ts';
import type { Answer } from './route.ts';

/** Key of the tenant's own actor. */
export const TENANT_KEY = 't';

/** Filters that are times: the command carries them as milliseconds. */
const TIMES: ReadonlySet<string> = new Set(['dateFrom', 'dateTo', 'createdFrom', 'createdTo', 'lastUpdatedFrom', 'lastUpdatedTo']);

/** @param names filters that are taken over when they are in the query. */
export async function deleteData(request: ApiRequest, table: DataDelete['table'], names: readonly string[], adminRole: string): Promise<Answer> {
  const { query } = request;
  const filter: Record<string, string> = {};
  for (const name of names) {
    if (!query.has(name)) continue;
    filter[name] = TIMES.has(name) ? String(query.time(name)) : query.list(name).length > 1 ? query.list(name).join(',') : query.text(name) as string;
  }
  // Without filters everything of this kind goes: only who administrates all of it may ask for that.
  if (Object.keys(filter).length === 0 && !request.hasRole(adminRole)) throw new PlatformError('security/forbidden');
  const body: DataDelete = { table, filter };
  await request.command(COMMAND.DATA_DELETE, TENANT_KEY, body);
  return NO_CONTENT;
}
