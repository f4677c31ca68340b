/**
 * Certificates that a tenant has revoked, by serial number (`/tenant/trusted-certificates/settings/crl`, as CrlService
 * of `@c8y/client` uses it). Entries are added and changed, never removed.
 */
import { parse } from 'csv-parse/sync';
import Type from 'typebox';
import { compiledOnce } from '../../model/schema/compiled.ts';
import { REVOCATIONS_OF_TENANT_MAX, serialOf } from '../../accounts/certificates/certificates.ts';
import { revokeCertificates } from '../../accounts/certificates/changes.ts';
import { PlatformError } from '../../model/errors.ts';
import { requireShallow } from '../../model/documents/json-document.ts';
import { formatTime, parseTime } from '../../model/documents/iso-time.ts';
import type { ApiRequest } from '../request/request.ts';
import { readMultipart } from '../http/multipart.ts';
import { listRecords } from '../../records/records.ts';
import { recordPorts } from '../request/record-ports.ts';
import { NO_CONTENT } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { CsvForm } from '../../model/entities/body-schemas.ts';

interface Revocation {
  readonly serial: string;
  readonly revocationDate: string;
}
interface Sent {
  readonly serialNumberInHex: string;
  readonly revocationDate?: string | null | undefined;
}

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: 'certificate', name, value: value.slice(0, 100), limit });

/** @throws PlatformError 422. */
function checked(request: ApiRequest, { serialNumberInHex, revocationDate }: Sent): Revocation {
  const serial = serialOf(serialNumberInHex);
  if (serial === undefined)
    throw invalid('serialNumberInHex', serialNumberInHex, 'a serial number, at most 40 hexadecimal digits');
  const now = request.platform.now();
  const time = revocationDate == null || revocationDate === '' ? now : parseTime(revocationDate);
  if (time === undefined || time > now)
    throw invalid('revocationDate', String(revocationDate), 'a time in the past, YYYY-MM-DDThh:mm:ss.SSSZ');
  return { serial, revocationDate: formatTime(time) };
}

/** `SERIALNO,DATE` and a line for each. @throws PlatformError 422. */
function rowsOfFile(text: string): Sent[] {
  let rows: string[][];
  try {
    rows = parse(text, { bom: true, trim: true, relaxColumnCount: true, skipEmptyLines: true }) as string[][];
  } catch (error) {
    throw invalid('file', (error as Error).message, 'lines of comma separated values');
  }
  const [header = [], ...lines] = rows;
  if (header[0]?.toUpperCase() !== 'SERIALNO') throw invalid('file', header.join(','), 'a first line SERIALNO,DATE');
  return lines.map(([serialNumberInHex, revocationDate]) => ({ serialNumberInHex, revocationDate }));
}

async function uploadedText(request: ApiRequest, contentType: string): Promise<string> {
  const {
    blobs,
    platform: { config },
    refusals,
  } = request;
  const body = (async function* body() {
    yield request.body;
  })();
  const limits = { blobs, refusals, limitBytes: config.jsonBodyMaxBytes };
  const { file } = await readMultipart(body, contentType, limits, {
    fieldBytesMax: config.jsonBodyMaxBytes,
    isFile: (name) => name === 'file',
  });
  if (file === undefined) throw new PlatformError('general/bad-multipart', { reason: 'it has no part with a file' });
  try {
    const pieces: Uint8Array[] = [];
    for await (const piece of (await blobs.read(file.key)) ?? []) pieces.push(piece);
    return Buffer.concat(pieces).toString('utf8');
  } finally {
    await blobs.remove(file.key);
  }
}

/** @throws PlatformError 400, 415, 422. */
async function sentOf(request: ApiRequest): Promise<Sent[]> {
  const contentType = request.headers['content-type'];
  if (/^multipart\/form-data/i.test(contentType)) return rowsOfFile(await uploadedText(request, contentType));
  if (
    request.contentType.kind !== 'json' &&
    request.contentType.kind !== 'vendor' &&
    request.contentType.kind !== 'none'
  ) {
    throw new PlatformError('general/unsupported-media-type', { type: contentType });
  }
  let body: unknown;
  try {
    const text = request.bodyText();
    body = JSON.parse(text);
    requireShallow(text);
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    throw new PlatformError('general/bad-json', { reason: (error as Error).message });
  }
  if (!checkOf().Check(body))
    throw invalid('crls', '…', '[{"serialNumberInHex":"1000","revocationDate":"2023-01-11T16:12:36.288Z"}]');
  return body.crls;
}

/**
 * Adds and changes entries; of one serial number the first counts. Done again with the same content it changes nothing.
 */
async function put(request: ApiRequest): Promise<Answer> {
  const dates = new Map<string, string>();
  for (const sent of await sentOf(request)) {
    const { serial, revocationDate } = checked(request, sent);
    if (!dates.has(serial)) dates.set(serial, revocationDate);
  }
  await revokeCertificates(recordPorts(request), { tenant: request.tenant, user: request.principal.userName }, dates);
  return NO_CONTENT;
}

/** In the form of the file that is uploaded. */
async function get(request: ApiRequest): Promise<Answer> {
  const rows = await listRecords(request.platform, request.tenant, 'revocation');
  const lines = rows.map(
    ({ id, value }) => `${id},${(JSON.parse(value) as { revocationDate: string }).revocationDate}\n`,
  );
  const headers = ['Content-Disposition', 'attachment; filename="revoked-certificates.csv"'];
  return { status: 200, text: `SERIALNO,DATE\n${lines.join('')}`, contentType: 'text/csv;charset=UTF-8', headers };
}

const Body = Type.Object(
  {
    crls: Type.Array(
      Type.Object(
        { serialNumberInHex: Type.String(), revocationDate: Type.Optional(Type.Union([Type.String(), Type.Null()])) },
        { additionalProperties: true },
      ),
      { minItems: 1, maxItems: REVOCATIONS_OF_TENANT_MAX },
    ),
  },
  { additionalProperties: true },
);
const checkOf = compiledOnce(Body);

export function revocationRoutes(): Route[] {
  const path = '/tenant/trusted-certificates/settings/crl';
  const common = {
    area: 'certificate',
    access: 'roles',
    roles: ['ROLE_TENANT_MANAGEMENT_ADMIN', 'ROLE_TENANT_ADMIN'],
  } as const;
  return [
    {
      method: 'PUT',
      path,
      ...common,
      headers: ['content-type'],
      summary: 'Revoke certificates of devices by serial number, as JSON or as a CSV file `SERIALNO,DATE`',
      body: {
        form: 'bytes',
        contents: {
          'application/json': {
            schema: Body,
            example: { crls: [{ serialNumberInHex: '1000', revocationDate: '2023-01-11T16:12:36.288Z' }] },
          },
          'multipart/form-data': { schema: CsvForm, example: { file: 'SERIALNO,DATE\n1000,2023-01-11T16:12:36.288Z' } },
        },
      },
      answers: [{ status: 204, description: 'Revoked; nothing is taken back by it' }],
      handle: put,
    },
    {
      method: 'GET',
      path,
      ...common,
      summary: 'The revoked certificates as a CSV file',
      produces: ['csv', 'text', 'vendor', 'json'],
      answers: [{ status: 200, description: 'SERIALNO,DATE', contentTypes: ['text/csv'] }],
      handle: get,
    },
  ];
}
