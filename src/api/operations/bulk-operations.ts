/** Bulk operations: one operation for each device of a group, one after the other (docs/spec/bulk-operations.md). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import Type from 'typebox';
import { operationCounts } from '../../history/bulk-counts.ts';
import { bulkTargets, GroupError, GroupTooLarge } from '../../history/group-members.ts';
import {
  BULK_DEVICES_LIMIT,
  BULK_GENERAL_STATUSES,
  BULK_OPERATIONS,
  BULK_PREFIX,
  BULK_TEXT_BYTES_MAX,
  BULK_TEXT_LIMIT,
  bulkGeneralStatus,
  bulkKey,
  bulkProgress,
} from '../../model/entities/bulk-operation.ts';
import type { BulkProgress, OperationCounts, StoredBulkOperation } from '../../model/entities/bulk-operation.ts';
import type { BulkOperationChange, BulkOperationUser } from '../../ports/bulk-operations.ts';
import { parseEntityTime } from '../../model/documents/entity-time.ts';
import { shapedTime } from '../../model/documents/iso-time.ts';
import { PlatformError } from '../../model/errors.ts';
import { joinMembers, mergeMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { newOperation } from '../../model/entities/operation.ts';
import type { ApiRequest } from '../request/request.ts';
import { requireNames } from '../../model/entities/body-rules.ts';
import { idText, isEntityId } from '../../model/entities/entity-id.ts';
import { entityText, quote, segment } from '../entities/text.ts';
import { PAGE_PARAMETERS, collectionText, pageOf, requirePageBytes } from '../request/paging.ts';
import { RANGE, flag, list as listParameter } from '../request/schema/query-parameters.ts';
import { readRecord } from '../../records/records.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from '../../model/entities/body-schemas.ts';
import { tenantOption } from '../../accounts/options/values.ts';

const AREA = 'devicecontrol';
const PATH = '/devicecontrol/bulkoperations';
const READ = ['ROLE_BULK_OPERATION_READ'];
const ADMIN = ['ROLE_BULK_OPERATION_ADMIN'];
/** Records of a list that are read at once. */
const READ_AT_ONCE = 50;
/** Members with a meaning of their own; all others are kept as they are sent. */
const OWN_MEMBERS = [
  'id',
  'self',
  'groupId',
  'failedParentId',
  'startDate',
  'creationRamp',
  'operationPrototype',
  'status',
  'generalStatus',
  'progress',
];

const bulkUrl = (request: ApiRequest, id: string): string => `${request.baseUrl}${PATH}/${segment(id)}`;

/** @returns counts of the operations by bulk operation. */
function countsOf(
  request: ApiRequest,
  bulks: readonly StoredBulkOperation[],
): Promise<ReadonlyMap<string, OperationCounts>> {
  return operationCounts(
    request.history,
    request.tenant,
    bulks.filter(({ nextAt }) => nextAt !== undefined).map(({ id }) => id),
  );
}

/** Records are read before their operations are counted: unless the request does without, all of these are seen. */
const progressOf = (request: ApiRequest, stored: StoredBulkOperation, counts: OperationCounts): BulkProgress =>
  bulkProgress(stored, counts, !request.skipsFlush);

function bulkText(request: ApiRequest, stored: StoredBulkOperation, counts: OperationCounts): string {
  const progress = progressOf(request, stored, counts);
  const members: Members = new Map();
  if (stored.groupId !== undefined) members.set('groupId', quote(stored.groupId));
  if (stored.failedParentId !== undefined) members.set('failedParentId', quote(stored.failedParentId));
  members
    .set('startDate', quote(stored.startDate))
    .set('creationRamp', String(stored.creationRamp))
    .set('operationPrototype', stored.prototype);
  members
    .set('status', quote(stored.status))
    .set('generalStatus', quote(bulkGeneralStatus(stored, progress)))
    .set('progress', JSON.stringify(progress));
  if (stored.failure !== undefined) members.set('failureReason', quote(stored.failure));
  for (const [name, value] of splitMembers(stored.fragments)) if (!members.has(name)) members.set(name, value);
  return entityText(bulkUrl(request, stored.id), stored.id, members);
}

