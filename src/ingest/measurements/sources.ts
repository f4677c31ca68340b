/**
 * Which managed objects exist and who owns them, remembered by the gateways: a measurement's source is checked before
 * it is journaled.
 */
import type { DocumentReader } from '../../ports/document-reader.ts';
import { grantsFor, mayAccess, typesAtOrAbove } from '../../model/access/inventory-access.ts';
import { ANY } from '../../model/access/inventory-grant.ts';
import { memberText, stringOf } from '../../model/documents/json-document.ts';
import type { Principal } from '../../model/access/principal.ts';

/** Sources remembered, those of the generation before included. */
const REMEMBERED_MAX = 500_000;

/** What a permission has to allow for a measurement. */
const WRITING = { scope: 'MEASUREMENT', permission: 'ADMIN' } as const;

export interface KnownSource {
  readonly tenant: number;
  readonly owner: string;
}

export class Sources {
  readonly #documents: DocumentReader;
  #known = new Map<number, KnownSource>();
  /** The generation before: used, and read again by the next one who asks after the next call of `age`. */
  #aged = new Map<number, KnownSource>();
  /** Shared by the sources of one owner that are read one behind the other. */
  #last: KnownSource = { tenant: 0, owner: '' };
  /** Reads under way: one that is forgotten meanwhile is not remembered. */
  readonly #reading = new Set<number>();

  constructor(documents: DocumentReader) {
    this.#documents = documents;
  }

  /** The object was changed or deleted. */
  forget(id: number): void {
    this.#known.delete(id);
    this.#aged.delete(id);
    this.#reading.delete(id);
  }

  /** Changes may have been missed. */
  forgetAll(): void {
    this.#known.clear();
    this.#aged.clear();
    this.#reading.clear();
  }

  /**
   * Forgets what was read before the call before this one. Called when a generation is full; in a cluster every 30 s
   * too, so that nothing is older than a minute.
   */
  age(): void {
    this.#aged = this.#known;
    this.#known = new Map();
  }

  /**
   * @returns undefined when the tenant has no such object. Synchronous when remembered or when the store answers at
   * once.
   */
  find(tenant: number, id: number): KnownSource | undefined | Promise<KnownSource | undefined> {
    const known = this.#known.get(id) ?? (this.#aged.size > 0 ? this.#aged.get(id) : undefined);
    if (known) return known.tenant === tenant ? known : undefined;
    const text = this.#documents.get('managedObject', tenant, String(id));
    if (!(text instanceof Promise)) return this.#remember(tenant, id, text, true);
    this.#reading.add(id);
    return text.then((value) => this.#remember(tenant, id, value, this.#reading.delete(id)));
  }

  /**
   * Types of the inventory permissions by which a user who neither has the role nor owns the object may write
   * measurements of it: ANY alone where one is for all types. @returns none when the object does not exist.
   */
  measurableTypes(principal: Principal, id: number): readonly string[] | Promise<readonly string[]> {
    const grants = grantsFor(principal, WRITING);
    if (grants.length === 0 && principal.ownRoles === undefined) return [];
    const documents = this.#documents;
    const decide = (doc: string | undefined): readonly string[] | Promise<readonly string[]> => {
      if (doc === undefined) return [];
      const isOfAny = mayAccess(documents, principal, { id: String(id), doc }, WRITING);
      const typesOf = (hasAny: boolean): readonly string[] | Promise<readonly string[]> => {
        if (hasAny) return [ANY];
        return grants.some(({ type }) => type !== ANY) ? typesAtOrAbove(documents, principal, String(id), WRITING) : [];
      };
      return isOfAny instanceof Promise ? isOfAny.then(typesOf) : typesOf(isOfAny);
    };
    const text = documents.get('managedObject', principal.tenantNumber, String(id));
    return text instanceof Promise ? text.then(decide) : decide(text);
  }

  #remember(tenant: number, id: number, text: string | undefined, isCurrent: boolean): KnownSource | undefined {
    if (text === undefined) return undefined;
    const owner = stringOf(memberText(text, 'owner')) ?? '';
    if (this.#last.tenant !== tenant || this.#last.owner !== owner) this.#last = { tenant, owner };
    if (!isCurrent) return this.#last;
    if (this.#known.size >= REMEMBERED_MAX / 2) this.age();
    this.#known.set(id, this.#last);
    return this.#last;
  }
}
