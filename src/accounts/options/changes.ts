/**
 * Tenant options that are set, removed and marked (docs/spec/options.md#tenant-options), with the bounds of a tenant's
 * options and the marks that forbid a change.
 */
import type { AuditEntry, RecordChange } from '../../model/commands/records.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Principal } from '../../model/access/principal.ts';
import { withChanges } from '../../records/audit-changes.ts';
import { listRecords, readRecord, retried } from '../../records/records.ts';
import type { Counting, RecordPorts, RecordReader, RecordWriter, StoredRecord } from '../../records/records.ts';
import { NO_SUM, changeWithin, sumOfRecord } from '../../records/totals.ts';
import type { KeptTotal } from '../../records/totals.ts';
import type { TextCipher } from './cipher.ts';
import { isSecret, optionKey, storedOption } from './options.ts';
import type { StoredOption } from './options.ts';

/** What tells whether an option may be changed. */
export interface MarkReader extends RecordReader {
  /** Whether the application is there: what one has marked that was deleted holds for no user. */
  hasApplication(id: string): Promise<boolean>;
}
/** What options are changed with. */
export interface OptionParts extends MarkReader, RecordWriter, Counting {
  readonly cipher: TextCipher;
}
/** By whom options are changed, and in whose audit log it stands. */
export type OptionUser = Pick<Principal, 'userName' | 'tenantNumber'>;

export interface NamedOption {
  readonly category: string;
  readonly key: string;
}
export interface Option extends NamedOption {
  readonly value: string;
}

/** Of a category and of a key. */
export const OPTION_NAME_LENGTH_MAX = 256;
/** Options of one tenant, and their records together. */
const OPTIONS_MAX = 10_000;
const OPTIONS_BYTES_MAX = 16 * 1024 * 1024;
/** Of the record with the sum of the options; no category is empty. */
const TOTAL_ID = '\ntotal';
/** Shown instead of a secret value; sent back it changes nothing. */
export const MASK = '<<Encrypted>>';

/** The reverse of `optionKey`. */
export function optionNames(id: string): NamedOption {
  const [category, key] = id.split('\n');
  return { category, key };
}

/** All options of a tenant but the record of their sum, or those of a category. */
export const optionRecords = async (ports: RecordReader, tenant: number, prefix = ''): Promise<StoredRecord[]> =>
  (await listRecords(ports, tenant, 'option', prefix)).filter(({ id }) => id !== TOTAL_ID);

/** The options of a tenant together. */
export const optionsTotal = (tenant: number): KeptTotal => ({
  tenant,
  collection: 'option',
  id: TOTAL_ID,
  bounds: {
    count: { maximum: OPTIONS_MAX, limit: 'options/of-tenant', error: 'options/too-many' },
    bytes: { maximum: OPTIONS_BYTES_MAX, limit: 'options/bytes', error: 'options/too-large' },
  },
  sumOf: (record) => (record.id === TOTAL_ID ? NO_SUM : sumOfRecord(record)),
  records: (ports) => optionRecords(ports, tenant),
});

/** The record of an option; undefined for one that a deleted application has made: its mark holds for no user. */
export async function madeOption(parts: MarkReader, text: string | undefined): Promise<StoredOption | undefined> {
  const option = text === undefined ? undefined : (JSON.parse(text) as StoredOption);
  return option?.application !== undefined && !(await parts.hasApplication(option.application)) ? undefined : option;
}

/**
 * @param own text of the record of the tenant. @returns whether it is not marked, neither for that tenant nor for all.
 */
export async function isEditable(
  parts: MarkReader,
  { category, key }: NamedOption,
  own: string | undefined,
): Promise<boolean> {
  const ofAll = await readRecord(parts, SERVER_WIDE, 'option', optionKey(category, key));
  if (ofAll !== undefined && (JSON.parse(ofAll) as StoredOption).editable === false) return false;
  return (await madeOption(parts, own))?.editable !== false;
}

/** @throws PlatformError 403. */
async function requireEditable(
  parts: MarkReader,
  { category, key }: NamedOption,
  own: string | undefined,
): Promise<void> {
  if (!(await isEditable(parts, { category, key }, own)))
    throw new PlatformError('options/not-editable', { category, key });
}

