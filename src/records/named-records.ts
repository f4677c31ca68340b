/**
 * Records with a number as id and a name that no two of a tenant have (groups, inventory roles): compare and set of
 * both together.
 */
import type { AuditEntry, RecordChange } from '../model/commands/records.ts';
import type { RecordCollection } from '../model/commands/collections.ts';
import { PlatformError } from '../model/errors.ts';
import type { ErrorCode } from '../model/errors.ts';
import { stringMember } from '../model/documents/json-document.ts';
import type { Members } from '../model/documents/json-document.ts';
import type { Principal } from '../model/access/principal.ts';
import type { DocumentReader } from '../ports/document-reader.ts';
import { withChanges } from './audit-changes.ts';
import { recordSteps } from './steps.ts';
import { changeRecords, isChangedMeanwhile, readRecord, retried } from './records.ts';
import type { Counting, RecordWriter } from './records.ts';
import { isEntityId } from '../model/entities/entity-id.ts';

/** Whose records are read and changed, and by whom: a request is one. */
export interface Acting {
  readonly platform: RecordWriter & Counting & { readonly documents: DocumentReader };
  /** Number of the tenant. */
  readonly tenant: number;
  readonly principal: Pick<Principal, 'userName'>;
}

/** Bounds what a page holds. */
interface Budget {
  /** @throws PlatformError `general/page-too-large`. */
  take(characters: number): void;
}

export interface NamedRecord {
  readonly id: number;
  readonly name: string;
}

/** Records of a page that are read at once. */
const RECORDS_AT_ONCE = 100;
/** What a name may be; the schema has its length. */
const NAME = /^(?!\s*$)[^\p{Cc}\p{Cs}]+$/u;
const NAME_RULE = 'a name without control characters and lone surrogates that is not blank';

export class NamedRecords<Stored extends NamedRecord> {
  readonly #collection: RecordCollection;
  readonly #errors: { readonly notFound: ErrorCode; readonly duplicate: ErrorCode };
  readonly #auditType: string;

  constructor(collection: RecordCollection, errors: { notFound: ErrorCode; duplicate: ErrorCode }, auditType: string) {
    this.#collection = collection;
    this.#errors = errors;
    this.#auditType = auditType;
  }

  /**
   * Those of a page, by id, and how many there are. Of the others only ids are held. @throws PlatformError
   * `general/page-too-large`.
   */
  async page(
    acting: Acting,
    page: { readonly offset: number; readonly size: number },
    budget: Budget,
  ): Promise<{ records: Stored[]; total: number }> {
    const ids: number[] = [];
    for await (const rows of recordSteps(
      { documents: acting.platform.documents, tenant: acting.tenant },
      this.#collection,
    )) {
      for (const { id } of rows) if (/^\d+$/.test(id)) ids.push(Number(id));
    }
    ids.sort((left, right) => left - right);
    return {
      records: await this.loadMany(acting, ids.slice(page.offset, page.offset + page.size), budget),
      total: ids.length,
    };
  }

  /** Those of the ids that exist. @throws PlatformError `general/page-too-large`. */
  async loadMany(acting: Acting, ids: readonly number[], budget: Budget): Promise<Stored[]> {
    const records: Stored[] = [];
    for (let start = 0; start < ids.length; start += RECORDS_AT_ONCE) {
      const some = ids.slice(start, start + RECORDS_AT_ONCE).map(String);
      for (const text of await acting.platform.documents.getMany(this.#collection, acting.tenant, some)) {
        if (text === undefined) continue;
        budget.take(text.length);
        records.push(JSON.parse(text) as Stored);
      }
    }
    return records;
  }

  /** @throws PlatformError 404. */
  async load(acting: Acting, id: string): Promise<Stored> {
    const text = isEntityId(id) ? await readRecord(acting.platform, acting.tenant, this.#collection, id) : undefined;
    if (text === undefined) throw new PlatformError(this.#errors.notFound, { id });
    return JSON.parse(text) as Stored;
  }

  async find(acting: Acting, name: string): Promise<Stored | undefined> {
    const id = await this.#idOf(acting, name);
    return id === undefined ? undefined : this.load(acting, id);
  }

  /** @throws PlatformError 409 when the name is taken. */
  async create(acting: Acting, stored: Stored): Promise<void> {
    await this.#store(acting, undefined, stored);
  }

  /**
   * @param decide makes the next one of the stored one. @throws PlatformError 404, 409. @returns what is stored now.
   */
  update(acting: Acting, id: string, decide: (old: Stored) => Stored | Promise<Stored>): Promise<Stored> {
    return retried(acting.platform, async () => {
      const old = await this.load(acting, id);
      const next = await decide(old);
      await this.#store(acting, old, next);
      return next;
    });
  }

  /** @throws PlatformError 404. */
  async remove(acting: Acting, id: string): Promise<void> {
    await retried(acting.platform, async () => {
      const old = await this.load(acting, id);
      const expected = JSON.stringify(old);
      await changeRecords(
        acting.platform,
        acting.tenant,
        [
          { collection: this.#collection, id: String(old.id), expected, value: undefined },
          { collection: this.#collection, id: nameKey(old.name), expected: String(old.id), value: undefined },
        ],
        [withChanges(this.#audit(acting, 'deleted', old), old, undefined)],
      );
    });
  }

  async #idOf(acting: Acting, name: string): Promise<string | undefined> {
    return readRecord(acting.platform, acting.tenant, this.#collection, nameKey(name));
  }

  async #store(acting: Acting, old: Stored | undefined, next: Stored): Promise<void> {
    const id = String(next.id);
    const value = JSON.stringify(next);
    const expected = old === undefined ? undefined : JSON.stringify(old);
    if (value === expected) return;
    const changes: RecordChange[] = [{ collection: this.#collection, id, expected, value }];
    if (old?.name !== next.name) {
      if ((await this.#idOf(acting, next.name)) !== undefined)
        throw new PlatformError(this.#errors.duplicate, { id: next.name });
      changes.push({ collection: this.#collection, id: nameKey(next.name), expected: undefined, value: id });
      if (old !== undefined)
        changes.push({ collection: this.#collection, id: nameKey(old.name), expected: id, value: undefined });
    }
    try {
      const audit = withChanges(this.#audit(acting, old === undefined ? 'created' : 'updated', next), old, next);
      await changeRecords(acting.platform, acting.tenant, changes, [audit]);
    } catch (error) {
      // Another request took the name meanwhile.
      if (isChangedMeanwhile(error) && old === undefined)
        throw new PlatformError(this.#errors.duplicate, { id: next.name });
      throw error;
    }
  }

  #audit(acting: Acting, what: string, { id, name }: Stored): AuditEntry {
    const activity = `${this.#auditType} ${what}`;
    return {
      type: this.#auditType,
      activity,
      text: `${activity}: ${name}`,
      user: acting.principal.userName,
      source: String(id),
    };
  }
}

/** @throws PlatformError 422 for a name that cannot be read. */
export function sentName(members: Members, area: string): string | undefined {
  const name = stringMember(members, 'name');
  if (name === undefined || NAME.test(name)) return name;
  throw new PlatformError('validation/invalid-field', {
    area,
    name: 'name',
    value: name.toWellFormed(),
    limit: NAME_RULE,
  });
}

const nameKey = (name: string): string => `n\n${name}`;
