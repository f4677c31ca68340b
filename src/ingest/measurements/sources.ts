/**
 * Which managed objects exist and who owns them, remembered by the gateways: a measurement's source is checked before
 * it is journaled.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { DocumentReader } from '../../ports/document-reader.ts';
import { grantsFor, mayAccess, typesAtOrAbove } from '../../model/access/inventory-access.ts';
import { ANY } from '../../model/access/inventory-grant.ts';
import { memberText, stringOf } from '../../model/documents/json-document.ts';
import type { Principal } from '../../model/access/principal.ts';
import { upTo } from '../../pacing/lru-bound.ts';
import { SourceTable, type OwnerMark } from './source-table.ts';

/**
 * Slots of each part of a generation: 40 MiB, full with 1.5 million sources. With the generation before it that is
 * 80 MiB for 3 million.
 */
const PART_SLOTS_MAX = 8_192;
/** Owners and users whose mark is remembered. */
const MARKS_MAX = 20_000;

/** What a permission has to allow for a measurement. */
const WRITING = { scope: 'MEASUREMENT', permission: 'ADMIN' } as const;

export class Sources {
  readonly #documents: DocumentReader;
  readonly #partSlotsMax: number;
  #known: SourceTable;
  /** The generation before: used, and read again by the next one who asks after the next call of `age`. */
  #aged: SourceTable;
  /** Key of the marks: without it a user cannot search for a name that has the mark of another name. */
  readonly #secret = randomBytes(32);
  readonly #marks = new LRUCache<string, OwnerMark>(upTo(MARKS_MAX));
  #lastName = '';
  #lastMark: OwnerMark;
  /** Reads under way: one that is forgotten meanwhile is not remembered. */
  readonly #reading = new Set<number>();

  constructor(documents: DocumentReader, partSlotsMax = PART_SLOTS_MAX) {
    this.#documents = documents;
    this.#partSlotsMax = partSlotsMax;
    this.#known = new SourceTable(partSlotsMax);
    this.#aged = new SourceTable(partSlotsMax);
    this.#lastMark = this.#newMark('');
  }

  /** The object was changed or deleted. */
  forget(id: number): void {
    this.#known.delete(id);
    this.#aged.delete(id);
    this.#reading.delete(id);
  }

  /** Changes may have been missed. */
  forgetAll(): void {
    this.age();
    this.age();
    this.#reading.clear();
  }

  /**
   * Forgets what was read before the call before this one. Called when a generation is full; in a cluster every 30 s
   * too, so that nothing is older than a minute.
   */
  age(): void {
    this.#aged = this.#known;
    this.#known = new SourceTable(this.#partSlotsMax);
  }

  /**
   * @returns whether the object is the user's own; undefined when the tenant has no such object. Synchronous when
   * remembered or when the store answers at once.
   */
  find(tenant: number, id: number, userName: string): boolean | undefined | Promise<boolean | undefined> {
    const table = this.#known.find(id) ? this.#known : this.#aged.find(id) ? this.#aged : undefined;
    if (table !== undefined) return table.tenant === tenant ? table.isOf(this.#markOf(userName)) : undefined;
    const text = this.#documents.get('managedObject', tenant, String(id));
    if (!(text instanceof Promise)) return this.#remember(tenant, id, text, userName, true);
    this.#reading.add(id);
    return text.then((value) => this.#remember(tenant, id, value, userName, this.#reading.delete(id)));
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

  #remember(
    tenant: number,
    id: number,
    text: string | undefined,
    userName: string,
    isCurrent: boolean,
  ): boolean | undefined {
    if (text === undefined) return undefined;
    const owner = stringOf(memberText(text, 'owner')) ?? '';
    if (isCurrent) {
      const mark = this.#markOf(owner);
      if (!this.#known.set(id, tenant, mark)) {
        this.age();
        this.#known.set(id, tenant, mark);
      }
    }
    return owner === userName;
  }

  /** Devices of one owner are read one behind the other, and the measurements of a body are of one user. */
  #markOf(name: string): OwnerMark {
    if (name === this.#lastName) return this.#lastMark;
    let mark = this.#marks.get(name);
    if (mark === undefined) this.#marks.set(name, (mark = this.#newMark(name)));
    this.#lastName = name;
    return (this.#lastMark = mark);
  }

  #newMark(name: string): OwnerMark {
    const digest = createHmac('sha256', this.#secret).update(name).digest();
    return { high: digest.readUInt32LE(0), low: digest.readUInt32LE(4) };
  }
}
