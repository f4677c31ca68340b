/**
 * DELETE on a collection by the filters of its GET (docs/spec/conventions.md#deleting-collections): one command,
 * carried out in order with the inserts.
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { DataDelete } from '../../model/commands/deletion.ts';
import {
  DATA_DELETIONS_LIMIT,
  DATA_DELETIONS_MAX,
  DATA_DELETION_PREFIX,
} from '../../model/commands/data-deletion-jobs.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { ApiRequest } from '../request/request.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { devicesOfAgent, sourcesOf } from './hierarchy.ts';
import type { QueryParameters } from '../request/schema/query-values.ts';
import { NO_CONTENT } from '../request/reply.ts';
import type { Answer } from '../request/answer.ts';
import { filterValues, selectingFilters } from './selecting-filters.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

/** Filters that are ids: other texts match nothing. */
const IDS = ['source', 'deviceId', 'agentId', 'bulkOperationId'];

/**
 * @param filters those of the GET: the command has all that are in the query, as they are meant there.
 * @param adminRole who may delete without any filter.
 * @throws PlatformError `general/invalid-parameter` for filters without effect, `general/hierarchy-too-large`, 503
 * `deletions/under-way`.
 */
export async function deleteData(
  request: ApiRequest,
  table: DataDelete['table'],
  filters: QueryParameters,
  adminRole: string,
): Promise<Answer> {
  const filter = filterOf(request, filters);
  // Without filters everything of this kind goes: only who administrates all of it may ask for that.
  if (Object.keys(filter).length === 0 && !request.hasRole(adminRole)) throw new PlatformError('security/forbidden');
  if (IDS.some((name) => filter[name] !== undefined && !isEntityId(filter[name]))) return NO_CONTENT;
  const { source, agentId, ...others } = filter;
  const sources =
    agentId !== undefined
      ? await devicesOfAgent(request, agentId)
      : source !== undefined
        ? await sourcesOf(request)
        : undefined;
  if (sources?.length === 0) return NO_CONTENT;
  await refuseTooMany(request);
  const body: DataDelete = { table, filter: { ...others, ...sourceFilter(sources) } };
  await request.command(COMMAND.DATA_DELETE, TENANT_KEY, body, request.platform.freeing);
  return NO_CONTENT;
}

/** Deletions that are still under way. @throws PlatformError 503 `deletions/under-way`. */
export async function refuseTooMany(request: ApiRequest): Promise<void> {
  const { platform, tenant } = request;
  const jobs = await platform.documents.list('job', tenant, DATA_DELETION_PREFIX, { limit: DATA_DELETIONS_MAX });
  if (jobs.length < DATA_DELETIONS_MAX) return;
  request.refused(DATA_DELETIONS_LIMIT);
  throw refusedBy(DATA_DELETIONS_LIMIT);
}

/** One source by its own name: in a cluster only its shard is waited for. */
function sourceFilter(sources: readonly string[] | undefined): Record<string, string> {
  if (sources === undefined) return {};
  return sources.length === 1 ? { source: sources[0] } : { sources: sources.join(',') };
}

/** The filters as the command carries them: times in the one form of the server, lists comma separated. */
function filterOf(request: ApiRequest, filters: QueryParameters): Record<string, string> {
  const { query } = request;
  // `resolved` wins over `status` (docs/spec/alarms.md#lists).
  const names = selectingFilters(query, filters).filter((name) => name !== 'status' || !query.has('resolved'));
  const wanted = Object.fromEntries(names.map((name) => [name, filters[name]]));
  return Object.fromEntries(
    Object.entries(filterValues(query, wanted)).map(([name, value]) => [
      name,
      typeof value === 'number' ? formatTime(value) : String(value),
    ]),
  );
}
