/**
 * Files with many new devices (docs/spec/device-registration.md#files). The file is stored first, then read twice: once
 * for its rules, once line by line.
 */
import { parse } from 'csv-parse';
import { Readable } from 'node:stream';
import { DeviceImport } from '../../accounts/registration/import.ts';
import type { ImportStatus } from '../../accounts/registration/import.ts';
import { isActive, MANAGEMENT_TENANT } from '../../accounts/tenants/tenants.ts';
import { PlatformError } from '../../model/errors.ts';
import {
  REGISTRATION_LINES_MAX,
  RegistrationColumns,
  RegistrationFault,
  separatorOf,
} from '../../model/entities/registration-columns.ts';
import type { RegistrationLine } from '../../model/entities/registration-columns.ts';
import type { ApiRequest } from '../request/request.ts';
import { requireRightsOfDevice } from '../users/inventory-rights.ts';
import { INVENTORY_ADMIN } from '../../model/access/roles.ts';
import { JSON_TYPE, vendorType } from '../http/media-types.ts';
import { readMultipart } from '../http/multipart.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { CsvForm } from '../../model/entities/body-schemas.ts';
import { withoutEnd } from '../../model/documents/text-end.ts';

const AREA = 'devicecontrol';
const ADMIN = ['ROLE_DEVICE_CONTROL_ADMIN'];
const FILE_BYTES_MAX = 16 * 1_048_576;
const FIELD_BYTES_MAX = 65_536;
const LINE_BYTES_MAX = 65_536;
/** Bytes in which the header has to end, for its separator. */
const HEADER_BYTES_MAX = 65_536;
const LINES_LIMIT = 'device-registration/lines';
const LINES_AT_ONCE = 32;
const MEDIA_TYPE = 'bulkNewDeviceRequest';

interface Row {
  readonly record: string[];
  readonly raw: string;
}

interface Failure {
  readonly bulkNewDeviceStatus: 'FAILED';
  readonly deviceId: string;
  readonly failureReason: string;
  readonly line: string;
}
interface Success {
  readonly bulkNewDeviceStatus: ImportStatus;
  readonly deviceId: string;
}
type Outcome = Failure | Success;

const refused = (reason: string): PlatformError => new PlatformError('devicecontrol/registration-file', { reason });

/** The rows of the file, the header first. @throws PlatformError 422 for what is not CSV in UTF-8. */
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
      delimiter: separatorOf(begin.trimStart()),
      raw: true,
      relax_column_count: true,
      skip_empty_lines: true,
      bom: true,
      trim: true,
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
      request.refused(LINES_LIMIT);
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
  if (tenant === undefined)
    throw new RegistrationFault(`TENANT is ${id}; it does not exist, or only the management tenant registers for it`);
  if (!isActive(tenant)) throw new RegistrationFault(`TENANT is ${id}, which is suspended`);
  return tenant.number;
}

/** What is done with the lines of one file. */
class LineImport {
  readonly #request: ApiRequest;
  readonly #columns: RegistrationColumns;
  readonly #devices: DeviceImport;
  readonly #seen = new Set<string>();
  /** Why nothing more is tried: a store that does not answer, for instance. */
  #broken: PlatformError | undefined;

  constructor(request: ApiRequest, columns: RegistrationColumns) {
    this.#request = request;
    this.#columns = columns;
    this.#devices = new DeviceImport(request.platform);
  }

