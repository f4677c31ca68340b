/** Registration of new devices over REST (docs/spec/device-registration.md). */
import { DeviceRegistration } from '../../accounts/registration/registration.ts';
import {
  CUSTOM_PROPERTIES_BYTES_MAX,
  deviceUserOf,
  REQUEST_TYPE_BYTES_MAX,
} from '../../model/entities/device-request.ts';
import type { StoredDeviceRequest } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import { globalRolesFor } from '../../model/access/inventory-grant.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { BOOTSTRAP_ROLE } from '../../model/access/roles.ts';
import type { ApiRequest } from '../request/request.ts';
import { countDevices } from '../../history/devices.ts';
import { idText, isEntityId } from '../../model/entities/entity-id.ts';
import { segment } from '../entities/text.ts';
import { requireRightsOfDevice } from '../users/inventory-rights.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from '../../model/entities/body-schemas.ts';

const AREA = 'devicecontrol';
const READ = ['ROLE_DEVICE_CONTROL_READ'];
const ADMIN = ['ROLE_DEVICE_CONTROL_ADMIN'];
const DELETE = ['ROLE_USER_MANAGEMENT_ADMIN', ...ADMIN];

const registrationOf = (request: ApiRequest): DeviceRegistration => new DeviceRegistration(request.platform);
const requestUrl = (request: ApiRequest, id: string): string =>
  `${request.baseUrl}/devicecontrol/newDeviceRequests/${segment(id)}`;

/** The security token is left out: who accepts a device has read it from the device. */
function requestText(request: ApiRequest, stored: StoredDeviceRequest): string {
  const { id, status, owner, createdAt, customProperties = '{}', groupId = null, type = null } = stored;
  const tenantId = request.platform.tenants.byNumber(stored.tenant)?.id ?? '';
  const head = JSON.stringify({
    id,
    status,
    self: requestUrl(request, id),
    owner,
    creationTime: formatTime(createdAt),
    tenantId,
  });
  return `${head.slice(0, -1)},"customProperties":${customProperties},"groupId":${JSON.stringify(groupId)},"type":${JSON.stringify(type)}}`;
}

/** An id that a client sends as text or as number; empty and null are none. */
function optionalId(members: Members, name: string): string | undefined {
  const value = members.get(name);
  const text = value === undefined || value === 'null' ? '' : idText(value);
  return text === '' ? undefined : text;
}

async function requireGroup(request: ApiRequest, groupId: string | undefined): Promise<void> {
  if (groupId === undefined) return;
  const exists =
    isEntityId(groupId) &&
    (await request.platform.documents.get('managedObject', request.tenant, groupId)) !== undefined;
  if (!exists) throw new PlatformError('source/not-found', { area: AREA, id: groupId });
}

/** @throws PlatformError 422. */
function requireShort(request: ApiRequest, name: string, text: string | undefined, bytesMax: number): void {
  const bytes = Buffer.byteLength(text ?? '');
  if (bytes <= bytesMax) return;
  request.refused(`device-registration/${name}`);
  throw new PlatformError('validation/invalid-field', {
    area: AREA,
    name,
    value: `${bytes} bytes`,
    limit: `at most ${bytesMax} bytes`,
  });
}

async function post(request: ApiRequest): Promise<Answer> {
  const members = request.members();
  const groupId = optionalId(members, 'groupId');
  await requireGroup(request, groupId);
  const type = stringMember(members, 'type');
  const customProperties = members.get('customProperties');
  requireShort(request, 'type', type, REQUEST_TYPE_BYTES_MAX);
  requireShort(request, 'customProperties', customProperties, CUSTOM_PROPERTIES_BYTES_MAX);
  const stored = await registrationOf(request).create(
    request.tenant,
    {
      id: idText(members.get('id')),
      owner: request.principal.userName,
      ...(groupId === undefined ? {} : { groupId }),
      ...(type === undefined || type === '' ? {} : { type }),
      ...(customProperties === undefined || customProperties === 'null' ? {} : { customProperties }),
    },
    request.askedBy,
  );
  return created('newDeviceRequest', requestText(request, stored), requestUrl(request, stored.id));
}

async function list(request: ApiRequest): Promise<Answer> {
  const page = pageOf(request);
  const { requests, isFull, total } = await registrationOf(request).page(request.tenant, page);
  const items = requests.map((stored) => requestText(request, stored));
  return found(
    'newDeviceRequestCollection',
    collectionText(request, page, { name: 'newDeviceRequests', items, isFull, total }),
  );
}

async function get(request: ApiRequest): Promise<Answer> {
  return found(
    'newDeviceRequest',
    requestText(request, await registrationOf(request).get(request.tenant, request.params['id'])),
  );
}

/**
 * Who accepts a device that has a user already gives that user's rights to the client that polls. @throws PlatformError
 * 403 when he lacks them.
 */
async function accepted(request: ApiRequest, id: string, token: string | undefined): Promise<StoredDeviceRequest> {
  await requireRightsOfDevice(request, deviceUserOf(id));
  const mayTakeOver = request.hasRole(...globalRolesFor({ scope: 'MANAGED_OBJECT', permission: 'ADMIN' }));
  return registrationOf(request).accept(request.tenant, id, { token, mayTakeOver, by: request.askedBy });
}

