/**
 * How many tenants there may be, and of which names. All tenants are in memory, and a creation looks at what is stored
 * once more, in the change that makes the tenant known: of one id or domain there is one, whatever other nodes do
 * meanwhile.
 */
import type { ErrorCode } from '../../model/errors.ts';
import { PlatformError } from '../../model/errors.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';
import type { Principal } from '../../model/access/principal.ts';
import { listRecords } from '../../records/records.ts';
import type { RecordReader } from '../../records/records.ts';
import { MANAGEMENT_TENANT, TENANTS_MAX, isParentOf } from './tenants.ts';
import type { Tenant } from './tenants.ts';

/** What the bounds are checked with. */
export interface BoundParts extends RecordReader {
  readonly tenants: { byId(id: string): Tenant | undefined; readonly all: Iterable<Tenant> };
  /** Of the server itself; undefined or '' when the configuration does not say it. */
  readonly baseUrl: string | undefined;
  /** Counts a refusal, and tells the log whom it met. */
  refused(limit: string): void;
}

const OF_SERVER = 'tenants/of-server';
/**
 * Below one tenant that is below the management tenant, on all levels: such a tenant decides on their number itself.
 */
const BELOW_MAX = 1_000;
const BELOW_LIMIT = 'tenants/below-tenant';
/** UTF-8 bytes of their `customProperties` together: every node has them in memory. */
const PROPERTIES_BYTES_MAX = 4 * 1024 * 1024;
const PROPERTIES_LIMIT = 'tenants/properties-bytes';

function refuse(
  parts: BoundParts,
  error: ErrorCode,
  limit: string,
  maximum: number,
  further: Record<string, string> = {},
): never {
  parts.refused(limit);
  throw new PlatformError(error, { limit, maximum, ...further });
}

/**
 * Of one id or domain there is one tenant. A domain that is the id of another would let its host name mean two. @throws
 * PlatformError 409.
 */
function requireUnique(others: Iterable<Tenant>, tenant: Tenant): void {
  for (const other of others) {
    if (other.number === tenant.number) continue;
    if (other.id === tenant.id || other.domain === tenant.id)
      throw new PlatformError('tenants/duplicate', { name: 'id', value: tenant.id });
    const isTaken = tenant.domain !== undefined && (other.domain === tenant.domain || other.id === tenant.domain);
    if (isTaken) throw new PlatformError('tenants/duplicate', { name: 'domain', value: tenant.domain ?? '' });
  }
}

/**
 * A login without a tenant where the server itself is called would mean a tenant of that name: only the operator gives
 * it away. The configuration says what the server is called, never the request: its sender writes that.
 * @param names of the tenant, by field. @throws PlatformError 422 for all but the management tenant.
 */
export function requireNotOwnHost(
  { baseUrl }: Pick<BoundParts, 'baseUrl'>,
  by: Pick<Principal, 'tenant'>,
  names: Readonly<Record<string, string | undefined>>,
): void {
  if (by.tenant === MANAGEMENT_TENANT) return;
  const configured = baseUrl === undefined || baseUrl === '' ? '' : new URL(baseUrl).hostname;
  const own = new Set(['localhost', configured].flatMap((host) => [host, host.split('.')[0]]));
  for (const [name, value] of Object.entries(names)) {
    if (value === undefined || !own.has(value)) continue;
    throw new PlatformError('validation/invalid-field', {
      area: 'tenants',
      name,
      value,
      limit: 'another name than that of the server itself',
    });
  }
}

/** Of all that are stored. @returns how many others there are. @throws PlatformError 409. */
export async function requireStoredUnique(parts: BoundParts, tenant: Tenant): Promise<number> {
  const names = [tenant.id, ...(tenant.domain === undefined ? [] : [tenant.domain])].map((name) =>
    JSON.stringify(name),
  );
  const records = await listRecords(parts, SERVER_WIDE, 'tenant');
  // Few of them have the name somewhere: only those are parsed.
  const named = records
    .filter(({ value }) => names.some((name) => value.includes(name)))
    .map(({ value }) => JSON.parse(value) as Tenant);
  requireUnique(named, tenant);
  return records.length;
}

/** Of one more tenant, in the change that makes it known. @throws PlatformError 409, 422. */
export async function requireStoredRoom(parts: BoundParts, tenant: Tenant): Promise<void> {
  if ((await requireStoredUnique(parts, tenant)) >= TENANTS_MAX)
    refuse(parts, 'tenants/too-many', OF_SERVER, TENANTS_MAX);
  requireRoomBelow(parts, tenant, undefined);
}

/** Before anything is written. @throws PlatformError 409, 422. */
export function requireRoomFor(parts: BoundParts, tenant: Tenant): void {
  requireUnique(parts.tenants.all, tenant);
  requireRoomBelow(parts, tenant, undefined);
}

/**
 * As far as this node knows: what others make at the same moment may come on top.
 * @param before the tenant as it is, undefined for a new one. @throws PlatformError 422.
 */
export function requireRoomBelow(parts: BoundParts, tenant: Tenant, before: Tenant | undefined): void {
  const bytes = bytesOf(tenant);
  if (before !== undefined && bytes <= bytesOf(before)) return;
  const { tenants } = parts;
  const tops = new Map<number, Tenant>();
  const top = topOf(parts, tenant, tops);
  if (top.number === tenant.number) return;
  let [count, sum] = [1, bytes];
  for (const other of tenants.all) {
    if (
      other.number === tenant.number ||
      other.number === top.number ||
      topOf(parts, other, tops).number !== top.number
    )
      continue;
    count += 1;
    sum += bytesOf(other);
  }
  if (before === undefined && count > BELOW_MAX)
    refuse(parts, 'tenants/too-many-below', BELOW_LIMIT, BELOW_MAX, { id: top.id });
  if (bytes > 0 && sum > PROPERTIES_BYTES_MAX)
    refuse(parts, 'tenants/too-large-below', PROPERTIES_LIMIT, PROPERTIES_BYTES_MAX, { id: top.id });
}

const bytesOf = ({ customProperties = '' }: Tenant): number => Buffer.byteLength(customProperties);

/**
 * The tenant that it is below of, and that is itself below the management tenant; itself when that holds for it. @param
 * known by number, filled.
 */
function topOf(parts: BoundParts, tenant: Tenant, known: Map<number, Tenant>): Tenant {
  const passed: Tenant[] = [];
  let top = tenant;
  // Not through a record that names itself, which nothing makes.
  for (; known.get(top.number) === undefined && passed.length < TENANTS_MAX; ) {
    passed.push(top);
    const parent = top.parent === undefined ? undefined : parts.tenants.byId(top.parent);
    if (parent === undefined || parent.id === MANAGEMENT_TENANT || !isParentOf(parent, top)) break;
    top = parent;
  }
  top = known.get(top.number) ?? top;
  for (const { number } of passed) known.set(number, top);
  return top;
}
