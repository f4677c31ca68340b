/** The largest file that a tenant takes: its option `files/max.size`, at most the setting of the server. */
import type { ApiRequest } from './api-request.ts';
import { numberOption } from './tenant-option.ts';

const FILE_BYTES_MAX = 50 * 1_048_576;

/** Bytes. */
export function fileBytesMax(request: ApiRequest): Promise<number> {
  const maximum = request.platform.config.fileMaxBytes ?? FILE_BYTES_MAX;
  return numberOption(request, request.tenant, ['files', 'max.size'], { minimum: 0, maximum, otherwise: maximum });
}
