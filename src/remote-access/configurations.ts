/**
 * Configurations of remote access (docs/spec/remote-access.md#configurations): read, created, changed and deleted, with
 * their bounds. Passwords and private keys are stored encrypted and never read back.
 */
import type { TextCipher } from '../accounts/options/cipher.ts';
import type { AuditEntry } from '../model/commands/records.ts';
import {
  CONFIGURATIONS_TOTAL_ID,
  REMOTE_ACCESS,
  SECRETS,
  type RemoteAccessConfiguration,
  type Secrets,
  type ShownCredentials,
  type StoredConfiguration,
} from '../model/access/remote-access.ts';
import { PlatformError } from '../model/errors.ts';
import { withChanges } from '../records/audit-changes.ts';
import { listRecords, readRecord, retried } from '../records/records.ts';
import type { Counting, RecordReader, RecordWriter } from '../records/records.ts';
import { NO_SUM, changeWithin } from '../records/totals.ts';
import type { KeptTotal } from '../records/totals.ts';

/** Configurations of one device, and the bytes of their record, which a cluster changes with one message. */
const OF_DEVICE_MAX = 50;
const BYTES_OF_DEVICE_MAX = 262_144;
/** Of one tenant. */
const OF_TENANT_MAX = 20_000;
const BYTES_OF_TENANT_MAX = 33_554_432;
const LIMIT = {
  ofDevice: 'remote-access/configurations-of-device',
  bytesOfDevice: 'remote-access/configurations-bytes-of-device',
  ofTenant: 'remote-access/configurations',
  bytesOfTenant: 'remote-access/configurations-bytes',
} as const;

export interface ConfigurationParts extends RecordReader, RecordWriter, Counting {
  readonly cipher: TextCipher;
}

/** Whose configurations, and by whom they are changed. */
export interface ConfigurationPlace {
  /** Number of the tenant. */
  readonly tenant: number;
  readonly userName: string;
  /** Id of the managed object. */
  readonly device: string;
}

/** `null` removes a value that is stored; what is missing stays. */
export type SentCredentials = {
  readonly [Name in keyof ShownCredentials | keyof Secrets]?: string | null;
};

export interface SentConfiguration extends Partial<Omit<RemoteAccessConfiguration, 'id' | 'credentials'>> {
  readonly credentials?: SentCredentials | null;
}

const textsOf = (text: string | undefined): StoredConfiguration[] =>
  text === undefined ? [] : (JSON.parse(text) as StoredConfiguration[]);

const sumOf = ({ id, value }: { readonly id: string; readonly value: string }) =>
  id === CONFIGURATIONS_TOTAL_ID ? NO_SUM : { count: textsOf(value).length, bytes: Buffer.byteLength(value) };

const totalOf = (tenant: number): KeptTotal => ({
  tenant,
  collection: REMOTE_ACCESS,
  id: CONFIGURATIONS_TOTAL_ID,
  bounds: {
    count: { maximum: OF_TENANT_MAX, limit: LIMIT.ofTenant, error: 'remote-access/too-many' },
    bytes: { maximum: BYTES_OF_TENANT_MAX, limit: LIMIT.bytesOfTenant, error: 'remote-access/too-large' },
  },
  sumOf,
  records: (ports) => listRecords(ports, tenant, REMOTE_ACCESS),
});

/** What a read shows. */
function shownConfiguration({ secrets: _, ...shown }: StoredConfiguration): RemoteAccessConfiguration {
  return shown;
}

export async function listConfigurations(
  parts: RecordReader,
  tenant: number,
  device: string,
): Promise<RemoteAccessConfiguration[]> {
  return textsOf(await readRecord(parts, tenant, REMOTE_ACCESS, device)).map(shownConfiguration);
}

/** @throws PlatformError 404. */
export async function loadConfiguration(
  parts: RecordReader,
  tenant: number,
  device: string,
  id: string,
): Promise<RemoteAccessConfiguration> {
  const found = (await listConfigurations(parts, tenant, device)).find((one) => one.id === id);
  if (found === undefined) throw new PlatformError('remote-access/not-found', { device, id });
  return found;
}