export const optionAudit = (by: OptionUser, activity: string, options: readonly NamedOption[]): AuditEntry => ({
  type: 'Option',
  activity,
  user: by.userName,
  tenant: by.tenantNumber,
  text: `${activity}: ${options.map(({ category, key }) => `${category}/${key}`).join(', ')}`.slice(
    0,
    OPTION_NAME_LENGTH_MAX * 4,
  ),
});

/** @param tenant number of the one that they belong to. @throws PlatformError 422 when it has no room for them. */
export async function changeOptions(
  ports: RecordPorts,
  tenant: number,
  changes: readonly RecordChange[],
  audit: AuditEntry,
): Promise<void> {
  const told = withChanges(audit, valuesOf(changes, 'expected'), valuesOf(changes, 'value'), { isTold: false });
  await changeWithin(ports, optionsTotal(tenant), changes, [told]);
}

/** Values by key, for the audit log, which does not repeat those of secret ones; and the mark that forbids changes. */
function valuesOf(changes: readonly RecordChange[], state: 'expected' | 'value'): object {
  return Object.fromEntries(
    changes.flatMap(({ id, [state]: text }) => {
      if (text === undefined) return [];
      const { key } = optionNames(id);
      const { value, encrypted, editable } = JSON.parse(text) as StoredOption;
      return [
        [key, value ?? encrypted],
        [`${key}.editable`, editable],
      ];
    }),
  );
}

/**
 * Stores all or none; again when another writer changed one of them meanwhile.
 * @param tenant number of the one that they belong to. @throws PlatformError 403 for one that is not editable, 422 when
 * the tenant has no room for them.
 */
export function storeOptions(
  parts: OptionParts,
  by: OptionUser,
  tenant: number,
  options: readonly Option[],
): Promise<void> {
  return retried(parts, async () => {
    const changes: RecordChange[] = [];
    for (const option of options) {
      const { category, key, value } = option;
      const id = optionKey(category, key);
      const expected = await readRecord(parts, tenant, 'option', id);
      await requireEditable(parts, option, expected);
      if (expected !== undefined && isSecret(key) && value === MASK) continue;
      changes.push({
        collection: 'option',
        id,
        expected,
        value: JSON.stringify(storedOption(parts.cipher, tenant, category, key, value)),
      });
    }
    if (changes.length > 0) await changeOptions(parts, tenant, changes, optionAudit(by, 'Option changed', options));
  });
}

/** @throws PlatformError 403 for one that is not editable, 404. */
export function removeOption(
  parts: OptionParts,
  by: OptionUser,
  tenant: number,
  { category, key }: NamedOption,
): Promise<void> {
  const id = optionKey(category, key);
  return retried(parts, async () => {
    const expected = await readRecord(parts, tenant, 'option', id);
    await requireEditable(parts, { category, key }, expected);
    if (expected === undefined) throw new PlatformError('options/not-found', { category, key });
    const change = { collection: 'option', id, expected, value: undefined } as const;
    await changeOptions(parts, tenant, [change], optionAudit(by, 'Option deleted', [{ category, key }]));
  });
}

/**
 * Allows or forbids changes of an option, whether it has a value or not. This mark holds before the manifest of an
 * application.
 * @param tenant SERVER_WIDE for all tenants.
 */
export function markOption(
  parts: OptionParts,
  by: OptionUser,
  tenant: number,
  { category, key }: NamedOption,
  mayChange: boolean,
): Promise<void> {
  const id = optionKey(category, key);
  const activity = mayChange ? 'Option made editable' : 'Option made non-editable';
  return retried(parts, async () => {
    const expected = await readRecord(parts, tenant, 'option', id);
    const {
      editable: _,
      application: __,
      ...others
    } = expected === undefined ? ({} as StoredOption) : (JSON.parse(expected) as StoredOption);
    const marked = mayChange ? others : { ...others, editable: false };
    const value = Object.keys(marked).length === 0 ? undefined : JSON.stringify(marked);
    if (value === expected) return;
    const change = { collection: 'option', id, expected, value } as const;
    await changeOptions(parts, tenant, [change], optionAudit(by, activity, [{ category, key }]));
  });
}
