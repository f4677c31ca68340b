/**
 * multipart/form-data with one file: fields in memory, the file's content straight into the blobs, in whatever order
 * they come.
 */
import { UNATTRIBUTED } from '../../ports/refusals.ts';
import { Busboy } from '@fastify/busboy';
import type { BusboyHeaders } from '@fastify/busboy';
import { BlobTooLarge } from '../../ports/blobs.ts';
import type { Blobs } from '../../ports/blobs.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Refusals } from '../../ports/refusals.ts';

/** Fields beside the file. */
const FIELDS_MAX = 20;
const HEADER_PAIRS_MAX = 50;
/** Boundaries, part headers and fields around the content. */
const OVERHEAD_BYTES_MAX = 2 * 1_048_576;
/** Name of the limit in counters. */
const FILE_SIZE_LIMIT = 'files/max.size';

export interface UploadLimits {
  readonly blobs: Blobs;
  readonly refusals: Refusals;
  /** Of the content. */
  readonly limitBytes: number;
  /** Name of that limit; default `files/max.size`. */
  readonly limit?: string;
}

export interface UploadedFile {
  readonly key: string;
  readonly bytes: number;
  readonly fileName: string;
  readonly mediaType: string;
}
export interface MultipartUpload {
  readonly fields: ReadonlyMap<string, string>;
  readonly file: UploadedFile | undefined;
}

/** A body that is the content itself. @throws PlatformError `general/payload-too-large`. */
export async function storeContent(
  content: AsyncIterable<Uint8Array> & { readonly announcedBytes?: number },
  limits: UploadLimits,
): Promise<{ key: string; bytes: number }> {
  const { blobs, limitBytes } = limits;
  if ((content.announcedBytes ?? 0) > limitBytes) tooLarge(limits);
  try {
    return await blobs.put(content, limitBytes);
  } catch (error) {
    return error instanceof BlobTooLarge ? tooLarge(limits) : Promise.reject(error as Error);
  }
}

function tooLarge({ refusals, limitBytes, limit = FILE_SIZE_LIMIT }: Omit<UploadLimits, 'blobs'>): never {
  refusals.count(limit, UNATTRIBUTED);
  throw new PlatformError('general/payload-too-large', { limit: limitBytes });
}

const bad = (reason: string): PlatformError => new PlatformError('general/bad-multipart', { reason });

export interface PartRules {
  /** Of one field. */
  readonly fieldBytesMax: number;
  /** Which parts without a file name are the file all the same. */
  readonly isFile?: (name: string) => boolean;
  /** Which parts are no file although they have a file name: browsers give one to each Blob. */
  readonly isField?: (name: string) => boolean;
}

/**
 * @throws PlatformError `general/bad-multipart`, `general/payload-too-large`. What was stored of a refused upload is
 * left to the sweep.
 */
export function readMultipart(
  body: AsyncIterable<Uint8Array> & { readonly announcedBytes?: number },
  contentType: string,
  limits: UploadLimits,
  options: PartRules,
): Promise<MultipartUpload> {
  return readFilePart(body, contentType, limits, options, async (content, fileName, mediaType) => ({
    ...(await storeContent(content, limits)),
    fileName,
    mediaType,
  }));
}

/**
 * The same for a file that is not stored. @param take reads the file's content to its end; fields behind the file are
 * not there yet. @throws as `readMultipart`, and what `take` throws.
 */
export async function readFilePart<File>(
  body: AsyncIterable<Uint8Array> & { readonly announcedBytes?: number },
  contentType: string,
  limits: Omit<UploadLimits, 'blobs'>,
  options: PartRules,
  take: (content: AsyncIterable<Uint8Array>, fileName: string, mediaType: string) => Promise<File>,
): Promise<{ readonly fields: ReadonlyMap<string, string>; readonly file: File | undefined }> {
  if ((body.announcedBytes ?? 0) > limits.limitBytes + OVERHEAD_BYTES_MAX) tooLarge(limits);
  const fields = new Map<string, string>();
  let file: Promise<File> | undefined;
  const upload = new Upload(contentType, options);
  upload.onField = (name, value) => {
    fields.set(name, value);
  };
  upload.onFile = (content, fileName, mediaType) => {
    if (file !== undefined) throw bad('it has more than one file');
    file = take(content, fileName, mediaType);
    file.catch((error: Error) => upload.fail(error));
  };
  await upload.read(body, limits.limitBytes + OVERHEAD_BYTES_MAX, () => tooLarge(limits));
  return { fields, file: await file };
}

