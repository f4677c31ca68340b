/** Measurements one by one (docs/spec/measurements.md#endpoints). Lists: list.ts, series: series.ts. */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { DataDelete } from '../../model/commands/deletion.ts';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { Members } from '../../model/documents/json-document.ts';
import type { MeasurementBody } from '../../model/entities/measurement.ts';
import { isNotified } from '../../model/commands/processing-mode.ts';
import type { ApiRequest } from '../request/request.ts';
import { deleteData, refuseTooMany } from '../lists/data-delete.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { UNSTORED } from '../entities/text.ts';
import { measurementRows } from '../../history/measurements/rows.ts';
import type { MeasurementRow } from '../../history/measurements/rows.ts';
import { linkedMeasurement, measurementTexts, measurementUrl } from './text.ts';
import { isOwner, requireOwner } from '../lists/owner.ts';
import type { PostedMeasurements } from '../../ingest/measurements/intake.ts';
import { RANGE, SOURCE, text } from '../request/schema/query-parameters.ts';
import { NO_CONTENT, found } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from '../../model/entities/body-schemas.ts';
import { unitSystemOf } from '../../model/documents/units.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

export const MEASUREMENT_READ = ['ROLE_MEASUREMENT_READ'];
const ADMIN = ['ROLE_MEASUREMENT_ADMIN'];
/** Headers with the wanted system of units, in both spellings. */
export const UNIT_HEADERS = ['x-platform-system-of-units', 'x-cumulocity-system-of-units'];
/** Filters of GET and DELETE (docs/spec/conventions.md#deleting-collections). */
export const MEASUREMENT_FILTERS = {
  ...SOURCE,
  type: text('Exact type'),
  valueFragmentType: text('Has values in this fragment'),
  valueFragmentSeries: text('With valueFragmentType: has this series'),
  fragmentType: text('Has this top-level property'),
  ...RANGE,
};

/** @throws PlatformError `validation/mandatory-fields`: a series alone says nothing. */
export function requireFragmentOfSeries({ query }: ApiRequest): void {
  if (!query.has('valueFragmentSeries') || query.has('valueFragmentType')) return;
  throw new PlatformError('validation/mandatory-fields', { names: 'valueFragmentType' });
}

export const unitsOf = (request: ApiRequest): ReturnType<typeof unitSystemOf> =>
  unitSystemOf(UNIT_HEADERS.map((name) => request.headers[name] ?? '').find((value) => value !== '') ?? '');

function bodyOf({ contentType: { name } }: ApiRequest): MeasurementBody {
  return name === 'measurement' ? 'one' : name === 'measurementcollection' ? 'collection' : 'either';
}

/** The hot path: no promise, one closure. Roles and the owner rule are the intake's, it knows the sources. */
function post(request: ApiRequest): typeof ANSWERED {
  const { platform, principal, mode } = request;
  const heard = request.isDeviceTraffic ? platform.availability.heard : undefined;
  platform.measurements.post({
    body: request.body,
    principal,
    mode,
    wantsBody: request.wantsBody,
    form: bodyOf(request),
    done: (error, answer) => {
      if (error !== undefined || answer === undefined) request.fail(error ?? new Error('the intake gave no answer'));
      else request.answer(postAnswer(request, answer));
    },
    heard,
  });
  return ANSWERED;
}

function postAnswer(request: ApiRequest, answer: PostedMeasurements): Answer {
  const { documents } = answer;
  const first = documents[0];
  if (!answer.collection) {
    const entity = first === undefined || first.text === '' ? '' : linkedMeasurement(request, first.id, first.text);
    const location = first === undefined || first.id === '' ? {} : { location: measurementUrl(request, first.id) };
    return { status: 201, text: entity, mediaType: 'measurement', ...location };
  }
  if (!request.wantsBody) return { status: 201, text: '' };
  const items = documents.map((document) => linkedMeasurement(request, document.id, document.text));
  return { status: 201, text: `{"measurements":[${items.join(',')}]}`, mediaType: 'measurementCollection' };
}

