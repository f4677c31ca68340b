/**
 * Registration of new devices, whatever protocol they speak: requests, acceptance and the hand-over of credentials
 * (docs/spec/device-registration.md).
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { AskedBy } from '../../model/commands/command.ts';
import type { AuditEntry, RecordChange } from '../../model/commands/records.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DeviceCredentialsIssue, UserPut } from '../../model/commands/users.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { ExternalIdBind } from '../../model/commands/external-ids.ts';
import type { ManagedObjectUpdate } from '../../model/commands/entities.ts';
import {
  DEVICE_ID_RULE,
  DEVICE_USER_PREFIX,
  deviceUserOf,
  isDeviceId,
  isDeviceUser,
  joinKey,
  requestKey,
  REQUESTS,
  REQUESTS_TENANT,
  SECURITY_TOKEN_LENGTH_MAX,
  tenantKey,
  tenantPrefix,
  TOKEN_POLICIES,
} from '../../model/entities/device-request.ts';
import type { DeviceCredentials, StoredDeviceRequest, TokenPolicy } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import { passwordStrength } from '../../model/access/password.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { SERIAL_TYPE } from '../../model/access/serial-claim.ts';
import { randomPassword } from '../../model/access/password-hash.ts';
import { rightsOfDevices } from '../users/groups.ts';
import { TOKEN_POLICY, optionKey } from '../options/options.ts';
import type { PasswordHashes } from '../passwords/hashes.ts';
import { isSameSecret } from '../login/tokens.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';
import { changeRecords, retried, tryChange } from '../../records/records.ts';

/** Requests of one tenant that are listed. */
const REQUESTS_MAX = 100_000;
/** Ids, and requests, that are read at once. */
const IDS_AT_ONCE = 2_000;
const REQUESTS_AT_ONCE = 200;
/** 144 bits, 24 characters. */
const PASSWORD_BYTES = 18;
/** One more is not compared: who guesses would find the token of another's device. */
const WRONG_TOKENS_MAX = 5;
const WRONG_TOKENS_LIMIT = 'device-registration/wrong-tokens';

export interface RegistrationParts {
  readonly commands: CommandPort;
  readonly documents: DocumentReader;
  readonly hashes: Pick<PasswordHashes, 'hash'>;
  readonly tenants: { byNumber(number: number): { readonly id: string; readonly status?: string } | undefined };
  readonly refusals: Refusals;
  /** The policy of a tenant without the option; `OPTIONAL` when it is absent. */
  readonly tokenPolicyDefault?: TokenPolicy;
  now(): number;
}

export type NewDeviceRequest = Pick<StoredDeviceRequest, 'id' | 'owner' | 'groupId' | 'type' | 'customProperties'>;

export class DeviceRegistration {
  readonly #parts: RegistrationParts;

  constructor(parts: RegistrationParts) {
    this.#parts = parts;
  }

