/**
 * What a managed object has as a device: when it was last heard, and its user (docs/spec/inventory.md#single-objects).
 */
import Type from 'typebox';
import { JSON_TYPE } from '../http/media-types.ts';
import { Link, Timestamp } from '../../model/schema/parts.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { UserPut } from '../../model/commands/users.ts';
import type { AvailabilityState } from '../../model/entities/availability.ts';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { newestData } from '../../history/devices.ts';
import type { ApiRequest } from '../request/request.ts';
import { managedObjectUrl, quote } from '../entities/text.ts';
import { requireRightsOfDevice } from '../users/inventory-rights.ts';
import { INVENTORY_ADMIN, INVENTORY_READ } from '../../model/access/roles.ts';
import { requireReadable } from './managed-objects.ts';
import { loadManagedObject, requireOwner } from '../lists/owner.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { isDevice } from '../users/text.ts';
import * as schemas from '../../model/entities/body-schemas.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

const LastError = Type.Object({
  self: Link,
  time: Type.Optional(Timestamp),
  protocol: Type.Optional(Type.Enum(['smartrest', 'json', 'mqtt', 'rest'])),
  code: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
  count: Type.Integer({ minimum: 0 }),
});
const TEXT_TYPE = 'text/plain;charset=UTF-8';

/** Of a device that is not monitored, and was not heard since the start: the newest time of its data. */
async function lastData(request: ApiRequest, id: string): Promise<number | undefined> {
  const time = await newestData(request.history, request.tenant, id);
  // No data is 0 there; data of the future tells nothing about when the device was heard.
  return time > 0 ? Math.min(time, request.platform.now()) : undefined;
}

async function lastMessage(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  const doc = await loadManagedObject(request, id);
  await requireReadable(request, doc);
  const members = splitMembers(doc);
  if (!members.has('c8y_IsDevice')) throw new PlatformError('inventory/no-device', { id });
  const { platform, tenant } = request;
  const [stored, heard = 0] = await Promise.all([
    platform.documents.get('availability', tenant, id),
    platform.availability.lastHeard(Number(id)),
  ]);
  const known = Math.max(stored === undefined ? 0 : (JSON.parse(stored) as AvailabilityState).lastMessage, heard);
  const time = known > 0 ? known : await lastData(request, id);
  const text = time === undefined ? (stringMember(members, 'creationTime') ?? '') : formatTime(time);
  return { status: 200, contentType: TEXT_TYPE, text };
}

/** Of a device that has made no error that is remembered: a count of 0. */
async function lastError(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  await requireReadable(request, await loadManagedObject(request, id));
  const last = request.platform.deviceErrors?.last(request.tenant, Number(id));
  const { time, ...error } = last ?? { time: undefined, count: 0 };
  const self = `${managedObjectUrl(request, id)}/lastError`;
  const text = JSON.stringify({ self, ...(time === undefined ? {} : { time: formatTime(time) }), ...error });
  return { status: 200, contentType: JSON_TYPE, text };
}

/** @throws PlatformError 404 for objects that no device user owns: other users are not managed here. */
function deviceUser(members: Members): string {
  const owner = stringMember(members, 'owner') ?? '';
  if (!isDevice(owner)) throw new PlatformError('users/not-found', { id: owner });
  return owner;
}

async function userText(request: ApiRequest, userName: string): Promise<string> {
  const stored = await request.platform.documents.get('user', request.tenant, userName);
  if (stored === undefined) throw new PlatformError('users/not-found', { id: userName });
  const { enabled } = JSON.parse(stored) as { enabled: boolean };
  return `{"self":${quote(`${managedObjectUrl(request, request.params['id'])}/user`)},"userName":${quote(userName)},"enabled":${enabled}}`;
}

/** Of any owner, a person too: who reads the object sees the name anyway. */
async function getUser(request: ApiRequest): Promise<Answer> {
  const doc = await loadManagedObject(request, request.params['id']);
  await requireReadable(request, doc);
  return found('managedObjectUser', await userText(request, stringMember(splitMembers(doc), 'owner') ?? ''));
}

async function putUser(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  const doc = await loadManagedObject(request, id);
  await requireOwner(request, id);
  const userName = deviceUser(splitMembers(doc));
  // Exists, else 404.
  await userText(request, userName);
  const enabled = request.members().get('enabled');
  if (enabled !== undefined) {
    await requireRightsOfDevice(request, userName);
    const body: UserPut = { userName, enabled: enabled === 'true', mustExist: true, by: request.principal.userName };
    await request.command(COMMAND.USER_PUT, TENANT_KEY, body);
  }
  return found('managedObjectUser', await userText(request, userName));
}

export function managedObjectDeviceRoutes(): Route[] {
  const area = 'inventory';
  const path = '/inventory/managedObjects/{id}';
  const user = [{ status: 200, description: 'The user of the device', mediaType: 'managedObjectUser' }];
  return [
    {
      method: 'GET',
      path: `${path}/availability`,
      area,
      access: 'owner',
      roles: INVENTORY_READ,
      summary: 'When the device was last seen',
      produces: ['text', 'vendor', 'json'],
      answers: [
        {
          status: 200,
          description: 'ISO 8601 timestamp',
          contentTypes: ['text/plain'],
          example: '2024-05-02T10:00:00.000Z',
        },
      ],
      handle: lastMessage,
    },
    {
      method: 'GET',
      path: `${path}/lastError`,
      area,
      access: 'owner',
      roles: INVENTORY_READ,
      summary:
        'The last error that the device made: a row of SmartREST, a JSON message, a refused publish, a refused request that writes',
      answers: [
        {
          status: 200,
          description: 'The error, as long as it is remembered; a count of 0 without one',
          contentTypes: ['application/json'],
          json: LastError,
          example: {
            self: 'https://example.com/inventory/managedObjects/251/lastError',
            time: '2024-05-02T10:00:00.000Z',
            protocol: 'smartrest',
            code: '41',
            message: 'Nothing is published on the topic s/ux',
            count: 3,
          },
        },
      ],
      handle: lastError,
    },
    {
      method: 'GET',
      path: `${path}/user`,
      area,
      access: 'owner',
      roles: INVENTORY_READ,
      summary: 'Read the user that owns the object, of a device its own',
      answers: user,
      handle: getUser,
    },
    {
      method: 'PUT',
      path: `${path}/user`,
      area,
      access: 'owner',
      roles: INVENTORY_ADMIN,
      summary: 'Enable or disable the user of the device',
      body: { schema: schemas.ManagedObjectUser, mediaTypes: ['managedObjectUser'], example: { enabled: false } },
      answers: user,
      handle: putUser,
    },
  ];
}
