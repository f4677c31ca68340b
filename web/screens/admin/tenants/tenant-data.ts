/** Tenants as the console reads them. */
import { pathOf } from '../../../core/api/json.ts';

export interface Tenant {
  readonly id: string;
  readonly company?: string;
  readonly domain?: string;
  readonly status: 'ACTIVE' | 'SUSPENDED';
  readonly parent?: string;
  readonly adminName?: string;
  readonly adminEmail?: string;
  readonly contactName?: string;
  readonly creationTime?: string;
  /** Bytes. */
  readonly storageLimitPerDevice?: number;
  readonly customProperties?: Readonly<Record<string, unknown>>;
}

export const TENANTS_PATH = '/tenant/tenants';
export const tenantPath = (id: string): string => pathOf`/tenant/tenants/${id}`;

/** Members of `customProperties` that bound what the tenant sends. */
export const LIMITS = [
  'limit.http.requests',
  'limit.http.queue',
  'limit.stream.requests',
  'limit.stream.queue',
] as const;

/** A limit as a field shows it. */
export const limitText = ({ customProperties = {} }: Tenant, name: string): string => {
  const value = customProperties[name];
  return value === undefined || value === null ? '' : String(value);
};

/** The properties with the limits of the fields; an empty field takes its limit away. */
export function withLimits(
  tenant: Tenant,
  fields: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const properties: Record<string, unknown> = { ...tenant.customProperties };
  for (const name of LIMITS) {
    if (fields[name].trim() === '') delete properties[name];
    else properties[name] = Number(fields[name]);
  }
  return properties;
}

/** Counts of a day or of several, by the names of the API. */
export type Usage = Readonly<Record<string, number>>;

export interface Bound {
  readonly name: 'devices' | 'storage' | 'requests';
  readonly value: number;
  /** Undefined where none is set. */
  readonly max: number | undefined;
}

/** What the tenant uses of its bounds. @param usage of today. @param seconds of today that have passed. */
export function boundsOf(tenant: Tenant, usage: Usage, seconds: number): readonly Bound[] {
  const property = (name: string): number | undefined => {
    const value = Number(limitText(tenant, name));
    return value > 0 ? value : undefined;
  };
  const devices = usage['deviceCount'] ?? 0;
  const perDevice = tenant.storageLimitPerDevice;
  return [
    { name: 'devices', value: devices, max: property('limit.devices.number') },
    {
      name: 'storage',
      value: usage['storageSize'] ?? 0,
      max: perDevice && devices > 0 ? perDevice * devices : undefined,
    },
    // Messages over MQTT are requests of devices, and not bounded by this limit.
    {
      name: 'requests',
      value: ((usage['requestCount'] ?? 0) - (usage['deviceRequestCount'] ?? 0)) / seconds,
      max: property('limit.http.requests'),
    },
  ];
}

/** True for a limit that is not a whole number above 0. */
export const isBadLimit = (text: string): boolean => text.trim() !== '' && !/^[1-9]\d{0,8}$/.test(text.trim());
