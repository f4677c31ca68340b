/** The service of advanced software management: what is installed on a device (docs/spec/software.md#service). */
import Type from 'typebox';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { SoftwareChange, SoftwareChangeWay } from '../../model/commands/entities.ts';
import {
  compact,
  joinMembers,
  splitElements,
  splitMembers,
  stringMember,
} from '../../model/documents/json-document.ts';
import {
  SOFTWARE_LIMITS,
  SOFTWARE_LIST,
  softwareEntries,
  softwareListText,
  softwareText,
  type SoftwareEntry,
} from '../../model/entities/software.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Answer } from '../request/answer.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import {
  PAGE_PARAMETERS,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  collectionText,
  currentPageOf,
  pageOfSize,
} from '../request/paging.ts';
import { NO_CONTENT } from '../request/reply.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { text } from '../request/schema/query-parameters.ts';
import { loadManagedObject, mayReach } from '../lists/owner.ts';
import { INVENTORY_ADMIN, INVENTORY_READ } from '../../model/access/roles.ts';

const PATH = '/service/advanced-software-mgmt/software';
const NAME_LENGTH_MAX = 1_000;
/** Tries to change a list that is deleted at the same moment. */
const TRIES_MAX = 3;

const DEVICE = { deviceId: text('Id of the device; mandatory') };
const { currentPage, withTotalPages, withTotalElements } = PAGE_PARAMETERS;

const Package = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }),
    version: Type.String({ maxLength: NAME_LENGTH_MAX }),
    url: Type.Optional(Type.String()),
    softwareType: Type.Optional(Type.String({ maxLength: NAME_LENGTH_MAX })),
  },
  { additionalProperties: true },
);
const Packages = Type.Array(Package);
const List = Type.Object({ softwareList: Packages }, { additionalProperties: true });
const EXAMPLE = [{ name: 'nginx', version: '1.26.0', url: '', softwareType: 'apt' }];

function badRequest(name: string, value: string, limit: string): PlatformError {
  return new PlatformError('software/bad-request', { name, value, limit });
}

/** The device of the request. @throws PlatformError 400 without one, 403, 404. */
async function deviceOf(request: ApiRequest): Promise<string> {
  const device = request.query.text('deviceId');
  if (device === undefined) throw badRequest('deviceId', '', 'the id of a device');
  const doc = await loadManagedObject(request, device);
  if (!(await mayReach(request, device, doc))) throw new PlatformError('security/forbidden');
  return device;
}

/** What is stored as the device's list; none for a device without one. */
async function storedList({ platform: { documents }, tenant }: ApiRequest, device: string): Promise<SoftwareEntry[]> {
  const id = await documents.get('softwareList', tenant, device);
  const doc = id === undefined ? undefined : await documents.get('managedObject', tenant, id);
  return doc === undefined ? [] : softwareEntries(splitMembers(doc).get(SOFTWARE_LIST));
}

function pageSizeOf({ query }: ApiRequest): number {
  const size = query.integer('pageSize') ?? PAGE_SIZE_DEFAULT;
  if (size < 1 || size > PAGE_SIZE_MAX)
    throw badRequest('pageSize', query.text('pageSize') ?? '', `1 to ${PAGE_SIZE_MAX}`);
  return size;
}

async function list(request: ApiRequest): Promise<Answer> {
  const { query } = request;
  const page = pageOfSize(pageSizeOf(request), currentPageOf(query));
  const wanted = [
    ['name', query.text('name')],
    ['version', query.text('version')],
    ['softwareType', query.text('type')],
  ] as const;
  const found = (await storedList(request, await deviceOf(request))).filter((entry) =>
    wanted.every(([name, value]) => value === undefined || softwareText(entry, name) === value),
  );
  const items = found.slice(page.offset, page.offset + page.size).map(joinMembers);
  return {
    status: 200,
    contentType: JSON_TYPE,
    text: collectionText(request, page, { name: 'softwareList', items, total: found.length }),
  };
}

/** @throws PlatformError 400 for what is not JSON, 422 for anything but a list of packages. */
function sentPackages(request: ApiRequest, isVersionOptional: boolean): SoftwareEntry[] {
  const body = request.bodyText();
  try {
    JSON.parse(body);
  } catch {
    throw new PlatformError('general/bad-json', { reason: 'it is not valid JSON' });
  }
  const compacted = compact(body.trim());
  if (!compacted.startsWith('[')) throw invalid('body', compacted, 'a list of packages');
  return splitElements(compacted).map((element) => {
    if (!element.startsWith('{')) throw invalid('package', element, 'an object with name and version');
    return checked(splitMembers(element), isVersionOptional);
  });
}

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: 'inventory', name, value, limit });

