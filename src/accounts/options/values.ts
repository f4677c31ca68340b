/** Values of tenant options that decide about the server's own behaviour (docs/spec/options.md#known-categories). */
import { GREEN_LENGTH_MIN, PASSWORD_LENGTH_MAX } from '../../model/access/password.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import { optionKey } from './options.ts';

/** What options are read with. */
export interface OptionReader {
  readonly documents: Pick<DocumentReader, 'get'>;
}

/** @returns undefined when the tenant has not set it. */
export async function tenantOption(
  { documents }: OptionReader,
  tenant: number,
  category: string,
  key: string,
): Promise<string | undefined> {
  const text = await documents.get('option', tenant, optionKey(category, key));
  const value = text === undefined ? undefined : (JSON.parse(text) as { value?: unknown }).value;
  return typeof value === 'string' ? value : undefined;
}

/** Characters that a green password has at least. */
export const greenLengthMin = (reader: OptionReader, tenant: number): Promise<number> =>
  numberOption(reader, tenant, ['password', 'green.min-length'], {
    minimum: GREEN_LENGTH_MIN,
    maximum: PASSWORD_LENGTH_MAX,
    otherwise: GREEN_LENGTH_MIN,
  });

/** Days after which people change their password; 0 for never. */
export const passwordDaysMax = (reader: OptionReader, tenant: number): Promise<number> =>
  numberOption(reader, tenant, ['password', 'limit.validity'], { minimum: 0, maximum: 36_500, otherwise: 0 });

/** Whether the tenant takes green passwords only. */
export async function wantsGreenPasswords(reader: OptionReader, tenant: number): Promise<boolean> {
  const values = await Promise.all(
    ['enforce.strength', 'strength.validity'].map((key) => tenantOption(reader, tenant, 'password', key)),
  );
  return values.includes('true');
}

/** A whole number, cut to the range; `otherwise` when there is none. */
export async function numberOption(
  reader: OptionReader,
  tenant: number,
  name: readonly [category: string, key: string],
  range: { readonly minimum: number; readonly maximum: number; readonly otherwise: number },
): Promise<number> {
  const text = (await tenantOption(reader, tenant, name[0], name[1]))?.trim() ?? '';
  const value = text === '' ? NaN : Number(text);
  return Number.isInteger(value) ? Math.min(range.maximum, Math.max(range.minimum, value)) : range.otherwise;
}
