/** Bindings as records of a tenant: how they are created, listed, replaced and deleted (docs/spec/scoring.md#bindings). */
import type { RecordChange } from '../../model/commands/records.ts';
import {
  BINDINGS_TOTAL_ID,
  type BindingConfiguration,
  bindingRecordId,
  SCORING_BINDINGS,
  type StoredBinding,
} from '../../model/entities/scoring/binding.ts';
import { PlatformError } from '../../model/errors.ts';
import type { IdSource } from '../../ports/id-source.ts';
import { listRecords, readRecord, type RecordReader, retried, type StoredRecord } from '../../records/records.ts';
import { changeWithin, type KeptTotal, NO_SUM, sumOfRecord } from '../../records/totals.ts';
import type { Asker } from '../asker.ts';
import { BINDINGS_BYTES_MAX, BINDINGS_MAX, SCORING_LIMIT } from '../limits.ts';
import type { RecordParts } from '../records.ts';

export interface BindingParts extends RecordParts {
  readonly ids: Pick<IdSource, 'nextInOrder'>;
}

const totalOf = (tenant: number): KeptTotal => ({
  tenant,
  collection: SCORING_BINDINGS,
  id: BINDINGS_TOTAL_ID,
  bounds: {
    count: { maximum: BINDINGS_MAX, limit: SCORING_LIMIT.BINDINGS, error: 'scoring/too-many' },
    bytes: { maximum: BINDINGS_BYTES_MAX, limit: SCORING_LIMIT.BINDING_BYTES, error: 'scoring/too-large' },
  },
  sumOf: (record) => (record.id === BINDINGS_TOTAL_ID ? NO_SUM : sumOfRecord(record)),
  records: (ports) => listRecords(ports, tenant, SCORING_BINDINGS),
});

/** Undefined: it is the sum over the others. */
export const bindingOf = ({ id, value }: StoredRecord): StoredBinding | undefined =>
  id === BINDINGS_TOTAL_ID ? undefined : (JSON.parse(value) as StoredBinding);

/** In the order of their ids. */
export async function listBindings(parts: RecordReader, tenant: number): Promise<StoredBinding[]> {
  const rows = await listRecords(parts, tenant, SCORING_BINDINGS);
  return rows.map(bindingOf).filter((binding) => binding !== undefined);
}

/** @param text an id as it stands in a path @throws PlatformError 404 */
export async function loadBinding(parts: RecordReader, tenant: number, text: string): Promise<StoredBinding> {
  const value = /^[1-9]\d{0,15}$/.test(text)
    ? await readRecord(parts, tenant, SCORING_BINDINGS, bindingRecordId(Number(text)))
    : undefined;
  if (value === undefined) throw new PlatformError('scoring/binding-not-found', { name: text });
  return JSON.parse(value) as StoredBinding;
}

async function store(
  parts: RecordParts,
  { tenant, user }: Asker,
  old: StoredBinding | undefined,
  next: StoredBinding | undefined,
): Promise<void> {
  const { id, bindingName } = (next ?? old) as StoredBinding;
  const change: RecordChange = {
    collection: SCORING_BINDINGS,
    id: bindingRecordId(id),
    expected: old && JSON.stringify(old),
    value: next && JSON.stringify(next),
  };
  const what = old === undefined ? 'created' : next === undefined ? 'deleted' : 'updated';
  const audit = { type: 'Scoring', activity: `Binding ${what}`, text: `Binding ${what}: ${id}, ${bindingName}`, user };
  await changeWithin(parts, totalOf(tenant), [change], [audit]);
}

/** @throws PlatformError 400 at a bound */
export async function createBinding(
  parts: BindingParts,
  asker: Asker,
  configuration: BindingConfiguration,
  isGroup: boolean,
): Promise<StoredBinding> {
  const id = await parts.ids.nextInOrder();
  const time = new Date(parts.now()).toISOString();
  const { user } = asker;
  const binding = { ...configuration, id, creationTime: time, lastUpdated: time, user, isGroup };
  await retried(parts, () => store(parts, asker, undefined, binding));
  return binding;
}

/** @param text an id as it stands in a path @throws PlatformError 404, 400 at a bound */
export function replaceBinding(
  parts: RecordParts,
  asker: Asker,
  text: string,
  configuration: BindingConfiguration,
  isGroup: boolean,
): Promise<StoredBinding> {
  return retried(parts, async () => {
    const old = await loadBinding(parts, asker.tenant, text);
    const { id, creationTime } = old;
    const lastUpdated = new Date(parts.now()).toISOString();
    const next = { ...configuration, id, creationTime, lastUpdated, user: asker.user, isGroup };
    await store(parts, asker, old, next);
    return next;
  });
}

/** @param text an id as it stands in a path @throws PlatformError 404 */
export async function removeBinding(parts: RecordParts, asker: Asker, text: string): Promise<void> {
  await retried(parts, async () => store(parts, asker, await loadBinding(parts, asker.tenant, text), undefined));
}

/** All of them, one after the other: what was deleted meanwhile does not count as an error. */
export async function removeBindings(parts: RecordParts, asker: Asker): Promise<void> {
  for (const { id } of await listBindings(parts, asker.tenant)) {
    try {
      await removeBinding(parts, asker, String(id));
    } catch (error) {
      if (!(error instanceof PlatformError && error.code === 'scoring/binding-not-found')) throw error;
    }
  }
}
