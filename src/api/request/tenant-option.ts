/** Values of tenant options that decide about the server's own behaviour (docs/spec/options.md#known-categories). */
import { optionKey } from '../../accounts/options/options.ts';
import type { ApiRequest } from './request.ts';

/** @returns undefined when the tenant has not set it. */
export async function tenantOption(
  request: ApiRequest,
  tenant: number,
  category: string,
  key: string,
): Promise<string | undefined> {
  const text = await request.platform.documents.get('option', tenant, optionKey(category, key));
  const value = text === undefined ? undefined : (JSON.parse(text) as { value?: unknown }).value;
  return typeof value === 'string' ? value : undefined;
}

/** Whether the tenant takes green passwords only. */
export async function wantsGreenPasswords(request: ApiRequest, tenant: number): Promise<boolean> {
  const values = await Promise.all(
    ['enforce.strength', 'strength.validity'].map((key) => tenantOption(request, tenant, 'password', key)),
  );
  return values.includes('true');
}

/** A whole number, cut to the range; `otherwise` when there is none. */
export async function numberOption(
  request: ApiRequest,
  tenant: number,
  name: readonly [category: string, key: string],
  range: { readonly minimum: number; readonly maximum: number; readonly otherwise: number },
): Promise<number> {
  const text = (await tenantOption(request, tenant, name[0], name[1]))?.trim() ?? '';
  const value = text === '' ? NaN : Number(text);
  return Number.isInteger(value) ? Math.min(range.maximum, Math.max(range.minimum, value)) : range.otherwise;
}
