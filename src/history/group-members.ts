/**
 * The devices of a group: of a static one everything below it, of a dynamic one what its query finds now
 * (docs/spec/inventory.md#groups).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BULK_DEVICES_MAX } from '../model/entities/bulk-operation.ts';
import type { StoredBulkOperation } from '../model/entities/bulk-operation.ts';
import type { DocumentReader } from '../ports/document-reader.ts';
import type { HistoryReader } from '../ports/history-reader.ts';
import { splitMembers, stringMember } from '../model/documents/json-document.ts';
import type { Members } from '../model/documents/json-document.ts';
import { HistoryFilter } from './filter.ts';
import { lookUpHierarchy } from './inventory-query/hierarchy.ts';
import { parseInventoryQuery } from './inventory-query/parser.ts';
import { QueryCompiler } from './inventory-query/sql.ts';
import { DEVICE_MARKER } from './objects-below.ts';

const DYNAMIC_TYPE = 'c8y_DynamicGroup';
/** Members of a group, and devices that are linked to an asset (docs/spec/inventory.md#groups). */
const MEMBER_LINKS = ['childAssets', 'childDevices'] as const;
/** Groups and assets below one group. */
const NODES_MAX = 100_000;
/** Objects that are read at once; after as many the event loop has a turn, since a store may answer at once. */
const PAGE = 1_000;
/** Lists of links after which the event loop has a turn. */
const LISTS_A_TURN = 100;

export interface GroupReaders {
  readonly tenant: number;
  readonly documents: DocumentReader;
  readonly history: HistoryReader;
}

/** The group is not there, or its devices cannot be told. */
export class GroupError extends Error {}
/** More devices than the caller takes. */
export class GroupTooLarge extends GroupError {}

/**
 * Ids of the devices, ascending. Child devices of devices are none of them.
 * @throws GroupError; PlatformError `inventory/invalid-query` for a dynamic group whose query is none.
 */
export async function devicesOfGroup(readers: GroupReaders, groupId: string, devicesMax: number): Promise<string[]> {
  const text = await readers.documents.get('managedObject', readers.tenant, groupId);
  if (text === undefined) throw new GroupError('does not exist');
  const members = splitMembers(text);
  const isDynamic = stringMember(members, 'type') === DYNAMIC_TYPE || members.has('c8y_IsDynamicGroup');
  const devices = isDynamic
    ? await devicesOfQuery(readers, members, devicesMax)
    : await devicesBelow(readers, groupId, devicesMax);
  return devices.sort((one, other) => Number(one) - Number(other));
}

/**
 * Ids of the devices that a bulk operation is for: of its group, or those where the operation of another one has
 * FAILED. @throws as devicesOfGroup.
 */
export async function bulkTargets(
  readers: GroupReaders,
  { groupId, failedParentId }: Pick<StoredBulkOperation, 'groupId' | 'failedParentId'>,
): Promise<string[]> {
  if (groupId !== undefined) return devicesOfGroup(readers, groupId, BULK_DEVICES_MAX);
  const sql =
    'SELECT DISTINCT toString(source) AS deviceId FROM operations FINAL WHERE tenant = {tenant:UInt32} AND bulk = {bulk:UInt64} ' +
    "AND status = 'FAILED' ORDER BY deviceId LIMIT {limit:UInt32}";
  const params = { bulk: Number(failedParentId), limit: BULK_DEVICES_MAX + 1 };
  const { tenant } = readers;
  const rows = await readers.history.query<{ deviceId: string }>({ sql, params, tables: ['operations'], tenant });
  if (rows.length > BULK_DEVICES_MAX) throw new GroupTooLarge(`has more than ${BULK_DEVICES_MAX} failed devices`);
  return rows.map(({ deviceId }) => deviceId);
}

const tooLarge = (devicesMax: number): GroupTooLarge => new GroupTooLarge(`has more than ${devicesMax} devices`);

async function devicesBelow(
  { tenant, documents }: GroupReaders,
  groupId: string,
  devicesMax: number,
): Promise<string[]> {
  const devices: string[] = [];
  const reached = new Set([groupId]);
  let open = [groupId];
  let lists = 0;
  while (open.length > 0) {
    const found: string[] = [];
    for (const node of open) {
      for (const kind of MEMBER_LINKS) {
        if (++lists % LISTS_A_TURN === 0) await nextTurn();
        for await (const child of childrenOf(documents, tenant, `${node}\n${kind}\n`)) {
          if (reached.has(child)) continue;
          if (reached.size > devicesMax + NODES_MAX) throw tooLarge(devicesMax);
          reached.add(child);
          found.push(child);
        }
      }
    }
    open = [];
    for (let from = 0; from < found.length; from += PAGE) {
      const ids = found.slice(from, from + PAGE);
      const texts = await documents.getMany('managedObject', tenant, ids);
      texts.forEach((text, index) => {
        if (text === undefined) return;
        if (splitMembers(text).has(DEVICE_MARKER)) devices.push(ids[index]);
        else open.push(ids[index]);
      });
      if (devices.length > devicesMax) throw tooLarge(devicesMax);
      await nextTurn();
    }
  }
  return devices;
}

async function* childrenOf(documents: DocumentReader, tenant: number, prefix: string): AsyncIterable<string> {
  for (let after: string | undefined; ; ) {
    const page = await documents.list(
      'children',
      tenant,
      prefix,
      after === undefined ? { limit: PAGE } : { after, limit: PAGE },
    );
    for (const { id } of page) yield id.slice(prefix.length);
    if (page.length < PAGE) return;
    await nextTurn();
    after = page[page.length - 1].id;
  }
}

async function devicesOfQuery(readers: GroupReaders, group: Members, devicesMax: number): Promise<string[]> {
  const query = stringMember(group, 'c8y_DeviceQueryString');
  if (query === undefined) throw new GroupError('is a dynamic group without c8y_DeviceQueryString');
  const { filter } = parseInventoryQuery(query);
  const devices = new HistoryFilter(readers.tenant).fragment(DEVICE_MARKER);
  const conditions = await lookUpHierarchy(filter, readers, devices);
  if (filter !== undefined) devices.add(new QueryCompiler(devices, { conditions }).condition(filter));
  const sql =
    `SELECT toString(id) AS deviceId FROM managed_objects FINAL WHERE ${devices.where} ` +
    `ORDER BY id LIMIT ${devices.bind('UInt32', devicesMax + 1)}`;
  const rows = await readers.history.query<{ deviceId: string }>(devices.statement(['managed_objects'], sql));
  if (rows.length > devicesMax) throw tooLarge(devicesMax);
  return rows.map(({ deviceId }) => deviceId);
}
