/**
 * SmartREST 1.0 over HTTP, `POST /s` (docs/spec/smartrest-one.md): what a new device needs to get its
 * credentials. Collections of templates are not kept by this server: every X-Id is answered as one without templates,
 * and whoever sends templates is told so. The status is 200 whatever the rows say.
 */
import Type from 'typebox';
import { isDeviceId } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import { BOOTSTRAP_ROLE } from '../../model/access/roles.ts';
import { CsvRows } from '../../smartrest/rows/csv.ts';
import { encodeRow } from '../../smartrest/rows/csv-encode.ts';
import { SmartRestError } from '../../smartrest/rows/error.ts';
import type { ApiRequest } from '../request/request.ts';
import { DeviceRegistration } from '../../accounts/registration/registration.ts';
import { parseAccept } from '../http/media-types.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';

const TEXT_TYPE = 'text/plain;charset=UTF-8';
/** In quotes (docs/spec/smartrest-one.md#requests). */
const NO_TEMPLATE = '"No template for this X-ID."';
const NO_TEMPLATES_HERE = 'Collections of templates are not supported by this server: use SmartREST 2.0 over MQTT';
const FORBIDDEN = 403;
const NOT_FOUND = 404;

/**
 * Rows 10 and 11 make a body a registration of templates, whose other rows are not looked at
 * (docs/spec/smartrest-one.md#rows).
 */
const isTemplate = (row: readonly string[]): boolean => row[0] === '10' || row[0] === '11';

interface Row {
  readonly line: number;
  readonly fields: readonly string[] | SmartRestError;
}

function readRows(body: Buffer): Row[] {
  const rows: Row[] = [];
  for (const csv = new CsvRows(body); ; ) {
    try {
      if (!csv.next()) return rows;
      rows.push({ line: csv.line, fields: csv.fields() });
    } catch (error) {
      if (!(error instanceof SmartRestError)) throw error;
      rows.push({ line: csv.line, fields: error });
    }
  }
}

/** Row 61: one poll for the credentials of a device. */
async function poll(request: ApiRequest, line: number, parameters: readonly string[]): Promise<string> {
  if (parameters.length !== 1 || !isDeviceId(parameters[0])) return encodeRow([45, line, 'Wrong number of arguments']);
  if (!request.hasRole(BOOTSTRAP_ROLE)) return encodeRow([50, line, FORBIDDEN]);
  const [id] = parameters;
  try {
    const issued = await new DeviceRegistration(request.platform).poll(id, undefined);
    return issued === undefined
      ? encodeRow([50, line, NOT_FOUND])
      : encodeRow([70, line, id, issued.tenantId, issued.userName, issued.password]);
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return encodeRow([50, line, error.status]);
  }
}

async function answerRow(request: ApiRequest, { line, fields }: Row): Promise<string> {
  if (fields instanceof SmartRestError) return encodeRow([42, line, 'Malformed Request']);
  const [id = '', ...parameters] = fields;
  if (id === '61') return poll(request, line, parameters);
  // Nothing but its credentials is for a device that has none.
  if (request.hasRole(BOOTSTRAP_ROLE)) return encodeRow([50, line, FORBIDDEN]);
  if (id === '15') return `40,${line},${NO_TEMPLATE}`;
  return request.headers['x-id'] === ''
    ? encodeRow([43, line, 'Invalid message identifier'])
    : `40,${line},${NO_TEMPLATE}`;
}

async function post(request: ApiRequest): Promise<Answer> {
  // The rows are the answer, not an entity.
  request.accept = parseAccept('*/*');
  const rows = readRows(request.body);
  const template = rows.find(({ fields }) => Array.isArray(fields) && isTemplate(fields));
  let answers: string[];
  if (rows.length === 0) answers = [`40,${NO_TEMPLATE}`];
  else if (template !== undefined) answers = [encodeRow([41, template.line, NO_TEMPLATES_HERE])];
  else {
    answers = [];
    for (const row of rows) answers.push(await answerRow(request, row));
  }
  return { status: 200, text: answers.join('\n'), contentType: TEXT_TYPE };
}

export function smartRestOneRoutes(): Route[] {
  return [
    {
      method: 'POST',
      path: '/s',
      area: 'smartrest',
      access: 'owner',
      roles: [BOOTSTRAP_ROLE],
      produces: ['text', 'vendor', 'json', 'csv', 'html', 'other'],
      summary: 'SmartREST 1.0: row 61 asks for the credentials of a new device, with those of the bootstrap user',
      headers: ['x-id'],
      body: {
        form: 'bytes',
        isOptional: true,
        contents: { 'text/plain': { schema: Type.String(), example: '61,4711' } },
      },
      answers: [
        {
          status: 200,
          description: 'Rows of comma-separated values',
          contentTypes: ['text/plain'],
          example: '70,1,4711,t1,device_4711,Kp3vX',
        },
      ],
      handle: post,
    },
  ];
}