async function put(request: ApiRequest): Promise<Answer> {
  const stored = await registrationOf(request).get(request.tenant, request.params['id']);
  return found(
    'newDeviceRequest',
    requestText(request, await accepted(request, stored.id, stringMember(request.members(), 'securityToken'))),
  );
}

async function remove(request: ApiRequest): Promise<Answer> {
  await registrationOf(request).delete(request.tenant, request.params['id'], request.askedBy);
  return NO_CONTENT;
}

/** What `@c8y/client` calls `acceptAll`: each that waits for it, with what became of it. */
async function acceptAll(request: ApiRequest): Promise<Answer> {
  const registration = registrationOf(request);
  const results: { id: string; successful: boolean; error?: string }[] = [];
  for await (const { id, status } of registration.all(request.tenant)) {
    if (status !== 'PENDING_ACCEPTANCE') continue;
    try {
      await accepted(request, id, undefined);
      results.push({ id, successful: true });
    } catch (error) {
      if (!(error instanceof PlatformError) || error.status >= 500) throw error;
      results.push({ id, successful: false, error: error.message });
    }
  }
  return { status: 200, text: JSON.stringify(results), mediaType: 'newDeviceRequestAcceptance' };
}

/** Devices are not limited; their number is told all the same. */
async function limit(request: ApiRequest): Promise<Answer> {
  const deviceCount = await countDevices(request.history, request.tenant);
  return found('newDeviceRequestLimit', JSON.stringify({ isReached: false, deviceCount }));
}

async function credentials(request: ApiRequest): Promise<Answer> {
  const members = request.members();
  const id = idText(members.get('id'));
  const issued = await registrationOf(request).poll(id, stringMember(members, 'securityToken'));
  if (issued === undefined) throw new PlatformError('devicecontrol/request-not-found', { id });
  const { tenantId, userName, password } = issued;
  const self = `${request.baseUrl}/devicecontrol/deviceCredentials/${segment(id)}`;
  // Nothing but the body is of use here, and it comes only once: it is sent without an Accept header too.
  if (!request.wantsBody) request.accept = { isPresent: true, isBranded: false, order: [] };
  const parts = { id, self, tenantId, username: userName, password };
  return found('deviceCredentials', JSON.stringify(parts));
}

export function deviceRegistrationRoutes(): Route[] {
  const path = '/devicecontrol/newDeviceRequests';
  const one = [{ status: 200, description: 'The request of the device', mediaType: 'newDeviceRequest' }];
  return [
    {
      method: 'GET',
      path,
      area: AREA,
      access: 'roles',
      roles: READ,
      summary: 'List new devices that are expected, by id',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of requests', mediaType: 'newDeviceRequestCollection' }],
      handle: list,
    },
    {
      method: 'POST',
      path,
      area: AREA,
      access: 'roles',
      roles: ADMIN,
      summary: 'Announce a new device',
      body: {
        schema: schemas.NewDeviceRequest,
        mediaTypes: ['newDeviceRequest'],
        example: { id: '4711', groupId: '251' },
      },
      answers: [{ status: 201, description: 'Announced', mediaType: 'newDeviceRequest' }],
      handle: post,
    },
    {
      method: 'POST',
      path: `${path}/acceptAll`,
      area: AREA,
      access: 'roles',
      roles: ADMIN,
      summary: 'Accept all devices that have asked for credentials, but for those with a security token',
      answers: [{ status: 200, description: 'What became of each', mediaType: 'newDeviceRequestAcceptance' }],
      handle: acceptAll,
    },
    {
      method: 'GET',
      path: `${path}/limit`,
      area: AREA,
      access: 'roles',
      roles: READ,
      summary: 'Whether more devices can be registered',
      answers: [
        {
          status: 200,
          description: 'The limit, which there is none, and the number of devices',
          mediaType: 'newDeviceRequestLimit',
        },
      ],
      handle: limit,
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      area: AREA,
      access: 'roles',
      roles: READ,
      summary: 'Read the request of a new device',
      answers: one,
      handle: get,
    },
    {
      method: 'PUT',
      path: `${path}/{id}`,
      area: AREA,
      access: 'roles',
      roles: ADMIN,
      summary: 'Accept a new device that has asked for credentials',
      body: {
        schema: schemas.NewDeviceRequestUpdate,
        mediaTypes: ['newDeviceRequest'],
        example: { status: 'ACCEPTED', securityToken: 'as shown by the device' },
      },
      answers: one,
      handle: put,
    },
    {
      method: 'DELETE',
      path: `${path}/{id}`,
      area: AREA,
      access: 'roles',
      roles: DELETE,
      summary: 'Delete the request of a new device',
      answers: [{ status: 204, description: 'Deleted' }],
      handle: remove,
    },
    {
      method: 'POST',
      path: '/devicecontrol/deviceCredentials',
      area: AREA,
      access: 'roles',
      roles: [BOOTSTRAP_ROLE],
      summary: 'Ask for credentials, as a new device with those of the bootstrap user: 404 until it is accepted',
      body: { schema: schemas.DeviceCredentials, mediaTypes: ['deviceCredentials'], example: { id: '4711' } },
      answers: [{ status: 200, description: 'The credentials, once', mediaType: 'deviceCredentials' }],
      handle: credentials,
    },
  ];
}
