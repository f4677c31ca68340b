/**
 * The collections of a tenant, which are managed objects with an external ID (docs/spec/smartrest-one.md#collections).
 * What their rows say is compiled once and remembered; a changed object is read again.
 */
import { LRUCache } from 'lru-cache';
import type { Principal } from '../../model/access/principal.ts';
import type { DeviceEnsure } from '../../model/commands/external-ids.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { splitMembers } from '../../model/documents/json-document.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { externalIdKey, isExternalId } from '../../model/entities/external-id.ts';
import { TEMPLATES_1 } from '../../model/entities/managed-object.ts';
import { PlatformError } from '../../model/errors.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { COLLECTION_ID_TYPE, collectionIds, requireRoomForCollection } from '../custom/collection-shares.ts';
import { COLLECTION_BYTES_MAX, compileStored, rowsOfFragment, type Collection } from './collection.ts';
import { RowFault } from './fault.ts';

/** Type of the managed object. */
const COLLECTION_TYPE = 'c8y_SmartRestTemplate';

const COLLECTION_BYTES_LIMIT = 'smartrest/collection-bytes';

/** Compiled collections that are remembered, and the bytes of their rows; the longest unused are forgotten. */
const REMEMBERED_MAX = 1_000;
const REMEMBERED_BYTES_MAX = 4 * 1_024 * 1_024;
/** A change of which this node was not told is seen after this time. */
const AGE_MAX_MS = 60_000;

export interface StoredCollection {
  /** Of its managed object. */
  readonly id: string;
  readonly collection: Collection;
}

export interface CollectionsOptions {
  readonly documents: DocumentReader;
  readonly commands: CommandPort;
  readonly ids: IdSource;
  readonly refusals: Refusals;
  /** ms since 1970. */
  readonly now: () => number;
}

interface Remembered {
  readonly tenant: number;
  readonly rows: string;
  readonly collection: Collection | undefined;
  readonly readAt: number;
}

export class Collections {
  readonly #options: CollectionsOptions;
  /** By id of the managed object. */
  readonly #remembered = new LRUCache<number, Remembered>({
    max: REMEMBERED_MAX,
    maxSize: REMEMBERED_BYTES_MAX,
    sizeCalculation: ({ rows }) => rows.length + 1,
  });
  /** Reads under way; what is forgotten meanwhile is not remembered. */
  readonly #reading = new Map<number, object>();

  constructor(options: CollectionsOptions) {
    this.#options = options;
  }

  /** How many are remembered, compiled. */
  get rememberedCount(): number {
    return this.#remembered.size;
  }

  /**
   * @param xid also the id of its object, which a row 20 tells.
   * @returns undefined when the tenant has no such collection, or one whose rows are not templates.
   */
  async find(tenant: number, xid: string): Promise<StoredCollection | undefined> {
    const id = (await this.#idOf(tenant, xid)) ?? (await this.#sameId(tenant, xid));
    const collection = id === undefined ? undefined : await this.#compiled(tenant, id);
    return id === undefined || collection === undefined ? undefined : { id, collection };
  }

  /**
   * Stores a new collection, whose owner is the user.
   * @param rows that `compileCollection` has taken. @throws RowFault 41 for an X-Id that is taken or cannot be one, and
   * for limits; PlatformError of commands.
   */
  async create(principal: Principal, xid: string, rows: string): Promise<string> {
    const { documents, commands, ids, refusals, now } = this.#options;
    const { tenantNumber: tenant, userName } = principal;
    if (!isExternalId(COLLECTION_ID_TYPE, xid))
      throw new RowFault(41, 'An X-Id is a text without control characters, of at most 1,400 bytes');
    if ((await this.#idOf(tenant, xid)) !== undefined) throw taken();
    const bytes = Buffer.byteLength(rows);
    if (bytes > COLLECTION_BYTES_MAX) {
      refusals.count(COLLECTION_BYTES_LIMIT, { tenant: principal.tenant, user: userName });
      throw new RowFault(
        41,
        `A collection has at most ${COLLECTION_BYTES_MAX} bytes, not ${bytes} (${COLLECTION_BYTES_LIMIT})`,
      );
    }
    try {
      const others = await collectionIds(documents, tenant, COLLECTION_ID_TYPE);
      requireRoomForCollection(COLLECTION_ID_TYPE, { others, by: principal }, refusals, {
        tenant: principal.tenant,
        user: userName,
      });
    } catch (error) {
      if (error instanceof PlatformError && error.status === 422) throw new RowFault(41, error.message);
      throw error;
    }
    const body: DeviceEnsure = {
      by: userName,
      type: COLLECTION_ID_TYPE,
      externalId: xid,
      id: String(ids.next()),
      owner: userName,
      doc: JSON.stringify({ name: xid, type: COLLECTION_TYPE, [TEMPLATES_1]: { rows } }),
    };
    const { id, created } = await commands.request<{ id: string; created: boolean }>({
      kind: COMMAND.DEVICE_ENSURE,
      tenant,
      key: `x:${externalIdKey(COLLECTION_ID_TYPE, xid)}`,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: now(),
      body,
      user: userName,
    });
    // Another request was first.
    if (!created) throw taken();
    return id;
  }

  /** An object was changed or deleted. */
  objectChanged(id: number): void {
    this.#remembered.delete(id);
    this.#reading.delete(id);
  }

  /** Changes may have been missed. */
  forgetAll(): void {
    this.#remembered.clear();
    this.#reading.clear();
  }

  async #idOf(tenant: number, xid: string): Promise<string | undefined> {
    if (!isExternalId(COLLECTION_ID_TYPE, xid)) return undefined;
    const text = await this.#options.documents.get('externalId', tenant, externalIdKey(COLLECTION_ID_TYPE, xid));
    return text === undefined ? undefined : (JSON.parse(text) as { managedObject: string }).managedObject;
  }

  /** The id itself, of an object that has an X-Id. */
  async #sameId(tenant: number, id: string): Promise<string | undefined> {
    if (!isEntityId(id)) return undefined;
    const prefix = `${id}\n${COLLECTION_ID_TYPE}\n`;
    const xids = await this.#options.documents.list('externalIdsOf', tenant, prefix, { limit: 1 });
    return xids.length === 0 ? undefined : id;
  }

  async #compiled(tenant: number, idText: string): Promise<Collection | undefined> {
    const id = Number(idText);
    const now = this.#options.now();
    const known = this.#remembered.get(id);
    if (known !== undefined && known.tenant === tenant && now - known.readAt < AGE_MAX_MS) return known.collection;
    const reading = {};
    this.#reading.set(id, reading);
    const text = await this.#options.documents.get('managedObject', tenant, idText);
    const isCurrent = this.#reading.get(id) === reading;
    if (isCurrent) this.#reading.delete(id);
    const rows = text === undefined ? undefined : rowsOf(text);
    if (rows === undefined) return undefined;
    const collection = known?.rows === rows ? known.collection : compileStored(rows);
    if (isCurrent) this.#remembered.set(id, { tenant, rows, collection, readAt: now });
    return collection;
  }
}

const taken = (): RowFault => new RowFault(41, 'Cannot create templates for already existing template object');

/** @returns the rows of a managed object's text; undefined for one that has none. */
function rowsOf(text: string): string | undefined {
  const fragment = splitMembers(text).get(TEMPLATES_1);
  return fragment === undefined ? undefined : rowsOfFragment(fragment);
}
