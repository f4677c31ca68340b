/**
 * Documents on LMDB. Keys: `<collection code><tenant>/<id>`, so that a collection of a tenant is one range in id order.
 */
import type { DocumentChange, Documents } from '../../ports/stores/documents.ts';
import type { Collection } from '../../model/commands/collections.ts';
import { KEY_CONTROLS } from '../../model/documents/key-text.ts';
import type { ListOptions } from '../../ports/document-reader.ts';
import type { LmdbEnvironment } from './environment.ts';
import { KEY_BYTES_MAX } from './environment.ts';

const CODES: Readonly<Record<Collection, string>> = {
  managedObject: 'M',
  binary: 'D',
  availability: 'V',
  externalId: 'X',
  externalIdsOf: 'Y',
  children: 'C',
  parents: 'P',
  alarm: 'A',
  event: 'E',
  operation: 'O',
  openAlarm: 'a',
  openAlarmLink: 'h',
  openOperation: 'o',
  softwareList: 'y',
  parameterState: 'z',
  user: 'U',
  session: 'S',
  sessionMessage: 'Q',
  tenant: 'T',
  pending: 'F',
  meta: 'm',
  option: 'p',
  application: 'q',
  subscription: 's',
  group: 'g',
  inventoryRole: 'i',
  inventoryAssignment: 'j',
  retentionRule: 'r',
  certificate: 'c',
  deviceRequest: 'd',
  bulkRegistration: 'b',
  bulkOperation: 'B',
  passwordToken: 'w',
  loginOption: 'l',
  tokenRevocation: 'v',
  job: 'J',
  groupMember: 'G',
  userAlias: 'L',
  signingKey: 'k',
  eventBinary: 'e',
  totp: 't',
  revocation: 'R',
  statisticsFile: 'f',
  notificationSubscription: 'n',
  remoteAccess: 'x',
  topicSubscriber: 'W',
  topicMessage: 'N',
  scoringModel: 'K',
  scoringResource: 'Z',
  scoringBinding: 'u',
  scoring: 'H',
};

/** Collections of tenants. */
export const COLLECTIONS = (Object.keys(CODES) as Collection[]).filter((name) => name !== 'pending' && name !== 'meta');

const POSITION_KEY = 'm0/position';

export class LmdbDocuments implements Documents {
  readonly #environment: LmdbEnvironment;

  constructor(environment: LmdbEnvironment) {
    this.#environment = environment;
  }

  get(collection: Collection, tenant: number, id: string): string | undefined {
    const key = keyOf(collection, tenant, id);
    return isTooLong(key) ? undefined : this.#environment.documents.get(key);
  }

  getMany(collection: Collection, tenant: number, ids: readonly string[]): (string | undefined)[] {
    return ids.map((id) => this.get(collection, tenant, id));
  }

  list(collection: Collection, tenant: number, prefix: string, options: ListOptions): { id: string; value: string }[] {
    const base = `${CODES[collection]}${tenant}/`;
    const found: { id: string; value: string }[] = [];
    if (isTooLong(keyOf(collection, tenant, prefix))) return found;
    const { after, idsOnly = false } = options;
    const isBehind = after !== undefined && !isTooLong(keyOf(collection, tenant, after)) && inByteOrder(prefix, after);
    const from = isBehind ? after : prefix;
    if (idsOnly) {
      for (const id of this.ids(collection, tenant, prefix, from)) {
        if (found.length >= options.limit) break;
        if (id !== after) found.push({ id, value: '' });
      }
      return found;
    }
    for (const { key, value } of this.#environment.documents.getRange({ start: keyOf(collection, tenant, from) })) {
      // A key of before the escapes of `keyOf` can read back as several.
      if (typeof key !== 'string') continue;
      if (!key.startsWith(base + prefix) || found.length >= options.limit) break;
      const id = key.slice(base.length);
      if (id !== after) found.push({ id, value });
    }
    return found;
  }

  /** Ids that begin with `prefix`, from `from` on in byte order, without reading what they stand for. */
  *ids(collection: Collection, tenant: number, prefix: string, from = prefix): Generator<string> {
    const base = `${CODES[collection]}${tenant}/`;
    for (const key of this.#environment.documents.getKeys({ start: keyOf(collection, tenant, from) })) {
      if (typeof key !== 'string' || !key.startsWith(base + prefix)) return;
      yield key.slice(base.length);
    }
  }

  async commit(changes: Iterable<DocumentChange>, position: number | undefined): Promise<void> {
    const { documents } = this.#environment;
    // Before the first write: a key that is refused must not leave half of the commit behind.
    const writes = Array.from(changes, ({ collection, tenant, id, value }) => ({
      key: keyOf(collection, tenant, id),
      value,
    })).filter(({ key, value }) => !isTooLong(key) || isPut(key, value));
    // All operations of one event turn are one LMDB transaction; the callback keeps them atomic in any case.
    await documents.batch(() => {
      for (const { key, value } of writes) {
        if (value === undefined) void documents.remove(key);
        else void documents.put(key, value);
      }
      if (position !== undefined) void documents.put(POSITION_KEY, String(position));
    });
  }

  position(): number {
    return Number(this.#environment.documents.get(POSITION_KEY) ?? 0);
  }
}

/** Below this length (in UTF-16 units) the encoding of lmdb's keys escapes U+0000 to U+0004 itself. */
const ESCAPED_BELOW = 64;

/**
 * The key with its escapes: unescaped, the control characters that the encoding uses would read back as the ends of
 * keys.
 */
function keyOf(collection: Collection, tenant: number, id: string): string {
  const key = `${CODES[collection]}${tenant}/${id}`;
  return key.length < ESCAPED_BELOW ? key : key.replace(KEY_CONTROLS, '\u0004$&');
}

/** @throws Error for a document that cannot be stored. @returns false where there is nothing to remove. */
function isPut(key: string, value: string | undefined): boolean {
  if (value !== undefined) throw new Error(`document key of ${Buffer.byteLength(key)} bytes; at most ${KEY_BYTES_MAX}`);
  return false;
}

/** UTF-8 has one to three bytes for each unit of a JavaScript string. */
const isTooLong = (key: string): boolean => key.length * 3 > KEY_BYTES_MAX && Buffer.byteLength(key) > KEY_BYTES_MAX;

/** Whether `a` does not come behind `b`. */
const inByteOrder = (a: string, b: string): boolean =>
  b.startsWith(a) || Buffer.compare(Buffer.from(a), Buffer.from(b)) <= 0;
