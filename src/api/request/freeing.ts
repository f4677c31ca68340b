/** Changes that are taken while the disk is nearly full, because they give space back. */
import type { Counting, RecordReader, RecordWriter } from '../../records/records.ts';
import type { ApiRequest } from './request.ts';

export function freeing({ platform, refusals }: ApiRequest): RecordReader & RecordWriter & Counting {
  const { documents, now } = platform;
  return { documents, refusals, now, commands: platform.freeing };
}
