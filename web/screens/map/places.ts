/** Places of devices: positions, views, clusters by grid. */
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { nameOf } from '../../core/server/managed-object.ts';

/** Degrees. */
export interface Place {
  readonly lat: number;
  readonly lng: number;
}

export interface DevicePlace extends Place {
  readonly id: string;
  readonly name: string;
}

export interface View extends Place {
  readonly zoom: number;
}

export interface Box {
  readonly south: number;
  readonly west: number;
  readonly north: number;
  readonly east: number;
}

export const WORLD: View = { lat: 25, lng: 10, zoom: 2 };

/** The place of a device; undefined without a position on the earth. */
export function placeOf(device: ManagedObject): DevicePlace | undefined {
  const told = device['c8y_Position'] as { lat?: unknown; lng?: unknown } | undefined;
  const [lat, lng] = [told?.lat, told?.lng].map((value) =>
    value === null || value === '' ? Number.NaN : Number(value),
  );
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 180 ? { id: device.id, name: nameOf(device), lat, lng } : undefined;
}

/** `48.1,11.5,6` of the URL. */
export function viewOf(text: string): View {
  const [lat, lng, zoom] = text.split(',').map(Number);
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 180 && zoom >= 0 && zoom <= 19 ? { lat, lng, zoom } : WORLD;
}

export const viewText = ({ lat, lng, zoom }: View): string => `${lat.toFixed(4)},${lng.toFixed(4)},${zoom}`;

/** The inventory's query for what has a position in the box, which may be wider than the earth. */
export function boxQuery({ south, west, north, east }: Box): string {
  const number = (value: number): string => value.toFixed(6);
  const parts = [
    `c8y_Position.lat ge ${number(Math.max(south, -90))}`,
    `c8y_Position.lat le ${number(Math.min(north, 90))}`,
    ...(east - west >= 360
      ? []
      : [`c8y_Position.lng ge ${number(Math.max(west, -180))}`, `c8y_Position.lng le ${number(Math.min(east, 180))}`]),
  ];
  return `$filter=has(c8y_Position) and ${parts.join(' and ')}`;
}

export interface Cluster extends Place {
  readonly places: readonly DevicePlace[];
}

/** Places that share a cell. @param cell side of a cell, degrees. */
export function clustersOf(places: readonly DevicePlace[], cell: number): readonly Cluster[] {
  const cells = new Map<string, DevicePlace[]>();
  for (const place of places) {
    const key = `${Math.floor(place.lat / cell)} ${Math.floor(place.lng / cell)}`;
    const inCell = cells.get(key);
    if (inCell === undefined) cells.set(key, [place]);
    else inCell.push(place);
  }
  return [...cells.values()].map((inCell) => ({
    places: inCell,
    lat: inCell.reduce((sum, { lat }) => sum + lat, 0) / inCell.length,
    lng: inCell.reduce((sum, { lng }) => sum + lng, 0) / inCell.length,
  }));
}
