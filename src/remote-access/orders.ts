/** The operations by which devices are told to open a tunnel, and who may open one for a device. */
import { HistoryFilter, type DocumentRow } from '../history/filter.ts';
import { documentPage } from '../history/page.ts';
import { addParameters } from '../history/parameters.ts';
import type { ListReaders } from '../history/readers.ts';
import { mayAccess } from '../model/access/inventory-access.ts';
import type { Principal } from '../model/access/principal.ts';
import { SERIAL_TYPE } from '../model/access/serial-claim.ts';
import type { OperationCreate, OperationUpdate } from '../model/commands/entities.ts';
import { COMMAND } from '../model/commands/kinds.ts';
import { PROCESSING_MODE } from '../model/commands/processing-mode.ts';
import { splitMembers, stringMember, type Members } from '../model/documents/json-document.ts';
import { deviceUserOf, isDeviceUser } from '../model/entities/device-request.ts';
import { isOpenOperation } from '../model/entities/operation.ts';
import { CONNECT_FRAGMENT, connectOrderOf } from '../model/access/remote-access.ts';
import type { ConnectOrder } from '../model/access/remote-access.ts';
import { idText } from '../model/entities/entity-id.ts';
import { externalIdKey } from '../model/entities/external-id.ts';
import type { CommandPort } from '../ports/command-port.ts';
import type { HistoryReader } from '../ports/history-reader.ts';
import type { IdSource } from '../ports/id-source.ts';

/** Operations of a tenant that are looked through for a key: as many as come within the time that a key lives. */
const POSTED_MAX = 500;
const SERIALS_MAX = 100;
/** Operations that are read at once. */
const READ_AT_ONCE = 50;

export interface OrderParts extends Omit<ListReaders, 'tenant'> {
  readonly commands: CommandPort;
  readonly ids: Pick<IdSource, 'nextBesideInOrder'>;
  /** Milliseconds since 1970. */
  now(): number;
}

/** An operation by which a device is told to open a tunnel. */
export interface PostedOrder extends ConnectOrder {
  readonly device: string;
  readonly operationId: string;
}

export interface WantedOrder {
  readonly connectionKey: string;
  /** Older operations do not count. */
  readonly ageMs: number;
}

/** @returns the id of an operation that is to be created for the device. */
export async function newOrderId({ ids }: Pick<OrderParts, 'ids'>, tenant: number, device: string): Promise<string> {
  const [id] = await ids.nextBesideInOrder(tenant, [Number(device)]);
  return String(id);
}

/**
 * @throws PlatformError, for instance of a device without an agent. Where only the answer did not come, the operation is
 * created all the same.
 */
export async function placeOrder(
  parts: OrderParts,
  by: Pick<Principal, 'tenantNumber' | 'userName'>,
  { device, operationId, ...order }: PostedOrder,
): Promise<void> {
  const doc = JSON.stringify({
    description: `Remote access to ${order.hostname}:${order.port}`,
    [CONNECT_FRAGMENT]: order,
  });
  const body: OperationCreate = { id: operationId, doc, user: by.userName };
  await parts.commands.request({
    kind: COMMAND.OPERATION_CREATE,
    tenant: by.tenantNumber,
    key: Number(device),
    mode: PROCESSING_MODE.PERSISTENT,
    receivedAt: parts.now(),
    body,
  });
}

/** Has an operation fail that is still open: nothing will come of it. */
export async function failOrder(
  parts: OrderParts,
  by: Pick<Principal, 'tenantNumber' | 'userName'>,
  { device, operationId, reason }: { readonly device: string; readonly operationId: string; readonly reason: string },
): Promise<void> {
  const text = await parts.documents.get('operation', by.tenantNumber, operationId);
  if (text === undefined || !isOpenOperation(stringMember(splitMembers(text), 'status') ?? '')) return;
  const doc = JSON.stringify({ status: 'FAILED', failureReason: reason });
  const body: OperationUpdate = { id: operationId, doc, user: by.userName };
  await parts.commands.request({
    kind: COMMAND.OPERATION_UPDATE,
    tenant: by.tenantNumber,
    key: Number(device),
    mode: PROCESSING_MODE.PERSISTENT,
    receivedAt: parts.now(),
    body,
  });
}

/**
 * The newest open operation of a device with the key that is not older than `ageMs`, by the documents alone.
 * @returns undefined when there is none, or too many are open to be looked through.
 */
export async function findPostedOrderOf(
  { documents, now }: Pick<OrderParts, 'documents' | 'now'>,
  tenant: number,
  device: string,
  wanted: WantedOrder,
): Promise<PostedOrder | undefined> {
  for await (const order of openOrders(documents, tenant, device))
    if (order.connectionKey === wanted.connectionKey && order.createdAt >= now() - wanted.ageMs) return order;
  return undefined;
}

/**
 * PENDING operations of a device with a key of the server that is dead: the node of their clients was killed before it
 * had them fail.
 * @param keys how these keys begin, and the age at which none of them is good.
 */
export async function findDeadOrders(
  { documents, now }: Pick<OrderParts, 'documents' | 'now'>,
  tenant: number,
  device: string,
  keys: { readonly start: string; readonly ageMs: number },
): Promise<string[]> {
  const dead: string[] = [];
  for await (const order of openOrders(documents, tenant, device)) {
    const { operationId, connectionKey, status, createdAt } = order;
    if (status === 'PENDING' && connectionKey.startsWith(keys.start) && createdAt < now() - keys.ageMs)
      dead.push(operationId);
  }
  return dead;
}

interface OpenOrder extends PostedOrder {
  readonly status: string;
  readonly createdAt: number;
}

