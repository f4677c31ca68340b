/**
 * Conversion of units on read and live (docs/spec/measurements.md#units): metric to imperial and back; unknown units
 * stay as they are.
 */
import { compact, joinMembers, splitMembers, stringMember } from './json-document.ts';

export type UnitSystem = 'metric' | 'imperial';

interface Quantity {
  readonly value: number;
  readonly unit: string;
}
interface Conversion {
  readonly unit: string;
  readonly factor: number;
  readonly offset: number;
}

/** value × factor + offset */
const TO_IMPERIAL: Readonly<Record<string, Conversion>> = {
  m: { unit: 'ft', factor: 1 / 0.3048, offset: 0 },
  km: { unit: 'mi', factor: 1 / 1.609344, offset: 0 },
  cm: { unit: 'in', factor: 1 / 2.54, offset: 0 },
  degC: { unit: 'degF', factor: 1.8, offset: 32 },
  K: { unit: 'degR', factor: 1.8, offset: 0 },
  g: { unit: 'oz', factor: 1 / 28.349523125, offset: 0 },
  kg: { unit: 'lb', factor: 1 / 0.45359237, offset: 0 },
};
const TO_METRIC: Readonly<Record<string, Conversion>> = Object.fromEntries(
  Object.entries(TO_IMPERIAL).map(([unit, conversion]) => [
    conversion.unit,
    { unit, factor: 1 / conversion.factor, offset: -conversion.offset / conversion.factor },
  ]),
);

/** @returns undefined for other header values: nothing is converted. */
export function unitSystemOf(header: string): UnitSystem | undefined {
  const name = header.trim().toLowerCase();
  return name === 'metric' || name === 'imperial' ? name : undefined;
}

function conversionOf(unit: string, system: UnitSystem | undefined): Conversion | undefined {
  if (system === undefined) return undefined;
  const table = system === 'imperial' ? TO_IMPERIAL : TO_METRIC;
  return Object.hasOwn(table, unit) ? table[unit] : undefined;
}

/** Twelve digits: the rounding of binary fractions is not shown. */
const rounded = (value: number): number => Number(value.toPrecision(12));

export function convertUnit(quantity: Quantity, system: UnitSystem | undefined): Quantity {
  const conversion = conversionOf(quantity.unit, system);
  if (conversion === undefined) return { value: quantity.value, unit: quantity.unit };
  return { value: rounded(quantity.value * conversion.factor + conversion.offset), unit: conversion.unit };
}

/**
 * @param quantity what is made of several values. @param offsetsCount how many zero points it has in it: of a sum of n
 * values n, of a difference or deviation 0. @returns what the converted values would have made.
 */
export function convertCombined(quantity: Quantity, offsetsCount: number, system: UnitSystem | undefined): number {
  const conversion = conversionOf(quantity.unit, system);
  if (conversion === undefined) return quantity.value;
  return rounded(quantity.value * conversion.factor + offsetsCount * conversion.offset);
}

/**
 * @param text a measurement as a JSON document. @returns it with values and units converted; what is not a series stays
 * as it is.
 */
export function convertMeasurement(text: string, system: UnitSystem): string {
  const members = splitMembers(compact(text));
  for (const [name, fragment] of members) {
    if (name === 'source' || !fragment.startsWith('{')) continue;
    const series = splitMembers(fragment);
    for (const [key, value] of series) series.set(key, convertSeries(value, system));
    members.set(name, joinMembers(series));
  }
  return joinMembers(members);
}

function convertSeries(text: string, system: UnitSystem): string {
  if (!text.startsWith('{')) return text;
  const parts = splitMembers(text);
  const unit = stringMember(parts, 'unit');
  const value = Number(parts.get('value') ?? NaN);
  if (unit === undefined || !Number.isFinite(value)) return text;
  const converted = convertUnit({ value, unit }, system);
  if (converted.unit === unit || !Number.isFinite(converted.value)) return text;
  return joinMembers(parts.set('value', String(converted.value)).set('unit', JSON.stringify(converted.unit)));
}
