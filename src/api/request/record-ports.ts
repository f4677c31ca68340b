/** What changes of records are made with; refusals name the request's user. */
import type { RecordPorts } from '../../records/records.ts';
import type { ApiRequest } from './request.ts';

export function recordPorts({ platform, refusals }: ApiRequest): RecordPorts {
  const { documents, now, commands } = platform;
  return { documents, refusals, now, commands };
}

/** Of changes that are taken while the disk is nearly full, because they give space back. */
export function freeing(request: ApiRequest): RecordPorts {
  return { ...recordPorts(request), commands: request.platform.freeing };
}
