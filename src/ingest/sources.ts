/** Which managed objects exist and who owns them, remembered by the gateways: a measurement's source is checked before it is journaled. */
import type { DocumentReader } from '../model/command.ts';
import { splitMembers, stringMember } from '../model/json-document.ts';

/** Sources remembered; the oldest half is forgotten when it is reached. */
const REMEMBERED_MAX = 200_000;

export interface KnownSource { readonly tenant: number; readonly owner: string }

export class Sources {
  readonly #documents: DocumentReader;
  #known = new Map<number, KnownSource>();

  constructor(documents: DocumentReader) {
    this.#documents = documents;
  }

  /** The object was changed or deleted. */
  forget(id: number): void {
    this.#known.delete(id);
  }

  /** @returns undefined when the tenant has no such object. Synchronous when remembered or when the store answers at once. */
  find(tenant: number, id: number): KnownSource | undefined | Promise<KnownSource | undefined> {
    const known = this.#known.get(id);
    if (known) return known.tenant === tenant ? known : undefined;
    const text = this.#documents.get('managedObject', tenant, String(id));
    return text instanceof Promise ? text.then((value) => this.#remember(tenant, id, value)) : this.#remember(tenant, id, text);
  }

  #remember(tenant: number, id: number, text: string | undefined): KnownSource | undefined {
    if (text === undefined) return undefined;
    const known = { tenant, owner: stringMember(splitMembers(text), 'owner') ?? '' };
    if (this.#known.size >= REMEMBERED_MAX) this.#known = new Map([...this.#known].slice(REMEMBERED_MAX / 2));
    this.#known.set(id, known);
    return known;
  }
}