/** Of a device, by the documents alone, the newest first; the oldest `POSTED_MAX` of its open operations are looked at. */
async function* openOrders(
  documents: OrderParts['documents'],
  tenant: number,
  device: string,
): AsyncGenerator<OpenOrder> {
  const open = await documents.list('openOperation', tenant, `${device}\n`, { limit: POSTED_MAX });
  const ids = open.map(({ id }) => String(Number(id.slice(device.length + 1)))).reverse();
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const some = ids.slice(from, from + READ_AT_ONCE);
    for (const [index, doc] of (await documents.getMany('operation', tenant, some)).entries()) {
      const order = doc === undefined ? undefined : openOrder(some[index], doc);
      if (order !== undefined) yield order;
    }
  }
}

/** @returns undefined for another operation, and for one that is over. */
function openOrder(operationId: string, doc: string): OpenOrder | undefined {
  const members = splitMembers(doc);
  const order = connectOrderOf(members.get(CONNECT_FRAGMENT));
  const status = stringMember(members, 'status') ?? '';
  if (order === undefined || !isOpenOperation(status)) return undefined;
  const createdAt = Date.parse(stringMember(members, 'creationTime') ?? '');
  return { ...order, device: idText(members.get('deviceId')), operationId, status, createdAt };
}

/** The object with the serial number that the user was registered with. */
export async function deviceOfUser(
  { documents }: Pick<OrderParts, 'documents'>,
  { tenantNumber, userName }: DeviceUser,
): Promise<string | undefined> {
  if (!isDeviceUser(userName)) return undefined;
  const serial = userName.slice(deviceUserOf('').length);
  const bound = await documents.get('externalId', tenantNumber, externalIdKey(SERIAL_TYPE, serial));
  return bound === undefined ? undefined : (JSON.parse(bound) as { managedObject: string }).managedObject;
}

/** The newest open operation of any device with the key that is not older than `ageMs`, by a query of the history. */
export async function findPostedOrder(
  parts: OrderParts,
  asker: QueryUser,
  { connectionKey, ageMs }: WantedOrder,
): Promise<PostedOrder | undefined> {
  for (const { entityId, doc } of await ordersSince(parts, asker, ageMs)) {
    const order = openOrder(entityId, doc);
    if (order?.connectionKey === connectionKey) return order;
  }
  return undefined;
}

/** Why the device could not connect, where it set its newest operation with the key FAILED; by a query of the history. */
export async function findFailure(
  parts: OrderParts,
  asker: QueryUser,
  deviceId: string,
  { connectionKey, ageMs }: WantedOrder,
): Promise<string | undefined> {
  for (const { doc } of await ordersSince(parts, asker, ageMs, { deviceId })) {
    const operation = splitMembers(doc);
    if (hasKey(operation, connectionKey)) return failureOf(operation, connectionKey);
  }
  return undefined;
}

const hasKey = (operation: Members, connectionKey: string): boolean =>
  connectOrderOf(operation.get(CONNECT_FRAGMENT))?.connectionKey === connectionKey;

/** @param operation its members. @returns undefined unless it has the key and its device has set it FAILED. */
export function failureOf(operation: Members, connectionKey: string): string | undefined {
  if (stringMember(operation, 'status') !== 'FAILED') return undefined;
  if (!hasKey(operation, connectionKey)) return undefined;
  return stringMember(operation, 'failureReason') ?? 'no reason given';
}

type QueryUser = Pick<Principal, 'tenantNumber' | 'userName'>;

/** Operations by which devices are to open tunnels, the newest first. */
async function ordersSince(
  parts: OrderParts,
  { tenantNumber: tenant, userName: user }: QueryUser,
  ageMs: number,
  more: { readonly deviceId?: string } = {},
): Promise<readonly DocumentRow[]> {
  // Queries wait in the turn of the user who asks.
  const history: HistoryReader = {
    query: (statement) => parts.history.query(statement, { tenant, user }),
    stream: (statement, format) => parts.history.stream(statement, format),
  };
  const filter = addParameters(new HistoryFilter(tenant), 'operations', {
    fragmentType: CONNECT_FRAGMENT,
    dateFrom: parts.now() - ageMs,
    ...more,
  });
  const page = { size: POSTED_MAX, current: 1, offset: 0, wantsTotal: false };
  const { rows } = await documentPage(
    { ...parts, history, tenant },
    'operations',
    filter,
    { isDescending: true },
    page,
  );
  return rows;
}

/** Of a device's side: whose connection it is. */
export type DeviceUser = Pick<Principal, 'tenant' | 'tenantNumber' | 'userName' | 'ownRoles'>;

/**
 * Whether the user may take the device's side of a tunnel: its owner, a registered device above it that owns that, or
 * the user that was registered with the device's serial number.
 */
export async function mayServe(
  { documents }: Pick<OrderParts, 'documents'>,
  user: DeviceUser,
  device: string,
): Promise<boolean> {
  const { tenantNumber, userName } = user;
  const doc = await documents.get('managedObject', tenantNumber, device);
  if (doc === undefined) return false;
  // Inventory roles are for people: they do not make one the device.
  const principal: Principal = { ...user, roles: new Set() };
  if (await mayAccess(documents, principal, { id: device, doc }, { scope: 'OPERATION', permission: 'ADMIN' }))
    return true;
  const prefix = `${device}\n${SERIAL_TYPE}\n`;
  const serials = await documents.list('externalIdsOf', tenantNumber, prefix, { limit: SERIALS_MAX });
  return serials.some(({ id }) => deviceUserOf(id.slice(prefix.length)) === userName);
}