  /** @throws PlatformError 422 when any tenant has a request with this id already, or for what is not an id. */
  async create(tenant: number, wanted: NewDeviceRequest, by: AskedBy): Promise<StoredDeviceRequest> {
    const { id } = wanted;
    if (!isDeviceId(id))
      throw new PlatformError('validation/invalid-field', {
        area: 'devicecontrol',
        name: 'id',
        value: id,
        limit: DEVICE_ID_RULE,
      });
    const request: StoredDeviceRequest = {
      ...wanted,
      tenant,
      status: 'WAITING_FOR_CONNECTION',
      createdAt: this.#parts.now(),
    };
    const duplicate = new PlatformError('devicecontrol/request-duplicate', { id });
    if ((await this.#read(id)) !== undefined) throw duplicate;
    const changes: RecordChange[] = [
      { collection: REQUESTS, id: requestKey(id), expected: undefined, value: JSON.stringify(request) },
      { collection: REQUESTS, id: tenantKey(tenant, id), expected: undefined, value: '1' },
    ];
    if (!(await tryChange(this.#parts, REQUESTS_TENANT, changes, [auditOf(request, 'created', by)]))) throw duplicate;
    return request;
  }

  /** @throws PlatformError `devicecontrol/request-not-found`, also for one of another tenant. */
  async get(tenant: number, id: string): Promise<StoredDeviceRequest> {
    const text = isDeviceId(id) ? await this.#read(id) : undefined;
    const request = text === undefined ? undefined : (JSON.parse(text) as StoredDeviceRequest);
    if (request?.tenant !== tenant) throw new PlatformError('devicecontrol/request-not-found', { id });
    return request;
  }

  /** Whether the device is announced like this and has not been heard of yet. */
  async isWaiting(tenant: number, { id, owner, groupId }: NewDeviceRequest): Promise<boolean> {
    const text = await this.#read(id);
    if (text === undefined) return false;
    const request = JSON.parse(text) as StoredDeviceRequest;
    return (
      request.status === 'WAITING_FOR_CONNECTION' &&
      request.tenant === tenant &&
      request.owner === owner &&
      request.groupId === groupId
    );
  }

  /** A page, by id. @returns `total` when it is wanted, and whether the page had as many ids as it can. */
  async page(
    tenant: number,
    { offset, size, wantsTotal }: { readonly offset: number; readonly size: number; readonly wantsTotal: boolean },
  ): Promise<{ requests: StoredDeviceRequest[]; isFull: boolean; total: number | undefined }> {
    const ids: string[] = [];
    let total = 0;
    for await (const found of this.#ids(tenant)) {
      ids.push(...found.slice(Math.max(0, offset - total), Math.max(0, offset + size - total)));
      total += found.length;
      if (!wantsTotal && ids.length >= size) break;
    }
    return { requests: await this.#readMany(ids), isFull: ids.length >= size, total: wantsTotal ? total : undefined };
  }

  /** All, by id. */
  async *all(tenant: number): AsyncGenerator<StoredDeviceRequest> {
    for await (const ids of this.#ids(tenant)) {
      for (let index = 0; index < ids.length; index += REQUESTS_AT_ONCE)
        yield* await this.#readMany(ids.slice(index, index + REQUESTS_AT_ONCE));
    }
  }

  async *#ids(tenant: number): AsyncGenerator<string[]> {
    const prefix = tenantPrefix(tenant);
    let after: string | undefined;
    for (let count = 0; count < REQUESTS_MAX; count += IDS_AT_ONCE) {
      const options = { limit: IDS_AT_ONCE, ...(after === undefined ? {} : { after }) };
      const entries = await this.#parts.documents.list(REQUESTS, REQUESTS_TENANT, prefix, options);
      if (entries.length > 0) yield entries.map(({ id }) => id.slice(prefix.length));
      if (entries.length < IDS_AT_ONCE) return;
      after = entries[entries.length - 1].id;
    }
  }

  /** Without those that are gone meanwhile. */
  async #readMany(ids: readonly string[]): Promise<StoredDeviceRequest[]> {
    const texts = await this.#parts.documents.getMany(REQUESTS, REQUESTS_TENANT, ids.map(requestKey));
    return texts.filter((text) => text !== undefined).map((text) => JSON.parse(text) as StoredDeviceRequest);
  }

  /**
   * An object with another owner that the device's serial is bound to becomes the device's.
   * @param options.mayTakeOver whether the user may change the owner of any object.
   * @throws PlatformError 404; 422 unless the device has asked for credentials, for another token than the device's,
   * and for an object of another owner that the user may not take over.
   */
  async accept(
    tenant: number,
    id: string,
    options: { readonly token: string | undefined; readonly mayTakeOver: boolean; readonly by: AskedBy },
  ): Promise<StoredDeviceRequest> {
    const { token, mayTakeOver, by } = options;
    const policy = await this.tokenPolicy(tenant);
    return retried(this.#parts, async () => {
      const request = await this.get(tenant, id);
      if (request.status === 'BLOCKED') throw this.#blocked(id);
      if (request.status !== 'PENDING_ACCEPTANCE')
        throw new PlatformError('devicecontrol/not-pending', { id, status: request.status });
      if (policy === 'REQUIRED' && request.securityToken === undefined)
        throw new PlatformError('devicecontrol/security-token-missing', { id });
      if (
        policy !== 'IGNORED' &&
        request.securityToken !== undefined &&
        !isSameSecret(request.securityToken, token ?? '')
      ) {
        // A missing token does not count as a guess: "accept all" sends none.
        if ((token ?? '') !== '') await this.#countWrongToken(request, by);
        throw new PlatformError('devicecontrol/security-token', { id });
      }
      const taken = await this.#takeOverSerial(request, mayTakeOver);
      const audit = auditOf(request, 'accepted', by);
      const accepted: StoredDeviceRequest = { ...request, status: 'ACCEPTED' };
      await this.#replace(request, accepted, { ...audit, text: `${audit.text}${taken}` });
      return accepted;
    });
  }

  /** @returns what the audit record says about it. */
  async #takeOverSerial({ tenant, id }: StoredDeviceRequest, mayTakeOver: boolean): Promise<string> {
    const text = await this.#parts.documents.get('externalId', tenant, `${SERIAL_TYPE}\n${id}`);
    if (text === undefined) return '';
    const { managedObject } = JSON.parse(text) as { managedObject: string };
    const owner = await this.foreignOwner(tenant, { type: SERIAL_TYPE, externalId: id, managedObject }, mayTakeOver);
    if (owner === undefined) return '';
    await this.handOver(tenant, managedObject, { id, from: owner });
    return `; its managed object ${managedObject} belonged to ${owner} before`;
  }

  /**
   * @param bound the external ID of a device, and the object that it is bound to.
   * @returns the owner of the object; undefined when it is the device's user, or the object is deleted.
   * @throws PlatformError `devicecontrol/object-of-other` when an object of another owner may not be taken over.
   */
  async foreignOwner(
    tenant: number,
    { type, externalId, managedObject }: ExternalIdBind,
    mayTakeOver: boolean,
  ): Promise<string | undefined> {
    const doc = await this.#parts.documents.get('managedObject', tenant, managedObject);
    const owner =
      doc === undefined ? deviceUserOf(externalId) : (stringMember(splitMembers(doc), 'owner') ?? 'no user');
    if (owner === deviceUserOf(externalId)) return undefined;
    if (!mayTakeOver)
      throw new PlatformError('devicecontrol/object-of-other', { type, value: externalId, id: managedObject, owner });
    return owner;
  }

  /**
   * Makes the user of the device `id` the owner of the object. When another device's user made the object, no agent acts
   * for it any more: that device may be stolen, and may have bound the serial number to keep a hand on this one.
   */
  async handOver(tenant: number, managedObject: string, { id, from }: { id: string; from: string }): Promise<void> {
    const body: ManagedObjectUpdate = {
      doc: JSON.stringify({ owner: deviceUserOf(id) }),
      mayChangeOwner: true,
      ...(isDeviceUser(from) ? { leavesAgents: true } : {}),
    };
    const { commands, now } = this.#parts;
    await commands.request({
      kind: COMMAND.MANAGED_OBJECT_UPDATE,
      tenant,
      key: Number(managedObject),
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: now(),
      body,
    });
  }

  /** @throws PlatformError 422 for the last one that is taken. */
  async #countWrongToken(request: StoredDeviceRequest, by: AskedBy): Promise<void> {
    const wrongTokens = (request.wrongTokens ?? 0) + 1;
    if (wrongTokens < WRONG_TOKENS_MAX) return this.#replace(request, { ...request, wrongTokens });
    await this.#replace(request, { ...request, wrongTokens, status: 'BLOCKED' }, auditOf(request, 'blocked', by));
    throw this.#blocked(request.id);
  }

  #blocked(id: string): PlatformError {
    this.#parts.refusals.count(WRONG_TOKENS_LIMIT, { device: id });
    return new PlatformError('devicecontrol/request-blocked', {
      id,
      maximum: WRONG_TOKENS_MAX,
      limit: WRONG_TOKENS_LIMIT,
    });
  }