  /**
   * @throws PlatformError for a fault of the server at the first line: then nothing was sent yet. Later it is told with
   * the lines.
   */
  async handle({ record, raw }: Row, isFirst: boolean): Promise<Outcome> {
    const deviceId = this.#columns.idOf(record);
    const failed = (failureReason: string): Failure => ({
      bulkNewDeviceStatus: 'FAILED',
      deviceId,
      failureReason,
      line: withoutEnd(raw.replace(/^\s*[\r\n]/, ''), '\r\n'),
    });
    if (this.#broken !== undefined)
      return failed(`it was not tried after the fault of an earlier line: ${this.#broken.message}`);
    try {
      return { bulkNewDeviceStatus: await this.#import(record), deviceId };
    } catch (error) {
      if (error instanceof RegistrationFault) return failed(error.message);
      if (!(error instanceof PlatformError)) throw error;
      if (error.status >= 500) {
        this.#broken ??= error;
        if (isFirst) throw error;
      }
      return failed(error.message);
    }
  }

  async #import(record: readonly string[]): Promise<ImportStatus> {
    const request = this.#request;
    const line = this.#columns.line(record);
    if (this.#seen.has(line.id)) throw new RegistrationFault('the file has this ID before');
    this.#seen.add(line.id);
    const tenant = tenantOf(request, line);
    const options = {
      tenant,
      by: request.principal.userName,
      requireRightsOf: (userName: string) => requireRightsOfDevice(request, userName, tenant),
      mayTakeOver: tenant === request.tenant && request.hasRole(...INVENTORY_ADMIN),
    };
    return this.#columns.isSimple ? this.#devices.announce(line, options) : this.#devices.register(line, options);
  }
}

/** What became of the lines, in their order. The file is removed at the end. */
async function* outcomesOf(request: ApiRequest, key: string): AsyncGenerator<Outcome, undefined> {
  const underWay: Promise<Outcome>[] = [];
  try {
    const lines = new LineImport(request, await checkFile(request, key));
    let index = -1;
    for await (const row of rowsOf(request, key)) {
      index += 1;
      if (index === 0) continue;
      const handling = lines.handle(row, index === 1);
      // It is awaited in its turn.
      handling.catch(() => undefined);
      underWay.push(handling);
      if (underWay.length >= LINES_AT_ONCE) yield await (underWay.shift() as Promise<Outcome>);
    }
    for (let next = underWay.shift(); next !== undefined; next = underWay.shift()) yield await next;
    return undefined;
  } finally {
    await Promise.allSettled(underWay);
    await request.platform.blobs.remove(key);
  }
}

/**
 * The answer as it comes, so that no proxy in between takes it for dead. What has failed waits for its list: at most
 * the lines of the file.
 */
async function* answerOf(
  first: IteratorResult<Outcome, undefined>,
  outcomes: AsyncGenerator<Outcome, undefined>,
): AsyncGenerator<string> {
  const failed: Failure[] = [];
  let [successful, created] = [0, 0];
  try {
    yield '{"credentialUpdatedList":[';
    for (let next = first; next.done !== true; next = await outcomes.next()) {
      const { value } = next;
      if (value.bulkNewDeviceStatus === 'FAILED') failed.push(value);
      else {
        successful += 1;
        if (value.bulkNewDeviceStatus === 'CREATED') created += 1;
      }
      yield value.bulkNewDeviceStatus === 'FAILED' ? ' ' : `${successful > 1 ? ',' : ''}${JSON.stringify(value)}`;
    }
    yield '],"failedCreationList":[';
    for (const [index, failure] of failed.entries()) yield `${index > 0 ? ',' : ''}${JSON.stringify(failure)}`;
    const numbers = {
      numberOfAll: successful + failed.length,
      numberOfCreated: created,
      numberOfFailed: failed.length,
      numberOfSuccessful: successful,
    };
    yield `],${JSON.stringify(numbers).slice(1)}`;
  } finally {
    // The client has left: lines under way are ended, no other is begun.
    await outcomes.return(undefined);
  }
}

async function post(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const contentType = request.headers['content-type'];
  if (!/^multipart\/form-data/i.test(contentType))
    throw new PlatformError('general/unsupported-media-type', { type: contentType || 'none' });
  const body = request.bodyStream;
  if (body === undefined) throw new Error('the route streams its body');
  const { blobs, refusals } = request;
  const { file } = await readMultipart(
    body,
    contentType,
    { blobs, refusals, limitBytes: FILE_BYTES_MAX },
    { fieldBytesMax: FIELD_BYTES_MAX, isFile: (name) => name === 'file' },
  );
  if (file === undefined) throw new PlatformError('general/bad-multipart', { reason: 'it has no part with a file' });
  const outcomes = outcomesOf(request, file.key);
  // What is wrong with the whole file is an answer of its own.
  const first = await outcomes.next();
  if (request.exchange.isOver) {
    await outcomes.return(undefined);
    return ANSWERED;
  }
  const pieces = answerOf(first, outcomes);
  if (request.wantsBody) {
    request.stream(201, request.kind === 'json' ? JSON_TYPE : vendorType(MEDIA_TYPE, request.accept.isBranded));
    void request.exchange.pipe(pieces);
    return ANSWERED;
  }
  let isDone = false;
  while (!isDone && !request.exchange.isOver) isDone = (await pieces.next()).done === true;
  await pieces.return(undefined);
  return { status: 201, text: '' };
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
      body: {
        form: 'stream',
        contents: {
          'multipart/form-data': {
            schema: CsvForm,
            example: { file: 'ID;CREDENTIALS;TYPE;NAME\npump-1;s3cret-word;acme_Pump;Pump 1' },
          },
        },
      },
      answers: [
        { status: 201, description: 'What became of each line, also when some have failed', mediaType: MEDIA_TYPE },
      ],
      handle: post,
    },
  ];
}
