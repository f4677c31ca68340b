/**
 * Records of a tenant in byte order of their ids, read in steps: there may be a million of them, and other requests get
 * their turn in between.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DocumentReader } from '../ports/document-reader.ts';
import type { RecordCollection } from '../model/commands/collections.ts';
import { DEVICE_USER_PREFIX, isDeviceUser } from '../model/entities/device-request.ts';
import type { StoredRecord } from './records.ts';

/** Records that are read at once: each may have 100,000 bytes. */
const STEP = 250;
/** Not before any user of a device, but for names that no user has: those are left out one by one. */
const BEHIND_DEVICES = `${DEVICE_USER_PREFIX}\u{10ffff}`;

export interface Walk {
  readonly documents: DocumentReader;
  readonly tenant: number;
  /** Start of the ids. */
  readonly prefix?: string;
  /** Records up to this one were read already. */
  readonly after?: string | undefined;
}

/** Never an empty step. */
export async function* recordSteps(walk: Walk, collection: RecordCollection): AsyncGenerator<StoredRecord[]> {
  const { documents, tenant, prefix = '' } = walk;
  let { after } = walk;
  for (;;) {
    const rows = await documents.list(collection, tenant, prefix, {
      limit: STEP,
      ...(after === undefined ? {} : { after }),
    });
    if (rows.length > 0) yield rows;
    if (rows.length < STEP) return;
    after = rows[rows.length - 1].id;
    await nextTurn();
  }
}

/** Users that are no devices: a tenant has few of them, but its devices lie in between and are passed over. */
export async function* peopleSteps(walk: Walk): AsyncGenerator<StoredRecord[]> {
  const { documents, tenant, prefix = '' } = walk;
  if (isDeviceUser(prefix)) return;
  let { after } = walk;
  let isBehindDevices = false;
  for (;;) {
    const rows = await documents.list('user', tenant, prefix, {
      limit: STEP,
      ...(after === undefined ? {} : { after }),
    });
    const people = rows.filter(({ id }) => !isDeviceUser(id));
    if (people.length > 0) yield people;
    if (rows.length < STEP) return;
    const last = rows[rows.length - 1].id;
    after = isDeviceUser(last) && !isBehindDevices ? BEHIND_DEVICES : last;
    isBehindDevices ||= isDeviceUser(last);
    await nextTurn();
  }
}

export async function* deviceUserSteps(walk: Walk): AsyncGenerator<StoredRecord[]> {
  const { prefix = '' } = walk;
  if (isDeviceUser(prefix)) yield* recordSteps(walk, 'user');
  else if (DEVICE_USER_PREFIX.startsWith(prefix)) yield* recordSteps({ ...walk, prefix: DEVICE_USER_PREFIX }, 'user');
}