  /** @throws PlatformError 404. */
  async delete(tenant: number, id: string, by: AskedBy): Promise<void> {
    await retried(this.#parts, async () => {
      const request = await this.get(tenant, id);
      await this.#replace(request, undefined, auditOf(request, 'deleted', by));
    });
  }

  /**
   * One request of a device for its credentials: notes that it is there, or ends the accepted request and makes its
   * user.
   * @param shown the security token; an empty one is none.
   * @returns undefined while it is not accepted, and for an id that no user has announced.
   * @throws PlatformError 422 without a security token where the tenant wants one.
   */
  async poll(id: string, shown: string | undefined): Promise<DeviceCredentials | undefined> {
    const token = shown === '' ? undefined : shown;
    if (token !== undefined && token.length > SECURITY_TOKEN_LENGTH_MAX) {
      const limit = `at most ${SECURITY_TOKEN_LENGTH_MAX} characters`;
      throw new PlatformError('validation/invalid-field', {
        area: 'devicecontrol',
        name: 'securityToken',
        value: '…',
        limit,
      });
    }
    return retried(this.#parts, async () => {
      const text = isDeviceId(id) ? await this.#read(id) : undefined;
      if (text === undefined) return undefined;
      const request = JSON.parse(text) as StoredDeviceRequest;
      const tenant = this.#parts.tenants.byNumber(request.tenant);
      if (tenant === undefined || tenant.status === 'SUSPENDED' || request.status === 'BLOCKED') return undefined;
      const policy = await this.tokenPolicy(request.tenant);
      if (policy === 'REQUIRED' && token === undefined)
        throw new PlatformError('devicecontrol/security-token-missing', { id });
      if (request.status === 'ACCEPTED') {
        // Who accepted has compared the token: only the device that shows it gets the credentials.
        if (
          policy !== 'IGNORED' &&
          request.securityToken !== undefined &&
          !isSameSecret(request.securityToken, token ?? '')
        )
          return undefined;
        return this.#issue(request, text, tenant.id);
      }
      // A device that starts again may show another token: the last one counts.
      const securityToken = token ?? request.securityToken;
      const isNoted = request.status === 'PENDING_ACCEPTANCE' && securityToken === request.securityToken;
      const noted: StoredDeviceRequest = {
        ...request,
        status: 'PENDING_ACCEPTANCE',
        ...(securityToken === undefined ? {} : { securityToken }),
      };
      if (!isNoted) await this.#replace(request, noted);
      return undefined;
    });
  }

  /** The tenant's option `device-registration/security-token.policy`. */
  async tokenPolicy(tenant: number): Promise<TokenPolicy> {
    const text = await this.#parts.documents.get('option', tenant, optionKey(TOKEN_POLICY.category, TOKEN_POLICY.key));
    const value = text === undefined ? undefined : (JSON.parse(text) as { value?: unknown }).value;
    return TOKEN_POLICIES.find((policy) => policy === value) ?? this.#parts.tokenPolicyDefault ?? 'OPTIONAL';
  }

  /**
   * Body of the command that makes or renews a device user; one that is disabled stays so.
   * @param options.password undefined for a device that shows a certificate instead. @param options.isGenerated from
   * `PASSWORD_BYTES` random ones.
   */
  async userOf(
    tenant: number,
    id: string,
    options: { readonly password?: string | undefined; readonly isGenerated?: boolean; readonly by: string },
  ): Promise<UserPut> {
    const { password, isGenerated = false, by } = options;
    const hash = async (text: string): Promise<string> =>
      this.#parts.hashes.hash(text, isGenerated ? 'generated' : 'device', { tenant, account: by });
    return {
      userName: deviceUserOf(id),
      endsTokens: true,
      isPerson: false,
      by,
      ...(await rightsOfDevices(this.#parts.documents, tenant)),
      ...(password === undefined
        ? {}
        : { password: await hash(password), passwordStrength: passwordStrength(password) }),
    };
  }

  /** The group that the first object of a device user joins; undefined for most. */
  async groupToJoin(tenant: number, userName: string): Promise<string | undefined> {
    if (!userName.startsWith(DEVICE_USER_PREFIX)) return undefined;
    const text = await this.#parts.documents.get(REQUESTS, REQUESTS_TENANT, joinKey(tenant, userName));
    return text === undefined ? undefined : (JSON.parse(text) as { groupId: string }).groupId;
  }

  /** The first object has joined. */
  async joined(tenant: number, userName: string): Promise<void> {
    const id = joinKey(tenant, userName);
    const expected = await this.#parts.documents.get(REQUESTS, REQUESTS_TENANT, id);
    if (expected === undefined) return;
    await tryChange(this.#parts, REQUESTS_TENANT, [{ collection: REQUESTS, id, expected, value: undefined }]);
  }

  async #issue(request: StoredDeviceRequest, expected: string, tenantId: string): Promise<DeviceCredentials> {
    const { id, tenant, owner, groupId } = request;
    const password = randomPassword(PASSWORD_BYTES);
    const user = await this.userOf(tenant, id, { password, isGenerated: true, by: owner });
    const body: DeviceCredentialsIssue = { id, expected, tenant, user, ...(groupId === undefined ? {} : { groupId }) };
    await this.#parts.commands.request({
      kind: COMMAND.DEVICE_CREDENTIALS_ISSUE,
      tenant: REQUESTS_TENANT,
      key: TENANT_KEY,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: this.#parts.now(),
      body,
    });
    return { id, tenantId, userName: user.userName, password };
  }

  async #read(id: string): Promise<string | undefined> {
    return this.#parts.documents.get(REQUESTS, REQUESTS_TENANT, requestKey(id));
  }

  /** @throws PlatformError `general/changed-meanwhile`. */
  async #replace(
    request: StoredDeviceRequest,
    next: StoredDeviceRequest | undefined,
    audit?: AuditEntry,
  ): Promise<void> {
    const { id, tenant } = request;
    const changes: RecordChange[] = [
      {
        collection: REQUESTS,
        id: requestKey(id),
        expected: JSON.stringify(request),
        value: next === undefined ? undefined : JSON.stringify(next),
      },
    ];
    if (next === undefined)
      changes.push({ collection: REQUESTS, id: tenantKey(tenant, id), expected: '1', value: undefined });
    await changeRecords(this.#parts, REQUESTS_TENANT, changes, audit === undefined ? [] : [audit]);
  }
}

/** In the log of the tenant, though the requests are records of the whole server. */
function auditOf(
  { id, tenant }: StoredDeviceRequest,
  what: 'created' | 'accepted' | 'blocked' | 'deleted',
  by: AskedBy,
): AuditEntry {
  const activity = `New device request ${what}`;
  return { type: 'Inventory', activity, text: `${activity}: ${id}`, tenant, ...by };
}

/**
 * Says at the start which policies of security tokens are in force. @param set those that tenants have set; undefined
 * of one without.
 */
export function logTokenPolicies(policyDefault: TokenPolicy, set: readonly (string | undefined)[], log: Log): void {
  const tenants = Object.fromEntries(
    TOKEN_POLICIES.map((policy) => [policy, set.filter((value) => value === policy).length]),
  );
  const fields = { default: policyDefault, tenantsWithTheirOwn: tenants };
  if (policyDefault !== 'IGNORED' && tenants['IGNORED'] === 0) log.info(fields, 'security tokens of new devices');
  else
    log.warn(
      fields,
      'security tokens of new devices are ignored: a tenant that guesses a serial number can register the device of another',
    );
}
