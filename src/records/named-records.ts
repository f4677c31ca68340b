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
import type { ApiRequest } from '../api/request/request.ts';
import { withChanges } from './audit-changes.ts';
import { PageBudget } from '../api/request/page-budget.ts';
import type { Page } from '../api/request/page.ts';
import { recordSteps } from './steps.ts';
import { changeRecords, isChangedMeanwhile, readRecord, retried } from './records.ts';

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
  async page(request: ApiRequest, page: Page): Promise<{ records: Stored[]; total: number }> {
    const ids: number[] = [];
    for await (const rows of recordSteps(
      { documents: request.platform.documents, tenant: request.tenant },
      this.#collection,
    )) {
      for (const { id } of rows) if (/^\d+$/.test(id)) ids.push(Number(id));
    }
    ids.sort((left, right) => left - right);
    return {
      records: await this.loadMany(request, ids.slice(page.offset, page.offset + page.size)),
      total: ids.length,
    };
  }

  /** Those of the ids that exist. @throws PlatformError `general/page-too-large`. */
  async loadMany(request: ApiRequest, ids: readonly number[]): Promise<Stored[]> {
    const budget = new PageBudget(request);
    const records: Stored[] = [];
    for (let start = 0; start < ids.length; start += RECORDS_AT_ONCE) {
      const some = ids.slice(start, start + RECORDS_AT_ONCE).map(String);
      for (const text of await request.platform.documents.getMany(this.#collection, request.tenant, some)) {
        if (text === undefined) continue;
        budget.take(text.length);
        records.push(JSON.parse(text) as Stored);
      }
    }
    return records;
  }

  /** @throws PlatformError 404. */
  async load(request: ApiRequest, id: string): Promise<Stored> {
    const text = /^\d{1,16}$/.test(id)
      ? await readRecord(request, request.tenant, this.#collection, String(Number(id)))
      : undefined;
    if (text === undefined) throw new PlatformError(this.#errors.notFound, { id });
    return JSON.parse(text) as Stored;
  }

  async find(request: ApiRequest, name: string): Promise<Stored | undefined> {
    const id = await this.#idOf(request, name);
    return id === undefined ? undefined : this.load(request, id);
  }

  /** @throws PlatformError 409 when the name is taken. */
  async create(request: ApiRequest, stored: Stored): Promise<void> {
    await this.#store(request, undefined, stored);
  }

  /**
   * @param decide makes the next one of the stored one. @throws PlatformError 404, 409. @returns what is stored now.
   */
  update(request: ApiRequest, id: string, decide: (old: Stored) => Stored | Promise<Stored>): Promise<Stored> {
    return retried(request, async () => {
      const old = await this.load(request, id);
      const next = await decide(old);
      await this.#store(request, old, next);
      return next;
    });
  }

  /** @throws PlatformError 404. */
  async remove(request: ApiRequest, id: string): Promise<void> {
    await retried(request, async () => {
      const old = await this.load(request, id);
      const expected = JSON.stringify(old);
      await changeRecords(
        request,
        request.tenant,
        [
          { collection: this.#collection, id: String(old.id), expected, value: undefined },
          { collection: this.#collection, id: nameKey(old.name), expected: String(old.id), value: undefined },
        ],
        [withChanges(this.#audit(request, 'deleted', old), old, undefined)],
      );
    });
  }

  async #idOf(request: ApiRequest, name: string): Promise<string | undefined> {
    return readRecord(request, request.tenant, this.#collection, nameKey(name));
  }

  async #store(request: ApiRequest, old: Stored | undefined, next: Stored): Promise<void> {
    const id = String(next.id);
    const value = JSON.stringify(next);
    const expected = old === undefined ? undefined : JSON.stringify(old);
    if (value === expected) return;
    const changes: RecordChange[] = [{ collection: this.#collection, id, expected, value }];
    if (old?.name !== next.name) {
      if ((await this.#idOf(request, next.name)) !== undefined)
        throw new PlatformError(this.#errors.duplicate, { id: next.name });
      changes.push({ collection: this.#collection, id: nameKey(next.name), expected: undefined, value: id });
      if (old !== undefined)
        changes.push({ collection: this.#collection, id: nameKey(old.name), expected: id, value: undefined });
    }
    try {
      const audit = withChanges(this.#audit(request, old === undefined ? 'created' : 'updated', next), old, next);
      await changeRecords(request, request.tenant, changes, [audit]);
    } catch (error) {
      // Somebody else took the name meanwhile.
      if (isChangedMeanwhile(error) && old === undefined)
        throw new PlatformError(this.#errors.duplicate, { id: next.name });
      throw error;
    }
  }

  #audit(request: ApiRequest, what: string, { id, name }: Stored): AuditEntry {
    const activity = `${this.#auditType} ${what}`;
    return {
      type: this.#auditType,
      activity,
      text: `${activity}: ${name}`,
      user: request.principal.userName,
      source: String(id),
    };
  }
}

/** @throws PlatformError 422 for a name that nobody could read. */
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
