/** Records with a number as id and a name that no two of a tenant have (groups, inventory roles): compare and set of both together. */
import type { RecordCollection } from '../model/command.ts';
import type { AuditEntry, RecordChange } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import type { ErrorCode } from '../model/errors.ts';
import type { ApiRequest } from './api-request.ts';
import { changeRecords, isChangedMeanwhile, listRecords, readRecord, retried } from './records.ts';

export interface NamedRecord { readonly id: number; readonly name: string }

export class NamedRecords<Stored extends NamedRecord> {
  readonly #collection: RecordCollection;
  readonly #errors: { readonly notFound: ErrorCode; readonly duplicate: ErrorCode };
  readonly #auditType: string;

  constructor(collection: RecordCollection, errors: { notFound: ErrorCode; duplicate: ErrorCode }, auditType: string) {
    this.#collection = collection;
    this.#errors = errors;
    this.#auditType = auditType;
  }

  /** All of a tenant, by id. */
  async list(request: ApiRequest): Promise<Stored[]> {
    const records = await listRecords(request, request.tenant, this.#collection);
    return records.filter(({ id }) => /^\d+$/.test(id)).map(({ value }) => JSON.parse(value) as Stored).sort((left, right) => left.id - right.id);
  }

  /** @throws PlatformError 404. */
  async load(request: ApiRequest, id: string): Promise<Stored> {
    const text = /^\d{1,16}$/.test(id) ? await readRecord(request, request.tenant, this.#collection, String(Number(id))) : undefined;
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

  /** @param decide makes the next one of the stored one. @throws PlatformError 404, 409. @returns what is stored now. */
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
      await changeRecords(request, request.tenant, [
        { collection: this.#collection, id: String(old.id), expected, value: undefined },
        { collection: this.#collection, id: nameKey(old.name), expected: String(old.id), value: undefined },
      ], [this.#audit(request, 'deleted', old)]);
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
      if (await this.#idOf(request, next.name) !== undefined) throw new PlatformError(this.#errors.duplicate, { id: next.name });
      changes.push({ collection: this.#collection, id: nameKey(next.name), expected: undefined, value: id });
      if (old !== undefined) changes.push({ collection: this.#collection, id: nameKey(old.name), expected: id, value: undefined });
    }
    try {
      await changeRecords(request, request.tenant, changes, [this.#audit(request, old === undefined ? 'created' : 'updated', next)]);
    } catch (error) {
      // Somebody else took the name meanwhile.
      if (isChangedMeanwhile(error) && old === undefined) throw new PlatformError(this.#errors.duplicate, { id: next.name });
      throw error;
    }
  }

  #audit(request: ApiRequest, what: string, { id, name }: Stored): AuditEntry {
    const activity = `${this.#auditType} ${what}`;
    return { type: this.#auditType, activity, text: `${activity}: ${name}`, user: request.principal.userName, source: String(id) };
  }
}

const nameKey = (name: string): string => `n\n${name}`;
