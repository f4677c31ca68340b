/**
 * How many tenants there may be, and of which names. All tenants are in memory, and whoever makes one asks what is
 * stored once more, in the change that makes it known: of one id or domain there is one, whatever other nodes do
 * meanwhile.
 */
import { MANAGEMENT_TENANT, TENANTS_MAX, isParentOf } from '../../accounts/tenants/tenants.ts';
import type { Tenant } from '../../accounts/tenants/tenants.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ErrorCode } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { listRecords } from '../../records/records.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';

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
  request: ApiRequest,
  error: ErrorCode,
  limit: string,
  maximum: number,
  further: Record<string, string> = {},
): never {
  request.refused(limit);
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
 * Whoever logs in without a tenant where the server itself is called would do so at a tenant of that name: only the
 * operator gives it away. The configuration says what the server is called, never the request: its sender writes that.
 * @param names of the tenant, by field. @throws PlatformError 422 for all but the management tenant.
 */
export function requireNotOwnHost(request: ApiRequest, names: Readonly<Record<string, string | undefined>>): void {
  if (request.principal.tenant === MANAGEMENT_TENANT) return;
  const { baseUrl } = request.platform.config;
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
export async function requireStoredUnique(request: ApiRequest, tenant: Tenant): Promise<number> {
  const names = [tenant.id, ...(tenant.domain === undefined ? [] : [tenant.domain])].map((name) =>
    JSON.stringify(name),
  );
  const records = await listRecords(request.platform, SERVER_WIDE, 'tenant');
  // Few of them have the name somewhere: only those are parsed.
  const named = records
    .filter(({ value }) => names.some((name) => value.includes(name)))
    .map(({ value }) => JSON.parse(value) as Tenant);
  requireUnique(named, tenant);
  return records.length;
}

/** Of one more tenant, in the change that makes it known. @throws PlatformError 409, 422. */
export async function requireStoredRoom(request: ApiRequest, tenant: Tenant): Promise<void> {
  if ((await requireStoredUnique(request, tenant)) >= TENANTS_MAX)
    refuse(request, 'tenants/too-many', OF_SERVER, TENANTS_MAX);
  requireRoomBelow(request, tenant, undefined);
}

/** Before anything is written. @throws PlatformError 409, 422. */
export function requireRoomFor(request: ApiRequest, tenant: Tenant): void {
  requireUnique(request.platform.tenants.all, tenant);
  requireRoomBelow(request, tenant, undefined);
}

/**
 * As far as this node knows: what others make at the same moment may come on top.
 * @param before the tenant as it is, undefined for a new one. @throws PlatformError 422.
 */
export function requireRoomBelow(request: ApiRequest, tenant: Tenant, before: Tenant | undefined): void {
  const bytes = bytesOf(tenant);
  if (before !== undefined && bytes <= bytesOf(before)) return;
  const { tenants } = request.platform;
  const tops = new Map<number, Tenant>();
  const top = topOf(request, tenant, tops);
  if (top.number === tenant.number) return;
  let [count, sum] = [1, bytes];
  for (const other of tenants.all) {
    if (
      other.number === tenant.number ||
      other.number === top.number ||
      topOf(request, other, tops).number !== top.number
    )
      continue;
    count += 1;
    sum += bytesOf(other);
  }
  if (before === undefined && count > BELOW_MAX)
    refuse(request, 'tenants/too-many-below', BELOW_LIMIT, BELOW_MAX, { id: top.id });
  if (bytes > 0 && sum > PROPERTIES_BYTES_MAX)
    refuse(request, 'tenants/too-large-below', PROPERTIES_LIMIT, PROPERTIES_BYTES_MAX, { id: top.id });
}

const bytesOf = ({ customProperties = '' }: Tenant): number => Buffer.byteLength(customProperties);

/**
 * The tenant that it is below of, and that is itself below the management tenant; itself when that holds for it. @param
 * known by number, filled.
 */
function topOf(request: ApiRequest, tenant: Tenant, known: Map<number, Tenant>): Tenant {
  const passed: Tenant[] = [];
  let top = tenant;
  // Not through a record that names itself, which nothing makes.
  for (; known.get(top.number) === undefined && passed.length < TENANTS_MAX; ) {
    passed.push(top);
    const parent = top.parent === undefined ? undefined : request.platform.tenants.byId(top.parent);
    if (parent === undefined || parent.id === MANAGEMENT_TENANT || !isParentOf(parent, top)) break;
    top = parent;
  }
  top = known.get(top.number) ?? top;
  for (const { number } of passed) known.set(number, top);
  return top;
}
