/**
 * Registers the devices of a file, line by line (docs/spec/device-registration.md#files). What a line would meet is
 * looked at before anything is written, and the credentials come last: a line that fails leaves a device in the field
 * as it is. A line may be repeated: it ends what an earlier try began.
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { ActorKey } from '../../model/commands/command.ts';
import type { CommandKind } from '../../model/commands/kinds.ts';
import type { DeviceEnsure, ExternalIdBind } from '../../model/commands/external-ids.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { UserPut } from '../../model/commands/users.ts';
import { DEVICE_ID_RULE, deviceUserOf, isDeviceId } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import { requireExternalId } from '../../model/entities/external-id.ts';
import { isAllowedPassword, PASSWORD_RULE } from '../../model/access/password.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { registrable, RegistrationFault } from '../../model/entities/registration-columns.ts';
import type { RegistrationLine } from '../../model/entities/registration-columns.ts';
import { DeviceGroups } from './groups.ts';
import { DeviceRegistration } from './registration.ts';
import type { RegistrationParts } from './registration.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

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
  /** @throws PlatformError `security/forbidden` when who registers may not take over this user. */
  requireRightsOf(userName: string): Promise<void>;
  /** Whether who registers may change the owner of any object: one that is another's becomes the device's. */
  readonly mayTakeOver: boolean;
}

/** Passwords of one file that are hashed, or wait for it, at once. */
const HASHED_AT_ONCE = 3;

export class DeviceImport {
  readonly #parts: ImportParts;
  readonly #registration: DeviceRegistration;
  readonly #groups: DeviceGroups;
  /** Each hash waits for the one that was begun three before. */
  readonly #hashing: Promise<unknown>[] = Array.from({ length: HASHED_AT_ONCE }, () => Promise.resolve());
  #hashes = 0;

  constructor(parts: ImportParts) {
    this.#parts = parts;
    this.#registration = new DeviceRegistration(parts);
    this.#groups = new DeviceGroups(parts);
  }

