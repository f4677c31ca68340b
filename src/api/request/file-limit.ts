/** The largest file that a tenant takes: its option `files/max.size`, at most the setting of the server. */
import type { ApiRequest } from './request.ts';
import { numberOption } from '../../accounts/options/values.ts';

const FILE_BYTES_MAX = 50 * 1_048_576;

/** What no tenant may exceed, bytes. */
const serverFileBytesMax = ({ config }: ApiRequest['platform']): number => config.fileMaxBytes ?? FILE_BYTES_MAX;

/** Bytes. */
export function fileBytesMax(request: ApiRequest): Promise<number> {
  const maximum = serverFileBytesMax(request.platform);
  return numberOption(request.platform, request.tenant, ['files', 'max.size'], {
    minimum: 0,
    maximum,
    otherwise: maximum,
  });
}
