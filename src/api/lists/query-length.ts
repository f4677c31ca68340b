/** How long the SQL of one query of a client may be. */
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';

/**
 * Characters of SQL of one query: the engine takes about 8 ms for 1,000 before it reads a row, and refuses a whole
 * statement above 262,144.
 */
const SQL_LENGTH_MAX = 131_072;
const SQL_LENGTH_LIMIT = 'inventory/query-length';

/** @throws PlatformError `inventory/invalid-query` for what the engine would work on too long before it reads a row. */
export function requireShort(request: ApiRequest, length: number): void {
  if (length <= SQL_LENGTH_MAX) return;
  request.refused(SQL_LENGTH_LIMIT);
  const limit = `${SQL_LENGTH_MAX} (${SQL_LENGTH_LIMIT})`;
  const reason = `its conditions and orders make ${length} characters of SQL, more than ${limit}; use fewer of them or shorter paths`;
  throw new PlatformError('inventory/invalid-query', { reason });
}