/** One pass over a body. */
class Upload {
  onField: (name: string, value: string) => void = () => undefined;
  onFile: (content: AsyncIterable<Uint8Array>, fileName: string, mediaType: string) => void = () => undefined;
  readonly #busboy: InstanceType<typeof Busboy>;
  readonly #failed: Promise<never>;
  #error: Error | undefined;
  #reject!: (error: Error) => void;
  readonly #files: { destroy(error?: Error): unknown }[] = [];

  constructor(contentType: string, options: PartRules) {
    this.#failed = new Promise((_, reject) => {
      this.#reject = reject;
    });
    // Waited for in several places, or in none.
    this.#failed.catch(() => undefined);
    const { isFile, isField } = options;
    try {
      this.#busboy = new Busboy({
        headers: { 'content-type': contentType } as BusboyHeaders,
        limits: {
          fields: FIELDS_MAX,
          fieldSize: options.fieldBytesMax,
          files: 1,
          parts: FIELDS_MAX + 2,
          headerPairs: HEADER_PAIRS_MAX,
        },
        isPartAFile: (name, type, fileName) =>
          (name === undefined || isField?.(name) !== true) &&
          (fileName !== undefined ||
            type === 'application/octet-stream' ||
            (name !== undefined && isFile?.(name) === true)),
      });
    } catch (error) {
      throw bad((error as Error).message);
    }
    const busboy = this.#busboy;
    busboy.on('field', (name, value, isNameCut, isValueCut) => {
      if (isNameCut || isValueCut) this.fail(bad(`a field has more than ${options.fieldBytesMax} bytes`));
      else this.#guard(() => this.onField(name, value));
    });
    busboy.on('file', (_name, stream, fileName, _encoding, mediaType) => {
      this.#files.push(stream);
      // Tells the reader; a stream without a reader must not end the process.
      // A reader that stops says why itself.
      stream.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ABORT_ERR') this.fail(error);
      });
      this.#guard(() => this.onFile(stream as AsyncIterable<Uint8Array>, fileName ?? '', mediaType));
    });
    busboy.on('filesLimit', () => this.fail(bad('it has more than one file')));
    busboy.on('fieldsLimit', () => this.fail(bad(`it has more than ${FIELDS_MAX} fields`)));
    busboy.on('partsLimit', () => this.fail(bad(`it has more than ${FIELDS_MAX + 2} parts`)));
    busboy.on('error', (error: unknown) => this.fail(bad((error as Error).message)));
  }

  fail(error: Error): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#reject(error);
    for (const file of this.#files) file.destroy(error);
  }

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  async read(body: AsyncIterable<Uint8Array>, bytesMax: number, onTooLarge: () => never): Promise<void> {
    const finished = new Promise<void>((resolve) => {
      this.#busboy.once('finish', resolve);
    });
    let bytes = 0;
    try {
      for await (const piece of body) {
        bytes += piece.length;
        if (bytes > bytesMax) onTooLarge();
        if (this.#error !== undefined) throw this.#error;
        if (!this.#busboy.write(piece))
          await Promise.race([
            new Promise((resolve) => {
              this.#busboy.once('drain', resolve);
            }),
            this.#failed,
          ]);
      }
      this.#busboy.end();
      await Promise.race([finished, this.#failed]);
      if (this.#error !== undefined) throw this.#error;
    } catch (error) {
      this.fail(error as Error);
      throw error;
    }
  }
}
