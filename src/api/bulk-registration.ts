/** Files with many new devices (document 4 section 4.4). The file is stored first, then read twice: once for its rules, once line by line. */
import { parse } from 'csv-parse';
import { Readable } from 'node:stream';
import { DeviceImport } from '../accounts/device-import.ts';
import type { ImportStatus } from '../accounts/device-import.ts';
import { MANAGEMENT_TENANT } from '../accounts/tenants.ts';
import { PlatformError } from '../model/errors.ts';
import { REGISTRATION_LINES_MAX, RegistrationColumns, RegistrationFault, separatorOf } from '../model/registration-columns.ts';
import type { RegistrationLine } from '../model/registration-columns.ts';
import type { ApiRequest } from './api-request.ts';
import { readMultipart } from './multipart.ts';
import type { Answer, Route } from './route.ts';
import { CsvForm } from './schemas.ts';

const AREA = 'devicecontrol';
const ADMIN = ['ROLE_DEVICE_CONTROL_ADMIN'];
const FILE_BYTES_MAX = 16 * 1_048_576;
const FIELD_BYTES_MAX = 65_536;
const LINE_BYTES_MAX = 65_536;
/** Bytes in which the header has to end, for its separator. */
const HEADER_BYTES_MAX = 65_536;
const LINES_LIMIT = 'device-registration/lines';
/** Lines under way at once; those with a password keep a thread busy each. */
const ANNOUNCED_AT_ONCE = 32;
const REGISTERED_AT_ONCE = 3;

interface Row { readonly record: string[]; readonly raw: string }

interface Failure { readonly bulkNewDeviceStatus: 'FAILED'; readonly deviceId: string; readonly failureReason: string; readonly line: string }
interface Success { readonly bulkNewDeviceStatus: ImportStatus; readonly deviceId: string }

const refused = (reason: string): PlatformError => new PlatformError('devicecontrol/registration-file', { reason });

/** The rows of the file, the header first. @throws PlatformError 422 for what is no CSV or no UTF-8. */
async function* rowsOf(request: ApiRequest, key: string): AsyncIterable<Row> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const pieces = await request.platform.blobs.read(key);
  if (pieces === undefined) throw new Error('an uploaded file is gone');
  async function* texts(): AsyncIterable<string> {
    let start = '';
    let isStarted = false;
    for await (const piece of pieces as AsyncIterable<Uint8Array>) {
      const text = decoder.decode(piece, { stream: true });
      if (isStarted) yield text;
      else {
        start += text;
        isStarted = /[\r\n]/.test(start.trimStart()) || start.length > HEADER_BYTES_MAX;
        if (isStarted) yield start;
      }
    }
    const rest = decoder.decode();
    if (!isStarted || rest !== '') yield isStarted ? rest : start + rest;
  }
  const source = texts()[Symbol.asyncIterator]();
  try {
    const first = await source.next();
    const begin = first.done === true ? '' : first.value;
    const parser = parse({
      delimiter: separatorOf(begin.trimStart()), raw: true, relax_column_count: true, skip_empty_lines: true, bom: true, trim: true,
      max_record_size: LINE_BYTES_MAX,
    });
    const whole = async function* whole(): AsyncIterable<string> {
      yield begin;
      for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
    };
    const input = Readable.from(whole());
    input.on('error', (error) => parser.destroy(error));
    try {
      for await (const row of input.pipe(parser)) yield row as Row;
    } finally {
      input.destroy();
    }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code?.startsWith('CSV_') === true) throw refused(message);
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') throw refused('it is not UTF-8');
    throw error;
  } finally {
    // Closes the file when the reading was broken off.
    await source.return?.();
  }
}

/** @returns the columns. @throws PlatformError 422 for a file that cannot be used as a whole. */
async function checkFile(request: ApiRequest, key: string): Promise<RegistrationColumns> {
  let columns: RegistrationColumns | undefined;
  let lines = -1;
  for await (const { record } of rowsOf(request, key)) {
    lines += 1;
    if (columns === undefined) {
      try {
        columns = new RegistrationColumns(record);
      } catch (error) {
        throw error instanceof RegistrationFault ? refused(error.message) : error;
      }
    }
    if (lines > REGISTRATION_LINES_MAX) {
      request.platform.refusals.count(LINES_LIMIT);
      throw refused(`it has more than ${REGISTRATION_LINES_MAX} lines`);
    }
  }
  if (columns === undefined) throw refused('it is empty');
  return columns;
}