/** With all members of a package, each a text. */
function checked(entry: SoftwareEntry, isVersionOptional: boolean): SoftwareEntry {
  for (const name of ['name', 'version', 'url', 'softwareType']) {
    const value = entry.get(name) ?? '""';
    const known = stringMember(entry, name) ?? (value === 'null' || value === '""' ? '' : undefined);
    if (known === undefined) throw invalid(name, value, 'a text');
    const isNeeded = name === 'name' || (name === 'version' && !isVersionOptional);
    if (isNeeded && known === '') throw invalid(name, known, 'a text that is not empty');
    if (known.length > NAME_LENGTH_MAX && name !== 'url')
      throw invalid(name, known, `at most ${NAME_LENGTH_MAX} characters`);
    entry.set(name, JSON.stringify(known));
  }
  return entry;
}

/** @returns the list as it is now. */
async function change(
  request: ApiRequest,
  how: SoftwareChangeWay,
  packages: readonly SoftwareEntry[],
): Promise<string> {
  const device = await deviceOf(request);
  const body: SoftwareChange = { steps: [{ how, packages: softwareListText(packages) }] };
  for (let tries = 1; ; tries += 1) {
    const id = await listOf(request, device);
    try {
      const { doc } = await request.command<{ doc: string }>(COMMAND.SOFTWARE_CHANGE, Number(id), body);
      return splitMembers(doc).get(SOFTWARE_LIST) ?? '[]';
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      const limit = SOFTWARE_LIMITS.find((name) => name === error.code);
      if (limit !== undefined) request.refused(limit);
      if (error.code !== 'inventory/not-found' || tries >= TRIES_MAX) throw error;
    }
  }
}

/** Id of the object that has the list, which is made when there is none. */
async function listOf(request: ApiRequest, device: string): Promise<string> {
  const { documents, ids } = request.platform;
  const known = await documents.get('softwareList', request.tenant, device);
  if (known !== undefined && (await documents.get('managedObject', request.tenant, known)) !== undefined) return known;
  const body = { id: String(ids.nextBeside(request.tenant, Number(device))) };
  return (await request.command<{ id: string }>(COMMAND.SOFTWARE_LIST_ENSURE, Number(device), body)).id;
}

const changed =
  (how: SoftwareChangeWay, status: number) =>
  async (request: ApiRequest): Promise<Answer> => ({
    status,
    contentType: JSON_TYPE,
    text: `{"softwareList":${await change(request, how, sentPackages(request, false))}}`,
  });

async function remove(request: ApiRequest): Promise<Answer> {
  const device = await deviceOf(request);
  const isAll = request.body.length === 0;
  const packages = isAll ? [] : sentPackages(request, true);
  if ((await storedList(request, device)).length > 0) await change(request, isAll ? 'set' : 'remove', packages);
  return NO_CONTENT;
}

export function softwareRoutes(): Route[] {
  const body = {
    form: 'bytes',
    contents: { 'application/json': { schema: Packages, example: EXAMPLE } },
  } as const;
  const common = { path: PATH, area: 'inventory', access: 'owner' } as const;
  const answer = (status: number, description: string) => [
    { status, description, contentTypes: ['application/json'], json: List, example: { softwareList: EXAMPLE } },
  ];
  return [
    {
      ...common,
      method: 'GET',
      roles: INVENTORY_READ,
      summary: 'What is installed on a device',
      query: {
        ...DEVICE,
        name: text('Exact name'),
        version: text('Exact version'),
        type: text('Exact kind of software'),
        pageSize: {
          schema: Type.Integer({ default: PAGE_SIZE_DEFAULT }),
          description: `Packages of a page, 1 to ${PAGE_SIZE_MAX}`,
        },
        currentPage,
        withTotalPages,
        withTotalElements,
      },
      produces: ['json', 'vendor'],
      answers: answer(200, 'A page of packages'),
      handle: list,
    },
    {
      ...common,
      method: 'POST',
      roles: INVENTORY_ADMIN,
      summary: 'Replace the list of what is installed on a device',
      query: DEVICE,
      body,
      produces: ['json', 'vendor'],
      answers: answer(201, 'The list'),
      handle: changed('set', 201),
    },
    {
      ...common,
      method: 'PUT',
      roles: INVENTORY_ADMIN,
      summary: 'Add packages to the list, each in the place of one of the same name and kind',
      query: DEVICE,
      body,
      produces: ['json', 'vendor'],
      answers: answer(200, 'The list'),
      handle: changed('add', 200),
    },
    {
      ...common,
      method: 'DELETE',
      roles: INVENTORY_ADMIN,
      summary: 'Remove packages from the list by name and version; without a body all of them',
      query: DEVICE,
      body: { ...body, isOptional: true },
      answers: [{ status: 204, description: 'Removed' }],
      handle: remove,
    },
  ];
}
