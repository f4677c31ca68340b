/**
 * What the process may open, and who gets how much of it: MQTT, HTTP, and a reserve for files, stores and other
 * servers.
 */
import { readFileSync } from 'node:fs';

/**
 * For listeners, files of the stores, uploads, other servers, and 500 MQTT connections above the limit that get their
 * CONNECT answered.
 */
const RESERVED = 1_000;
/** HTTP gets as much at least, or a quarter of all where that is less: MQTT connections cannot take it. */
const HTTP_MIN = 2_000;
/** More would take much memory: each connection may hold a head of 16 KiB. */
const HTTP_MAX = 20_000;
/** What one address may have of the connections of HTTP. */
const ADDRESS_SHARE = 0.75;

/** Beside those of the MQTT connections. */
export const DESCRIPTORS_RESERVED = RESERVED + HTTP_MIN;

export interface ConnectionSettings {
  /** 0: derived. */
  readonly httpConnectionsMax: number;
  /** 0: derived. */
  readonly httpAddressConnectionsMax: number;
  readonly mqttConnectionsMax: number;
  readonly trustProxy: string;
}

export interface ConnectionBounds {
  /** HTTP connections and WebSockets of live data. */
  readonly http: number;
  /** HTTP connections of one address. */
  readonly httpAddress: number;
  readonly mqtt: number;
}

/** @returns text of /proc/self/limits; undefined where the system does not tell it. */
export function processLimits(): string | undefined {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * @param limits text of /proc/self/limits. @returns how many files the process may open; undefined when that is not
 * known.
 */
export function descriptorsMax(limits: string | undefined): number | undefined {
  const text = limits === undefined ? undefined : /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  if (text === undefined) return undefined;
  return text === 'unlimited' ? Infinity : Number(text);
}

/**
 * @param descriptors of the process; undefined when that is not known. MQTT gets less than its setting where it has to,
 * at least a quarter.
 */
export function connectionBounds(descriptors: number | undefined, config: ConnectionSettings): ConnectionBounds {
  const all = descriptors === undefined || Number.isNaN(descriptors) ? Infinity : descriptors;
  const quarter = Math.floor(all / 4);
  const derived = Math.min(HTTP_MAX, Math.max(all - RESERVED - config.mqttConnectionsMax, Math.min(HTTP_MIN, quarter)));
  const http = config.httpConnectionsMax > 0 ? Math.min(config.httpConnectionsMax, Math.floor(all / 2)) : derived;
  // Behind a proxy all connections come from its address.
  const ofAddress = config.trustProxy !== 'no' ? http : Math.ceil(http * ADDRESS_SHARE);
  const httpAddress =
    config.httpAddressConnectionsMax > 0 ? Math.min(http, config.httpAddressConnectionsMax) : ofAddress;
  return { http, httpAddress, mqtt: Math.min(config.mqttConnectionsMax, Math.max(quarter, all - RESERVED - http)) };
}
