/** What a request reads the history with: in the turns of its user, until its client leaves. */
import type { ExportReaders, ListReaders } from '../../history/readers.ts';
import type { ApiRequest } from '../request/request.ts';

export function listReaders({ platform, tenant, history, refusals, skipsFlush }: ApiRequest): ListReaders {
  const { documents, totals, config } = platform;
  const { recent, known } = skipsFlush ? {} : platform;
  return { tenant, history, documents, totals, recent, known, refusals, textBytesMax: config.jsonBodyMaxBytes };
}

export function exportReaders(request: ApiRequest): ExportReaders {
  const { platform, principal, exchange } = request;
  return {
    ...listReaders(request),
    later: request.historyOf(platform.historyAsIs ?? platform.history),
    inTurn: (run) => platform.exports.query(principal, run, exchange.signal),
  };
}
