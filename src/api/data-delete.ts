/** DELETE on a collection by the filters of its GET (document 1 Conventions 8): one command, carried out in order with the inserts. */
import { COMMAND } from '../model/command.ts';
import type { DataDelete } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { formatTime } from '../model/iso-time.ts';
import type { ApiRequest } from './api-request.ts';
import { isEntityId } from './entity-id.ts';
import { sourcesOf } from './hierarchy.ts';
import { NO_CONTENT } from './reply.ts';
import type { Answer } from './route.ts';

/** Key of the tenant's own actor. */
export const TENANT_KEY = 't';

/** Filters that are times: the command carries them in the one form of the server. */
const TIMES: ReadonlySet<string> = new Set(['dateFrom', 'dateTo', 'createdFrom', 'createdTo', 'lastUpdatedFrom', 'lastUpdatedTo']);
/** Filters that are ids: what is no id matches nothing. */
const IDS: ReadonlySet<string> = new Set(['source', 'deviceId', 'agentId']);
const LISTS: ReadonlySet<string> = new Set(['status', 'severity']);
/** Only say what `source` stands for. */
const HIERARCHY: ReadonlySet<string> = new Set(['withSourceAssets', 'withSourceDevices']);

/** @param names filters that are taken over when they are in the query. @param adminRole who may delete without any filter. */
export async function deleteData(
  request: ApiRequest,
  table: DataDelete['table'],
  names: readonly string[],
  adminRole: string,
): Promise<Answer> {
  const filter = filterOf(request, names);
  // Without filters everything of this kind goes: only who administrates all of it may ask for that.
  if (Object.keys(filter).length === 0 && !request.hasRole(adminRole)) throw new PlatformError('security/forbidden');
  if ([...IDS].some((name) => filter[name] !== undefined && !isEntityId(filter[name]))) return NO_CONTENT;
  const sources = names.includes('source') ? await sourcesOf(request) : undefined;
  for (const source of sources ?? [undefined]) {
    const body: DataDelete = { table, filter: source === undefined ? filter : { ...filter, source } };
    await request.command(COMMAND.DATA_DELETE, TENANT_KEY, body);
  }
  return NO_CONTENT;
}

function filterOf(request: ApiRequest, names: readonly string[]): Record<string, string> {
  const { query } = request;
  const filter: Record<string, string> = {};
  for (const name of names) {
    const value = query.text(name);
    if (value === undefined || HIERARCHY.has(name)) continue;
    // `resolved` wins over `status` (document 4 section 5.3).
    if (name === 'status' && query.has('resolved')) continue;
    if (TIMES.has(name)) filter[name] = formatTime(query.time(name) as number);
    else if (LISTS.has(name)) filter[name] = query.list(name).join(',');
    else filter[name] = name === 'resolved' ? value.toLowerCase() : value;
  }
  return filter;
}