/** The tenant of a line: only the management tenant registers for others. */
function tenantOf(request: ApiRequest, line: RegistrationLine): number {
  const { tenant: id } = line;
  if (id === undefined || id === request.principal.tenant) return request.tenant;
  const tenant = request.principal.tenant === MANAGEMENT_TENANT ? request.platform.tenants.byId(id) : undefined;
  if (tenant === undefined) throw new RegistrationFault(`TENANT is ${id}; there is no such tenant, or only the management tenant registers for it`);
  return tenant.number;
}

async function importFile(request: ApiRequest, key: string, columns: RegistrationColumns): Promise<(Success | Failure)[]> {
  const devices = new DeviceImport(request.platform);
  const results: (Success | Failure)[] = [];
  const seen = new Set<string>();
  const underWay = new Set<Promise<void>>();
  const atOnce = columns.isSimple ? ANNOUNCED_AT_ONCE : REGISTERED_AT_ONCE;
  let fatal: unknown;
  const handle = async (index: number, { record, raw }: Row): Promise<void> => {
    let deviceId = '';
    try {
      const line = columns.line(record);
      deviceId = line.id;
      if (seen.has(line.id)) throw new RegistrationFault('the file has this ID before');
      seen.add(line.id);
      const options = { tenant: tenantOf(request, line), by: request.principal.userName };
      const bulkNewDeviceStatus = await (columns.isSimple ? devices.announce(line, options) : devices.register(line, options));
      results[index] = { bulkNewDeviceStatus, deviceId };
    } catch (error) {
      const isOfLine = error instanceof RegistrationFault || (error instanceof PlatformError && error.status < 500);
      if (!isOfLine) throw error;
      results[index] = { bulkNewDeviceStatus: 'FAILED', deviceId, failureReason: (error as Error).message, line: raw.replace(/[\r\n]+$/, '') };
    }
  };
  let index = -2;
  for await (const row of rowsOf(request, key)) {
    index += 1;
    if (index < 0) continue;
    const handling = handle(index, row).catch((error: unknown) => { fatal ??= error; }).finally(() => underWay.delete(handling));
    underWay.add(handling);
    if (underWay.size >= atOnce) await Promise.race(underWay);
    // A store that does not answer ends it: the file can be sent again.
    if (fatal !== undefined) break;
  }
  await Promise.all(underWay);
  if (fatal !== undefined) throw fatal;
  return results;
}

async function post(request: ApiRequest): Promise<Answer> {
  const contentType = request.headers['content-type'];
  if (!/^multipart\/form-data/i.test(contentType)) throw new PlatformError('general/unsupported-media-type', { type: contentType || 'none' });
  const body = request.bodyStream;
  if (body === undefined) throw new Error('the route streams its body');
  const { blobs, refusals } = request.platform;
  const { file } = await readMultipart(body, contentType, { blobs, refusals, limitBytes: FILE_BYTES_MAX }, {
    fieldBytesMax: FIELD_BYTES_MAX, isFile: (name) => name === 'file',
  });
  if (file === undefined) throw new PlatformError('general/bad-multipart', { reason: 'it has no part with a file' });
  try {
    const results = await importFile(request, file.key, await checkFile(request, file.key));
    const failed = results.filter((result): result is Failure => result.bulkNewDeviceStatus === 'FAILED');
    const successful = results.filter((result): result is Success => result.bulkNewDeviceStatus !== 'FAILED');
    const text = JSON.stringify({
      numberOfAll: results.length, numberOfCreated: successful.filter(({ bulkNewDeviceStatus }) => bulkNewDeviceStatus === 'CREATED').length,
      numberOfFailed: failed.length, numberOfSuccessful: successful.length, credentialUpdatedList: successful, failedCreationList: failed,
    });
    return { status: 201, text, mediaType: 'bulkNewDeviceRequest' };
  } finally {
    await blobs.remove(file.key);
  }
}

export function bulkRegistrationRoutes(): Route[] {
  return [
    {
      method: 'POST',
      path: '/devicecontrol/bulkNewDeviceRequests',
      area: AREA,
      access: 'roles',
      roles: ADMIN,
      summary: 'Register or announce the devices of a CSV file',
      headers: ['content-type'],
      body: { form: 'stream', contents: { 'multipart/form-data': {
        schema: CsvForm, example: { file: 'ID;CREDENTIALS;TYPE;NAME\npump-1;s3cret-word;acme_Pump;Pump 1' },
      } } },
      answers: [{ status: 201, description: 'What became of each line, also when some have failed', mediaType: 'bulkNewDeviceRequest' }],
      handle: post,
    },
  ];
}