async function load(request: ApiRequest): Promise<MeasurementRow[]> {
  const { id } = request.params;
  if (!isEntityId(id)) throw new PlatformError('measurement/not-found', { id });
  const rows = await measurementRows(request.history, request.tenant, id);
  if (rows.length === 0) throw new PlatformError('measurement/not-found', { id });
  return rows;
}

/** What permissions for one type look at. */
const typesOf = (rows: readonly MeasurementRow[]): Members =>
  new Map([['type', JSON.stringify(rows[0].type)], ...rows.map(({ fragment }) => [fragment, '{}'] as const)]);

async function get(request: ApiRequest): Promise<Answer> {
  const rows = await load(request);
  if (!request.isPrivileged && (await isOwner(request, rows[0].sourceId, typesOf(rows))) !== true)
    throw new PlatformError('security/forbidden');
  return found('measurement', measurementTexts(request, rows, unitsOf(request))[0]);
}

async function remove(request: ApiRequest): Promise<Answer> {
  const rows = await load(request);
  const [first] = rows;
  await requireOwner(request, first.sourceId, typesOf(rows));
  await refuseTooMany(request);
  const time = formatTime(Number(first.timeMs));
  const body: DataDelete = {
    table: 'measurements',
    filter: { id: first.entityId, source: first.sourceId, dateFrom: time, dateTo: time },
  };
  await request.command(COMMAND.DATA_DELETE, TENANT_KEY, body, request.platform.freeing);
  if (isNotified(request.mode)) {
    const { platform, tenant } = request;
    const text = (): string => JSON.stringify(first.entityId);
    platform.bus.publish({ tenant, area: 'measurements', source: first.sourceId, action: 'DELETE', text });
  }
  return NO_CONTENT;
}

function removeAll(request: ApiRequest): Promise<Answer> {
  requireFragmentOfSeries(request);
  return deleteData(request, 'measurements', MEASUREMENT_FILTERS, 'ROLE_MEASUREMENT_ADMIN');
}

export function measurementRoutes(): Route[] {
  const area = 'measurement';
  const path = '/measurement/measurements';
  return [
    {
      method: 'POST',
      path,
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Create one measurement or a collection, all or none',
      body: {
        schema: schemas.MeasurementPost,
        mediaTypes: ['measurement', 'measurementCollection'],
        form: 'bytes',
        limit: 'large',
        example: {
          source: { id: '251' },
          time: '2024-05-02T10:00:00.000Z',
          type: 'c8y_Env',
          c8y_Env: { T: { value: 21.5, unit: 'C' } },
        },
      },
      answers: [
        {
          status: 201,
          description: `Created: the measurement; ${UNSTORED}`,
          mediaType: 'measurement',
          schema: 'writtenMeasurement',
          plain: 'writtenMeasurements',
        },
        {
          status: 201,
          description: 'for a collection {measurements: [...]}',
          mediaType: 'measurementCollection',
          schema: 'writtenMeasurementCollection',
        },
      ],
      handle: post,
    },
    {
      method: 'DELETE',
      path,
      area,
      access: 'roles',
      roles: ADMIN,
      summary: 'Delete measurements by filters',
      changesAllThatMatch: true,
      query: MEASUREMENT_FILTERS,
      answers: [{ status: 204, description: 'Deleted' }],
      handle: removeAll,
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      area,
      access: 'owner',
      roles: MEASUREMENT_READ,
      summary: 'Read a measurement',
      headers: UNIT_HEADERS,
      answers: [{ status: 200, description: 'The measurement', mediaType: 'measurement' }],
      handle: get,
    },
    {
      method: 'DELETE',
      path: `${path}/{id}`,
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Delete a measurement',
      answers: [{ status: 204, description: 'Deleted' }],
      handle: remove,
    },
  ];
}
