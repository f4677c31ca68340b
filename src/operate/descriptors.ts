/** File descriptors of the process: how many it may have, and how many of them MQTT connections may take. */
import { readFileSync } from 'node:fs';

/** Kept for listeners, HTTP connections, files of the stores, and MQTT connections above the limit that get their CONNECT answered. */
export const DESCRIPTORS_RESERVED = 1_500;

/** @param limits text of /proc/self/limits. @returns undefined where the system does not tell it. */
export function descriptorsMax(limits: string | undefined): number | undefined {
  if (limits === undefined) return undefined;
  const text = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  return text === 'unlimited' ? Infinity : Number(text);
}

export function processLimits(): string | undefined {
  try { return readFileSync('/proc/self/limits', 'utf8'); } catch { return undefined; }
}

/** @returns how many of the MQTT connections that are asked for leave the rest of the process its descriptors: a quarter of all at least. */
export function mqttConnectionsFor(wanted: number, descriptors: number | undefined): number {
  if (descriptors === undefined || Number.isNaN(descriptors)) return wanted;
  return Math.min(wanted, Math.max(Math.floor(descriptors / 4), descriptors - DESCRIPTORS_RESERVED));
}