/** @returns the configuration with its secrets, which are never for an answer. @throws PlatformError 404. */
export async function loadWithSecrets(
  parts: RecordReader & Pick<ConfigurationParts, 'cipher'>,
  { tenant, device }: Omit<ConfigurationPlace, 'userName'>,
  id: string,
): Promise<{ readonly configuration: RemoteAccessConfiguration; readonly secrets: Secrets }> {
  const stored = textsOf(await readRecord(parts, tenant, REMOTE_ACCESS, device)).find((one) => one.id === id);
  if (stored === undefined) throw new PlatformError('remote-access/not-found', { device, id });
  return {
    configuration: shownConfiguration(stored),
    secrets: secretsOf(parts.cipher, stored.secrets, placeOf({ tenant, device }, id)),
  };
}

/**
 * Keeps the fingerprint of a host key in a configuration that has none, unless it leads elsewhere meanwhile.
 * @returns the one that the configuration has now. @throws PlatformError 404, 422 at a bound.
 */
export async function keepHostKey(
  parts: ConfigurationParts,
  place: ConfigurationPlace,
  { id, hostname, port }: RemoteAccessConfiguration,
  hostKey: string,
): Promise<string> {
  const all = await change(parts, place, 'updated', id, (stored) =>
    stored.map((one) =>
      one.id !== id || one.hostname !== hostname || one.port !== port || Boolean(one.credentials?.hostKey)
        ? one
        : { ...one, credentials: { ...one.credentials, hostKey } },
    ),
  );
  const kept = all.find((one) => one.id === id)?.credentials?.hostKey;
  if (!kept) throw new Error('the configuration has changed meanwhile');
  return kept;
}

/** @param sent with all members that a configuration has. @throws PlatformError 422 at a bound. */
export async function createConfiguration(
  parts: ConfigurationParts,
  place: ConfigurationPlace,
  id: string,
  sent: SentConfiguration,
): Promise<RemoteAccessConfiguration> {
  const created = merged(parts, place, { id } as StoredConfiguration, sent);
  await change(parts, place, 'created', id, (all) => [...all, created]);
  return shownConfiguration(created);
}

/** @throws PlatformError 404, 422 at a bound. */
export async function updateConfiguration(
  parts: ConfigurationParts,
  place: ConfigurationPlace,
  id: string,
  sent: SentConfiguration,
): Promise<RemoteAccessConfiguration> {
  const all = await change(parts, place, 'updated', id, (stored) =>
    stored.map((one) => (one.id === id ? merged(parts, place, one, sent) : one)),
  );
  return shownConfiguration(all.find((one) => one.id === id) as StoredConfiguration);
}

/** @throws PlatformError 404. */
export async function removeConfiguration(
  parts: ConfigurationParts,
  place: ConfigurationPlace,
  id: string,
): Promise<void> {
  await change(parts, place, 'deleted', id, (all) => all.filter((one) => one.id !== id));
}

/** The place of a secret: it is encrypted together with it and is worth nothing elsewhere. */
const placeOf = ({ tenant, device }: Omit<ConfigurationPlace, 'userName'>, id: string): string =>
  `${tenant}/${REMOTE_ACCESS}/${device}/${id}`;

function merged(
  { cipher }: ConfigurationParts,
  place: ConfigurationPlace,
  old: StoredConfiguration,
  { credentials, ...members }: SentConfiguration,
): StoredConfiguration {
  const { credentials: oldCredentials, secrets: oldSecrets, ...rest } = old;
  const next = { ...rest, ...members };
  if (credentials === null) return next;
  const shown = new Map<string, unknown>(Object.entries(oldCredentials ?? {}));
  const sentSecrets: Record<string, string | null> = {};
  for (const [name, value] of Object.entries(credentials ?? {})) {
    if ((SECRETS as readonly string[]).includes(name)) sentSecrets[name] = value;
    else shown.set(name, value);
  }
  const kept = withoutNulls(shown);
  // A user who leads the configuration to a host of their own does not get the password of the one before.
  const isElsewhere =
    next.hostname !== old.hostname ||
    next.port !== old.port ||
    (Boolean(oldCredentials?.hostKey) && kept['hostKey'] !== oldCredentials?.hostKey);
  if (oldSecrets !== undefined && isElsewhere) sentSecrets['password'] ??= null;
  const secrets =
    Object.keys(sentSecrets).length === 0
      ? oldSecrets
      : changedSecrets(cipher, placeOf(place, old.id), oldSecrets, sentSecrets);
  return {
    ...next,
    ...(Object.keys(kept).length === 0 ? {} : { credentials: kept }),
    ...(secrets === undefined ? {} : { secrets }),
  };
}

