/** What the real-time channels ask of the inventory, read from the documents: ancestors, and owners. */
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Notification } from '../../ports/live-bus.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import { mayAccess } from '../../model/access/inventory-access.ts';
import type { WantedAccess } from '../../model/access/inventory-grant.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { HierarchyPort } from './ancestor-lookup.ts';
import type { ObjectAccess } from './channel.ts';

/** Ancestors of one object that are looked at, and parents of each. */
const ANCESTORS_MAX = 1_000;

type ParentRow = { readonly id: string };

/** Climbs the `parents` links: child devices, assets and additions alike. Answers at once when the reader does. */
export class DocumentHierarchy implements HierarchyPort {
  readonly #documents: DocumentReader;

  constructor(documents: DocumentReader) {
    this.#documents = documents;
  }

  /** @returns the nearest first; an object that is reached twice (or in a cycle) is there once. */
  ancestors(tenant: number, id: string): readonly string[] | Promise<readonly string[]> {
    return this.#climb(tenant, [id], 0);
  }

  /**
   * @param found the object and what was found above it so far; those before `next` have been asked for their parents.
   */
  #climb(tenant: number, found: string[], next: number): readonly string[] | Promise<readonly string[]> {
    const known = new Set(found);
    for (let index = next; index < found.length && found.length <= ANCESTORS_MAX; index += 1) {
      const prefix = `${found[index]}\n`;
      const rows = this.#documents.list('parents', tenant, prefix, { limit: ANCESTORS_MAX });
      if (!Array.isArray(rows)) {
        return rows.then((answered) => {
          addParents(found, known, prefix, answered);
          return this.#climb(tenant, found, index + 1);
        });
      }
      addParents(found, known, prefix, rows);
    }
    return found.slice(1);
  }
}

/** @param rows keys `<child>\n<kind>\n<parent>` that begin with `prefix`, the child. */
function addParents(found: string[], known: Set<string>, prefix: string, rows: readonly ParentRow[]): void {
  for (const row of rows) {
    const parent = row.id.slice(row.id.indexOf('\n', prefix.length) + 1);
    if (known.has(parent)) continue;
    known.add(parent);
    found.push(parent);
  }
}

const SCOPES: Readonly<Record<Notification['area'], WantedAccess['scope']>> = {
  measurements: 'MEASUREMENT',
  events: 'EVENT',
  alarms: 'ALARM',
  managedobjects: 'MANAGED_OBJECT',
  operations: 'OPERATION',
};

/** The owner of a managed object may read it, and users with a permission for all its data of the area. */
export class OwnerAccess implements ObjectAccess {
  readonly #documents: DocumentReader;
  readonly #hierarchy: DocumentHierarchy;

  constructor(documents: DocumentReader) {
    this.#documents = documents;
    this.#hierarchy = new DocumentHierarchy(documents);
  }

  async mayRead(principal: Principal, managedObjectId: string, area: Notification['area']): Promise<boolean> {
    const text = await this.#documents.get('managedObject', principal.tenantNumber, managedObjectId);
    if (text === undefined) return false;
    return mayAccess(
      this.#documents,
      principal,
      { id: managedObjectId, doc: text },
      { scope: SCOPES[area], permission: 'READ' },
    );
  }

  /** The object; for a registered device also what is above it, whose owner it may be. */
  async watchedFor(principal: Principal, managedObjectId: string): Promise<readonly string[]> {
    if (principal.ownRoles === undefined) return [managedObjectId];
    return [managedObjectId, ...(await this.#hierarchy.ancestors(principal.tenantNumber, managedObjectId))];
  }

  async isOwner(principal: Principal, managedObjectId: string): Promise<boolean> {
    const text = await this.#documents.get('managedObject', principal.tenantNumber, managedObjectId);
    return text !== undefined && stringMember(splitMembers(text), 'owner') === principal.userName;
  }
}
