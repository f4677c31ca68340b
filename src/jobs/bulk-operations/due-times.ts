/**
 * When each bulk operation of a tenant has something to do again. Filled anew from the records pass by pass: shards may
 * have come from another node.
 */
import { BULK_OPERATIONS, bulkIdOfKey } from '../../model/entities/bulk-operation.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';

/** Records of a page. */
const LIST_PAGE = 500;

export class BulkDueTimes {
  /** ms since 1970, by tenant and id; those that are absent have nothing to do. */
  readonly #dueAt = new Map<number, Map<string, number>>();

  /** Forgets tenants that are no more. */
  keep(tenants: ReadonlySet<number>): void {
    for (const tenant of this.#dueAt.keys()) if (!tenants.has(tenant)) this.#dueAt.delete(tenant);
  }

  /** Forgets those of a tenant. @returns what was known. */
  take(tenant: number): ReadonlyMap<string, number> | undefined {
    const known = this.#dueAt.get(tenant);
    this.#dueAt.delete(tenant);
    return known;
  }

  get(tenant: number, id: string): number | undefined {
    return this.#dueAt.get(tenant)?.get(id);
  }

  /** @param dueAt ms since 1970, Infinity for never. */
  set(tenant: number, id: string, dueAt: number): void {
    const ofTenant = this.#dueAt.get(tenant) ?? new Map<string, number>();
    if (dueAt === Infinity) ofTenant.delete(id);
    else ofTenant.set(id, dueAt);
    if (ofTenant.size === 0) this.#dueAt.delete(tenant);
    else this.#dueAt.set(tenant, ofTenant);
  }

  /** Those that are due, of each tenant that is `isMine` at most `count`, longest due first. Others are forgotten. */
  *due(
    at: number,
    count: number,
    isMine: (tenant: number) => boolean,
  ): Generator<{ tenant: number; due: { id: string; dueAt: number }[] }> {
    for (const [tenant, ofTenant] of this.#dueAt) {
      if (!isMine(tenant)) {
        this.#dueAt.delete(tenant);
        continue;
      }
      const due = [...ofTenant].filter(([, dueAt]) => dueAt <= at).map(([id, dueAt]) => ({ id, dueAt }));
      yield { tenant, due: due.sort((one, other) => one.dueAt - other.dueAt).slice(0, count) };
    }
  }

  /** The first of all, `otherwise` at the latest. */
  next(otherwise: number): number {
    let next = otherwise;
    for (const ofTenant of this.#dueAt.values()) for (const dueAt of ofTenant.values()) next = Math.min(next, dueAt);
    return next;
  }
}

/** Ids of the bulk operations that have a record with the prefix, the oldest first. */
export async function bulkIdsWith(
  documents: DocumentReader,
  tenant: number,
  prefix: string,
  isStopped: () => boolean,
): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | undefined; !isStopped(); ) {
    const page = await documents.list(
      BULK_OPERATIONS,
      tenant,
      prefix,
      after === undefined ? { limit: LIST_PAGE } : { after, limit: LIST_PAGE },
    );
    for (const { id: key } of page) ids.push(bulkIdOfKey(key));
    if (page.length < LIST_PAGE) break;
    after = page[page.length - 1].id;
  }
  return ids;
}