async function textOf(request: ApiRequest, stored: StoredBulkOperation): Promise<string> {
  return bulkText(request, stored, (await countsOf(request, [stored])).get(stored.id) ?? {});
}

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: AREA, name, value, limit });

/** @throws PlatformError 422 for a text that is too large for each operation, or each page of a list, to have it. */
function requireSmall(request: ApiRequest, name: string, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= BULK_TEXT_BYTES_MAX) return;
  request.refused(BULK_TEXT_LIMIT);
  throw invalid(name, `${bytes} bytes`, `at most ${BULK_TEXT_BYTES_MAX} bytes (${BULK_TEXT_LIMIT})`);
}

/** What POST and PUT take over, of the members that were sent. */
function sentPart(
  request: ApiRequest,
  members: Members,
): Partial<Pick<StoredBulkOperation, 'startDate' | 'startsAt' | 'creationRamp' | 'prototype'>> {
  requireNames(members, AREA);
  const startDate = stringMember(members, 'startDate');
  const startsAt = startDate === undefined ? undefined : parseEntityTime(startDate);
  if (startDate !== undefined && startsAt === undefined)
    throw invalid('startDate', startDate, 'an ISO 8601 timestamp from 1900 to 2299');
  const ramp = members.get('creationRamp');
  const sentPrototype = members.get('operationPrototype');
  let prototype: string | undefined;
  if (sentPrototype !== undefined) {
    prototype = newOperation(splitMembers(sentPrototype));
    requireSmall(request, 'operationPrototype', prototype);
  }
  return {
    ...(startDate === undefined ? {} : { startDate: shapedTime(startDate), startsAt: startsAt as number }),
    ...(ramp === undefined ? {} : { creationRamp: Number(ramp) }),
    ...(prototype === undefined ? {} : { prototype }),
  };
}

/** The tenant's option is the least time between two operations; without it any is taken. @throws PlatformError 422. */
async function requireRamp(request: ApiRequest, ramp: number | undefined): Promise<void> {
  if (ramp === undefined) return;
  const least = Number(
    (await tenantOption(request.platform, request.tenant, 'device-control', 'bulkoperation.creationramp')) ?? 0,
  );
  if (ramp < least)
    throw invalid(
      'creationRamp',
      String(ramp),
      `at least ${least} seconds, the option device-control/bulkoperation.creationramp`,
    );
}

function fragmentsOf(members: Members): Members {
  return new Map([...members].filter(([name]) => !OWN_MEMBERS.includes(name)));
}

/** An id that was sent; empty and null are none. */
function sentId(members: Members, name: string): string | undefined {
  const value = members.get(name);
  const id = value === undefined || value === 'null' ? '' : idText(value);
  return id === '' ? undefined : id;
}

/**
 * @returns the number of devices. @throws PlatformError 422 for a group or parent that does not exist or has too many.
 */
async function countTargets(
  request: ApiRequest,
  target: Pick<StoredBulkOperation, 'groupId' | 'failedParentId'>,
): Promise<number> {
  const { groupId, failedParentId } = target;
  const [name, id] = groupId === undefined ? ['failedParentId', failedParentId as string] : ['groupId', groupId];
  if (!isEntityId(id)) throw new PlatformError('devicecontrol/bulk-target', { name, id, reason: 'does not exist' });
  if (
    failedParentId !== undefined &&
    (await readRecord(request.platform, request.tenant, BULK_OPERATIONS, bulkKey(id))) === undefined
  ) {
    throw new PlatformError('devicecontrol/bulk-target', { name, id, reason: 'does not exist' });
  }
  try {
    return (
      await bulkTargets(
        { tenant: request.tenant, documents: request.platform.documents, history: request.history },
        target,
      )
    ).length;
  } catch (error) {
    if (!(error instanceof GroupError)) throw error;
    if (error instanceof GroupTooLarge) request.refused(BULK_DEVICES_LIMIT);
    throw new PlatformError('devicecontrol/bulk-target', { name, id, reason: error.message });
  }
}

const userOf = ({ tenant, principal }: ApiRequest): BulkOperationUser => ({ tenant, user: principal.userName });

