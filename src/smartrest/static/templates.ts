/** The static templates of SmartREST 2.0 (docs/spec/smartrest.md) and the way from a row to what it asks for. */
import { DATA_TEMPLATES } from './data-templates.ts';
import type { Effect, RowContext } from '../effects/effects.ts';
import { encodeRow } from '../rows/csv-encode.ts';
import { shorten, SmartRestError } from '../rows/error.ts';
import { ROWS_TO_DEVICES } from '../rows/operation-rows.ts';
import { INVENTORY_TEMPLATES } from './inventory-templates.ts';
import { OPERATION_TEMPLATES } from './operation-templates.ts';
import { bindParameters, type StaticTemplate } from './parameters.ts';

/** By message id. */
export const STATIC_TEMPLATES: ReadonlyMap<string, StaticTemplate> = new Map(
  [...INVENTORY_TEMPLATES, ...DATA_TEMPLATES, ...OPERATION_TEMPLATES].map((template) => [template.id, template]),
);

/**
 * Interprets one row that was published on `s/us` or `s/us/<child>`.
 * @param fields the message id and its parameters; trailing empty ones may be absent.
 * @returns what the device link has to do, in order.
 * @throws SmartRestError 40 for an unknown template, 45 for parameters of wrong number or type.
 */
export function interpretRow(fields: readonly string[], context: RowContext): Effect[] {
  const id = fields.length === 0 ? '' : fields[0];
  const template = STATIC_TEMPLATES.get(id);
  if (template === undefined)
    throw new SmartRestError(
      40,
      id,
      id === '' ? 'The message id is missing' : `Unknown static template ${shorten(id)}`,
    );
  return template.interpret(bindParameters(template, fields), context, id);
}

/**
 * 603, the answer to 602: ids of the static templates, those that devices send and those that they get
 * (docs/spec/smartrest.md#rows-to-devices).
 */
export function templatesRow(): string {
  const ids = [...new Set([...STATIC_TEMPLATES.keys(), ...ROWS_TO_DEVICES])].sort();
  return encodeRow(['603', ...ids]);
}

/** The fault of 100 and 101 for an object that exists (docs/spec/mqtt.md#new-devices). */
export function existingDeviceError(messageId: '100' | '101'): SmartRestError {
  return new SmartRestError(41, messageId, 'Device already existing');
}

/**
 * The fault of 501 to 507 when no operation is in the preceding status (docs/spec/smartrest.md#operation-templates).
 */
export function noOperationError(messageId: string): SmartRestError {
  return new SmartRestError(50, messageId, 'No operation found');
}

/** @returns undefined for another row, and for one with a fault: its device is told when the message is planned. */
export function documentOf100(
  row: readonly string[] | undefined,
  serial: string,
  isChild: boolean,
): string | undefined {
  if (row?.[0] !== '100') return undefined;
  try {
    const [effect] = interpretRow(row, { serial, isChild, now: 0 });
    return effect.kind === 'ensureDevice' ? effect.doc : undefined;
  } catch (error) {
    if (!(error instanceof SmartRestError)) throw error;
    return undefined;
  }
}