  /**
   * Announces a device; a repetition by the same user succeeds. @throws PlatformError 422 when it is announced
   * otherwise.
   */
  async announce(line: RegistrationLine, { tenant, by }: ImportOptions): Promise<ImportStatus> {
    const { id } = line;
    if (!isDeviceId(id)) throw new RegistrationFault(`ID takes ${DEVICE_ID_RULE}`);
    const groupId = await this.#groups.last(line.path, tenant, by);
    const wanted = { id, owner: by, ...(groupId === undefined ? {} : { groupId }) };
    try {
      await this.#registration.create(tenant, wanted, { user: by });
    } catch (error) {
      const isDuplicate = error instanceof PlatformError && error.code === 'devicecontrol/request-duplicate';
      if (!isDuplicate || !(await this.#registration.isWaiting(tenant, wanted))) throw error;
    }
    return 'CREATED';
  }

  /** Makes object, external IDs and user of a device; one that is there gets its credentials replaced. */
  async register(line: RegistrationLine, options: ImportOptions): Promise<ImportStatus> {
    const { id, password, idType } = line;
    const { tenant, by } = options;
    requireForm(line);
    const userName = deviceUserOf(id);
    await requireRights(options, userName);
    const taken = await this.#requireOwnIds(line, options);
    const groupId = await this.#groups.last(line.path, tenant, by);
    if (taken !== undefined) await this.#registration.handOver(tenant, taken.managedObject, { id, from: taken.owner });
    const device: DeviceEnsure = {
      type: idType,
      externalId: id,
      id: String(this.#parts.ids.next()),
      owner: userName,
      mustOwn: true,
      doc: line.doc,
      ...(groupId === undefined ? {} : { parent: { id: groupId, kind: 'childAssets' as const } }),
    };
    const made = await this.#command<{ id: string; created: boolean }>(
      COMMAND.DEVICE_ENSURE,
      tenant,
      `x:${idType}\n${id}`,
      device,
    );
    for (const { type, externalId } of line.externalIds)
      await this.#bind(tenant, { type, externalId, managedObject: made.id });
    const isKnown = (await this.#parts.documents.get('user', tenant, userName)) !== undefined;
    await this.#command(COMMAND.USER_PUT, tenant, TENANT_KEY, await this.#userOf(tenant, id, password, by));
    return made.created || !isKnown ? 'CREATED' : 'CREDENTIAL_UPDATED';
  }

  #userOf(tenant: number, id: string, password: string | undefined, by: string): Promise<UserPut> {
    const make = (): Promise<UserPut> => this.#registration.userOf(tenant, id, { password, by });
    if (password === undefined) return make();
    const place = this.#hashes % HASHED_AT_ONCE;
    this.#hashes += 1;
    const user = this.#hashing[place].then(make);
    // Whether it failed is told to its line.
    this.#hashing[place] = user.catch(() => undefined);
    return user;
  }

  /**
   * @returns the object of the device that has another owner, and that owner, if it may be taken over.
   * @throws PlatformError when the device's own external ID or another one belongs to another object.
   */
  async #requireOwnIds(
    { id, idType, externalIds }: RegistrationLine,
    { tenant, mayTakeOver }: ImportOptions,
  ): Promise<{ managedObject: string; owner: string } | undefined> {
    const { documents } = this.#parts;
    const ids = [{ type: idType, externalId: id }, ...externalIds];
    const texts = await documents.getMany(
      'externalId',
      tenant,
      ids.map(({ type, externalId }) => `${type}\n${externalId}`),
    );
    const [own, ...others] = texts.map((text) =>
      text === undefined ? undefined : (JSON.parse(text) as { managedObject: string }).managedObject,
    );
    const foreign = others.findIndex((bound) => bound !== undefined && bound !== own);
    if (foreign >= 0) {
      const { type, externalId } = externalIds[foreign];
      throw new PlatformError('identity/duplicate', { type, value: externalId });
    }
    if (own === undefined) return undefined;
    const owner = await this.#registration.foreignOwner(
      tenant,
      { type: idType, externalId: id, managedObject: own },
      mayTakeOver,
    );
    return owner === undefined ? undefined : { managedObject: own, owner };
  }

  async #bind(tenant: number, body: ExternalIdBind): Promise<void> {
    const key = `${body.type}\n${body.externalId}`;
    try {
      await this.#command(COMMAND.EXTERNAL_ID_BIND, tenant, `x:${key}`, body);
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'identity/duplicate') throw error;
      const bound = await this.#parts.documents.get('externalId', tenant, key);
      if (bound === undefined || (JSON.parse(bound) as { managedObject: string }).managedObject !== body.managedObject)
        throw error;
    }
  }

  #command<Answer>(kind: CommandKind, tenant: number, key: ActorKey, body: object): Promise<Answer> {
    return this.#parts.commands.request<Answer>({
      kind,
      tenant,
      key,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: this.#parts.now(),
      body,
    });
  }
}

/** @throws RegistrationFault. */
function requireForm({ id, password, idType, externalIds }: RegistrationLine): void {
  if (!isDeviceId(id)) throw new RegistrationFault(`ID takes ${DEVICE_ID_RULE}`);
  if (password !== undefined && !isAllowedPassword(password))
    throw new RegistrationFault(`CREDENTIALS takes ${PASSWORD_RULE}`);
  for (const { type, externalId } of [{ type: idType, externalId: id }, ...externalIds]) {
    registrable(() => requireExternalId(type, externalId));
  }
}

/** @throws RegistrationFault. */
async function requireRights({ by, requireRightsOf }: ImportOptions, userName: string): Promise<void> {
  try {
    await requireRightsOf(userName);
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'security/forbidden') throw error;
    throw new RegistrationFault(`the user ${userName} has rights that ${by} lacks`);
  }
}