/** @returns undefined when none is left. */
function changedSecrets(
  cipher: TextCipher,
  at: string,
  stored: string | undefined,
  sent: Readonly<Record<string, string | null>>,
): string | undefined {
  const old = secretsOf(cipher, stored, at);
  const kept = withoutNulls(new Map<string, unknown>([...Object.entries(old), ...Object.entries(sent)]));
  return Object.keys(kept).length === 0 ? undefined : cipher.encrypt(JSON.stringify(kept), at);
}

const secretsOf = (cipher: TextCipher, stored: string | undefined, at: string): Secrets =>
  stored === undefined ? {} : (JSON.parse(cipher.decrypt(stored, at)) as Secrets);

const withoutNulls = (values: ReadonlyMap<string, unknown>): Record<string, string> =>
  Object.fromEntries([...values].filter((entry): entry is [string, string] => typeof entry[1] === 'string'));

/** @returns all configurations of the device afterwards. */
function change(
  parts: ConfigurationParts,
  place: ConfigurationPlace,
  what: 'created' | 'updated' | 'deleted',
  id: string,
  decide: (all: readonly StoredConfiguration[]) => StoredConfiguration[],
): Promise<StoredConfiguration[]> {
  const { tenant, device } = place;
  return retried(parts, async () => {
    const expected = await readRecord(parts, tenant, REMOTE_ACCESS, device);
    const stored = textsOf(expected);
    const old = stored.find((one) => one.id === id);
    if (old === undefined && what !== 'created') throw new PlatformError('remote-access/not-found', { device, id });
    const all = decide(stored);
    const value = all.length === 0 ? undefined : JSON.stringify(all);
    if (value === expected) return all;
    if (all.length > OF_DEVICE_MAX && all.length > stored.length)
      throw refused(parts, place, 'remote-access/too-many', LIMIT.ofDevice, OF_DEVICE_MAX);
    const bytes = Buffer.byteLength(value ?? '');
    if (bytes > BYTES_OF_DEVICE_MAX && bytes > Buffer.byteLength(expected ?? ''))
      throw refused(parts, place, 'remote-access/too-large', LIMIT.bytesOfDevice, BYTES_OF_DEVICE_MAX);
    const next = all.find((one) => one.id === id);
    const changes = [{ collection: REMOTE_ACCESS, id: device, expected, value } as const];
    await changeWithin(parts, totalOf(tenant), changes, [auditOf(place, what, old, next)]);
    return all;
  });
}

function refused(
  { refusals }: Counting,
  { tenant, userName, device }: ConfigurationPlace,
  code: 'remote-access/too-many' | 'remote-access/too-large',
  limit: string,
  maximum: number,
): PlatformError {
  refusals.count(limit, { tenant, user: userName, device });
  return new PlatformError(code, { limit, maximum });
}

function auditOf(
  { userName, device }: ConfigurationPlace,
  what: string,
  old: StoredConfiguration | undefined,
  next: StoredConfiguration | undefined,
): AuditEntry {
  const { id, name, protocol, hostname, port } = (next ?? old) as StoredConfiguration;
  const activity = `Remote access configuration ${what}`;
  const entry: AuditEntry = {
    type: 'RemoteAccess',
    activity,
    user: userName,
    source: device,
    text: `${activity}: ${name} (${id}), ${protocol} to ${hostname}:${port}`,
  };
  const told = (one: StoredConfiguration | undefined): object | undefined =>
    one === undefined ? undefined : shownConfiguration(one);
  return withChanges(entry, told(old), told(next), { isTold: false });
}