async function post(request: ApiRequest): Promise<Answer> {
  const members = request.members();
  const groupId = sentId(members, 'groupId');
  const failedParentId = sentId(members, 'failedParentId');
  if (groupId === undefined && failedParentId === undefined)
    throw new PlatformError('validation/mandatory-fields', { names: 'groupId' });
  if (groupId !== undefined && failedParentId !== undefined)
    throw invalid('failedParentId', failedParentId, 'no value beside groupId');
  const target = groupId === undefined ? { failedParentId: failedParentId as string } : { groupId };
  const part = sentPart(request, members) as Required<ReturnType<typeof sentPart>>;
  await requireRamp(request, part.creationRamp);
  const fragments = joinMembers(fragmentsOf(members));
  requireSmall(request, 'body', fragments);
  const stored: StoredBulkOperation = {
    id: String(await request.platform.ids.nextInOrder()),
    owner: request.principal.userName,
    ...target,
    ...part,
    fragments,
    status: 'ACTIVE',
    targets: await countTargets(request, target),
    done: 0,
    missing: 0,
  };
  await request.platform.bulkOperations.create(userOf(request), stored);
  return created('bulkOperation', bulkText(request, stored, {}), bulkUrl(request, stored.id));
}

const load = (request: ApiRequest): Promise<StoredBulkOperation> =>
  request.platform.bulkOperations.read(request.tenant, request.params['id']);

/** All of the tenant, oldest first, few of them in memory at once: one may be large. */
async function* stepsOf(request: ApiRequest): AsyncGenerator<StoredBulkOperation[]> {
  for (let after: string | undefined; ; ) {
    const options = { limit: READ_AT_ONCE, ...(after === undefined ? {} : { after }) };
    const records = await request.platform.documents.list(BULK_OPERATIONS, request.tenant, BULK_PREFIX, options);
    yield records.map(({ value }) => JSON.parse(value) as StoredBulkOperation);
    if (records.length < READ_AT_ONCE) return;
    after = records[records.length - 1].id;
    // Others get their turn in between.
    await nextTurn();
  }
}

/** Which of them the query asks for. */
function filterOf({ query }: ApiRequest): (stored: StoredBulkOperation) => boolean {
  const withDeleted = query.isTrue('withDeleted');
  const from = query.time('dateFrom') ?? -Infinity;
  const to = query.time('dateTo') ?? Infinity;
  return (stored) => (withDeleted || stored.status !== 'DELETED') && stored.startsAt >= from && stored.startsAt <= to;
}

/** Reads to the end of the page; only the total needs all. */
async function list(request: ApiRequest): Promise<Answer> {
  const page = pageOf(request);
  const isAskedFor = filterOf(request);
  const wanted = request.query
    .list('generalStatus')
    .map((name) => (name === 'EXECUTING_WITH_ERROR' ? 'EXECUTING_WITH_ERRORS' : name));
  const end = page.offset + page.size;
  const items: string[] = [];
  let [total, bytes] = [0, 0];
  for await (const step of stepsOf(request)) {
    const asked = step.filter(isAskedFor);
    const isShown = (place: number): boolean => place >= page.offset && place < end;
    const isCounted = wanted.length > 0 || asked.some((_, index) => isShown(total + index));
    const counts = isCounted ? await countsOf(request, asked) : new Map<string, OperationCounts>();
    for (const stored of asked) {
      const live = counts.get(stored.id) ?? {};
      if (wanted.length > 0 && !wanted.includes(bulkGeneralStatus(stored, progressOf(request, stored, live)))) continue;
      if (isShown(total)) {
        const text = bulkText(request, stored, live);
        bytes += text.length;
        requirePageBytes(request, bytes);
        items.push(text);
      }
      total += 1;
    }
    if (total >= end && !page.wantsTotal) break;
  }
  return found(
    'bulkOperationCollection',
    collectionText(request, page, { name: 'bulkOperations', items, total: page.wantsTotal ? total : undefined }),
  );
}

async function get(request: ApiRequest): Promise<Answer> {
  return found('bulkOperation', await textOf(request, await load(request)));
}

/**
 * One that has not started is changed; one that has is cancelled, and a new one is scheduled
 * (docs/spec/bulk-operations.md#status).
 */
