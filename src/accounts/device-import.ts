/** Registers the devices of a file, line by line (document 4 section 4.4). A line may be repeated: it ends what an earlier try began. */
import { COMMAND } from '../model/command.ts';
import type { ActorKey, CommandKind, DeviceEnsure, ExternalIdBind, HistoryReader, IdSource, ManagedObjectCreate } from '../model/command.ts';
import { DEVICE_ID_RULE, isDeviceId } from '../model/device-request.ts';
import { PlatformError } from '../model/errors.ts';
import { isAllowedPassword, PASSWORD_RULE } from '../model/password.ts';
import { PROCESSING_MODE } from '../model/processing-mode.ts';
import { RegistrationFault } from '../model/registration-columns.ts';
import type { RegistrationLine } from '../model/registration-columns.ts';
import { DeviceRegistration } from './device-registration.ts';
import type { RegistrationParts } from './device-registration.ts';

export type ImportStatus = 'CREATED' | 'CREDENTIAL_UPDATED';

export interface ImportParts extends RegistrationParts {
  readonly ids: IdSource;
  readonly history: HistoryReader;
}

export interface ImportOptions {
  /** Number of the tenant of the devices. */
  readonly tenant: number;
  /** User who registers them. */
  readonly by: string;
}

const TENANT_KEY = 't';
/** Keys of external IDs have a limit. */
const EXTERNAL_ID_BYTES_MAX = 1_500;

export class DeviceImport {
  readonly #parts: ImportParts;
  readonly #registration: DeviceRegistration;
  /** Groups by tenant and path: lines of one file that are under way at once make a group once. */
  readonly #groups = new Map<string, Promise<string>>();

  constructor(parts: ImportParts) {
    this.#parts = parts;
    this.#registration = new DeviceRegistration(parts);
  }

  /** Announces a device. @throws PlatformError 422 when it is announced already. */
  async announce(line: RegistrationLine, { tenant, by }: ImportOptions): Promise<ImportStatus> {
    if (!isDeviceId(line.id)) throw new RegistrationFault(`ID takes ${DEVICE_ID_RULE}`);
    const groupId = await this.#group(line.path, tenant, by);
    await this.#registration.create(tenant, { id: line.id, owner: by, ...(groupId === undefined ? {} : { groupId }) }, { user: by });
    return 'CREATED';
  }

  /** Makes user, object and external IDs of a device; one that is there gets its credentials replaced. */
  async register(line: RegistrationLine, { tenant, by }: ImportOptions): Promise<ImportStatus> {
    const { id, password, idType } = line;
    if (!isDeviceId(id)) throw new RegistrationFault(`ID takes ${DEVICE_ID_RULE}`);
    if (password !== undefined && !isAllowedPassword(password)) throw new RegistrationFault(`CREDENTIALS takes ${PASSWORD_RULE}`);
    for (const { type, externalId } of [{ type: idType, externalId: id }, ...line.externalIds]) {
      if (/[\n\r]/.test(type + externalId) || Buffer.byteLength(type + externalId) > EXTERNAL_ID_BYTES_MAX) {
        throw new RegistrationFault(`an external ID takes one line of at most ${EXTERNAL_ID_BYTES_MAX} bytes with its type`);
      }
    }
    const groupId = await this.#group(line.path, tenant, by);
    const user = await this.#registration.userOf(tenant, id, { password, by });
    await this.#command(COMMAND.USER_PUT, tenant, TENANT_KEY, user);
    const device: DeviceEnsure = {
      type: idType, externalId: id, id: String(this.#parts.ids.next()), owner: user.userName, doc: line.doc,
      ...(groupId === undefined ? {} : { parent: { id: groupId, kind: 'childAssets' as const } }),
    };
    const made = await this.#command<{ id: string; created: boolean }>(COMMAND.DEVICE_ENSURE, tenant, `x:${idType}\n${id}`, device);
    for (const { type, externalId } of line.externalIds) await this.#bind(tenant, { type, externalId, managedObject: made.id });
    return made.created ? 'CREATED' : 'CREDENTIAL_UPDATED';
  }

  async #bind(tenant: number, body: ExternalIdBind): Promise<void> {
    const key = `${body.type}\n${body.externalId}`;
    try {
      await this.#command(COMMAND.EXTERNAL_ID_BIND, tenant, `x:${key}`, body);
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'identity/duplicate') throw error;
      const bound = await this.#parts.documents.get('externalId', tenant, key);
      if (bound === undefined || (JSON.parse(bound) as { managedObject: string }).managedObject !== body.managedObject) throw error;
    }
  }

  /** The last group of a path; what is missing of it is made. */
  async #group(path: readonly string[], tenant: number, owner: string): Promise<string | undefined> {
    let group: string | undefined;
    for (let length = 1; length <= path.length; length += 1) {
      const key = JSON.stringify([tenant, ...path.slice(0, length)]);
      const parent = group;
      let known = this.#groups.get(key);
      if (known === undefined) {
        known = this.#findOrMakeGroup(path[length - 1], parent, tenant, owner);
        this.#groups.set(key, known);
        // A later line tries again.
        known.catch(() => { this.#groups.delete(key); });
      }
      group = await known;
    }
    return group;
  }

  async #findOrMakeGroup(name: string, parent: string | undefined, tenant: number, owner: string): Promise<string> {
    const place = parent === undefined ? "type = 'c8y_DeviceGroup'" : 'has(parents, {parent:UInt64})';
    const sql = `SELECT toString(id) AS groupId FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND name = {name:String} AND ${place} `
      + "AND has(fragments, 'c8y_IsDeviceGroup') ORDER BY id LIMIT 1";
    const [found] = await this.#parts.history.query<{ groupId: string }>(sql, { tenant, name, ...(parent === undefined ? {} : { parent: Number(parent) }) });
    if (found !== undefined) return found.groupId;
    const id = String(this.#parts.ids.next());
    const body: ManagedObjectCreate = {
      id, owner, doc: JSON.stringify({ name, type: parent === undefined ? 'c8y_DeviceGroup' : 'c8y_DeviceSubGroup', c8y_IsDeviceGroup: {} }),
      ...(parent === undefined ? {} : { parent: { id: parent, kind: 'childAssets' as const } }),
    };
    await this.#command(COMMAND.MANAGED_OBJECT_CREATE, tenant, Number(id), body);
    return id;
  }

  #command<Answer>(kind: CommandKind, tenant: number, key: ActorKey, body: object): Promise<Answer> {
    return this.#parts.commands.request<Answer>({ kind, tenant, key, mode: PROCESSING_MODE.PERSISTENT, receivedAt: this.#parts.now(), body });
  }
}