async function update(request: ApiRequest, stored: StoredBulkOperation): Promise<BulkOperationChange> {
  const { id } = stored;
  if (stored.status !== 'ACTIVE') throw new PlatformError('devicecontrol/bulk-over', { id, status: stored.status });
  const members = request.members();
  for (const name of ['groupId', 'failedParentId'] as const) {
    const sent = sentId(members, name);
    if (sent !== undefined && sent !== stored[name])
      throw invalid(name, sent, `no change (it is ${stored[name] ?? 'absent'})`);
  }
  const fragments = splitMembers(stored.fragments);
  if (mergeMembers(fragments, fragmentsOf(members))) requireSmall(request, 'body', joinMembers(fragments));
  const part = sentPart(request, members);
  await requireRamp(request, part.creationRamp);
  const changed: StoredBulkOperation = { ...stored, ...part, fragments: joinMembers(fragments) };
  if (stored.nextAt === undefined) return { changed };
  const { nextAt: _nextAt, planned: _planned, failure: _failure, counts: _counts, ...kept } = changed;
  const next: StoredBulkOperation = {
    ...kept,
    id: String(await request.platform.ids.nextInOrder()),
    owner: request.principal.userName,
    targets: await countTargets(request, stored),
    done: 0,
    missing: 0,
  };
  return { changed: { ...stored, status: 'DELETED' }, next };
}

async function put(request: ApiRequest): Promise<Answer> {
  const { bulkOperations } = request.platform;
  const stored = await bulkOperations.update(userOf(request), request.params['id'], (one) => update(request, one));
  const location = bulkUrl(request, stored.id);
  return {
    ...found('bulkOperation', await textOf(request, stored)),
    ...(stored.id === request.params['id'] ? {} : { location }),
  };
}

async function remove(request: ApiRequest): Promise<Answer> {
  await request.platform.bulkOperations.cancel(userOf(request), request.params['id']);
  return NO_CONTENT;
}

export function bulkOperationRoutes(): Route[] {
  const one = [{ status: 200, description: 'The bulk operation', mediaType: 'bulkOperation' }];
  return [
    {
      method: 'POST',
      path: PATH,
      area: AREA,
      access: 'roles',
      roles: ADMIN,
      summary:
        'Create an operation for each device of a group, or for those for which another bulk operation has failed',
      body: {
        schema: schemas.BulkOperation,
        mediaTypes: ['bulkOperation'],
        example: {
          groupId: '251',
          startDate: '2024-05-02T10:00:00.000Z',
          creationRamp: 15,
          operationPrototype: { description: 'Restart', c8y_Restart: {} },
        },
      },
      answers: [{ status: 201, description: 'Scheduled', mediaType: 'bulkOperation' }],
      handle: post,
    },
    {
      method: 'GET',
      path: PATH,
      area: AREA,
      access: 'roles',
      roles: READ,
      summary: 'List bulk operations, oldest first',
      query: {
        withDeleted: flag('Also cancelled ones'),
        generalStatus: listParameter(
          Type.Enum([...BULK_GENERAL_STATUSES, 'EXECUTING_WITH_ERROR']),
          'General statuses, comma separated',
        ),
        dateFrom: { ...RANGE['dateFrom'], description: 'startDate not before' },
        dateTo: { ...RANGE['dateTo'], description: 'startDate not after' },
        ...PAGE_PARAMETERS,
      },
      answers: [{ status: 200, description: 'A page of bulk operations', mediaType: 'bulkOperationCollection' }],
      handle: list,
    },
    {
      method: 'GET',
      path: `${PATH}/{id}`,
      area: AREA,
      access: 'roles',
      roles: READ,
      summary: 'Read a bulk operation',
      answers: one,
      handle: get,
    },
    {
      method: 'PUT',
      path: `${PATH}/{id}`,
      area: AREA,
      access: 'roles',
      roles: ADMIN,
      summary:
        'Change a bulk operation; one that has started is cancelled and a new one is scheduled, which is the answer',
      body: { schema: schemas.BulkOperationUpdate, mediaTypes: ['bulkOperation'], example: { creationRamp: 60 } },
      answers: one,
      handle: put,
    },
    {
      method: 'DELETE',
      path: `${PATH}/{id}`,
      area: AREA,
      access: 'roles',
      roles: ADMIN,
      summary: 'Cancel a bulk operation',
      answers: [{ status: 204, description: 'Cancelled' }],
      handle: remove,
    },
  ];
}
