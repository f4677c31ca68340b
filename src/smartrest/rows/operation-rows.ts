/**
 * Operations as rows on `s/ds` (docs/spec/smartrest.md#rows-to-devices): `<template>,<serial of the target>,<values>…`.
 */
import type { Members } from '../../model/documents/json-document.ts';
import { encodeRow } from './csv-encode.ts';
import { isJsonObject, listAt, textAt, toList, type JsonObject } from './json-values.ts';

export interface OperationTarget {
  /** External ID (`c8y_Serial`) of the device that the operation is for, also of a child. */
  readonly serial: string;
  /** Its managed object has `c8y_SupportedSoftwareTypes`: software updates are sent with the type (529). */
  readonly hasSoftwareTypes: boolean;
}

/** Rows that devices get. */
export const ROWS_TO_DEVICES: readonly string[] = [
  '106',
  '124',
  '510',
  '511',
  '513',
  ...Array.from({ length: 16 }, (_, index) => String(515 + index)),
  '601',
  '603',
];

type Values = readonly string[];
/** @returns template id and the values behind the serial. */
type RowMaker = (fragment: JsonObject, target: OperationTarget, value: unknown) => readonly [string, Values];

const MAKERS: ReadonlyMap<string, RowMaker> = new Map<string, RowMaker>([
  ['c8y_Restart', () => ['510', []]],
  ['c8y_Command', (fragment) => ['511', texts(fragment, 'text')]],
  ['c8y_Configuration', (fragment) => ['513', texts(fragment, 'config')]],
  ['c8y_Firmware', firmwareRow],
  ['c8y_SoftwareList', (_fragment, _target, list) => ['516', tuples(list, 'name', 'version', 'url')]],
  ['c8y_MeasurementRequestOperation', (fragment) => ['517', texts(fragment, 'requestName')]],
  ['c8y_Relay', (fragment) => ['518', texts(fragment, 'relayState')]],
  ['c8y_RelayArray', (_fragment, _target, list) => ['519', toList(list).map(relayState)]],
  [
    'c8y_UploadConfigFile',
    (fragment) => (textAt(fragment, 'type') === '' ? ['520', []] : ['526', texts(fragment, 'type')]),
  ],
  [
    'c8y_DownloadConfigFile',
    (fragment) =>
      textAt(fragment, 'type') === '' ? ['521', texts(fragment, 'url')] : ['524', texts(fragment, 'url', 'type')],
  ],
  [
    'c8y_LogfileRequest',
    (fragment) => ['522', texts(fragment, 'logFile', 'dateFrom', 'dateTo', 'searchText', 'maximumLines')],
  ],
  ['c8y_CommunicationMode', (fragment) => ['523', texts(fragment, 'mode')]],
  ['c8y_DeviceProfile', (fragment) => ['527', profileValues(fragment)]],
  ['c8y_SoftwareUpdate', softwareUpdateRow],
  ['c8y_RemoteAccessConnect', (fragment) => ['530', texts(fragment, 'hostname', 'port', 'connectionKey')]],
]);

/**
 * @param members of the operation as stored: valid JSON texts.
 * @returns a row without line break for each fragment that has a template, in the order of the fragments; none =
 * nothing is sent.
 *   Members that are missing or of another type are empty values: the number of columns stays.
 */
export function operationRows(members: Members, target: OperationTarget): string[] {
  const rows: string[] = [];
  for (const [name, text] of members) {
    const maker = MAKERS.get(name);
    if (maker === undefined || text === 'null') continue;
    const value: unknown = JSON.parse(text);
    const [template, values] = maker(isJsonObject(value) ? value : {}, target, value);
    rows.push(encodeRow([template, target.serial, ...values]));
  }
  return rows;
}

/** 106, the answer to 105. */
export function childrenRow(childSerials: readonly string[]): string {
  return encodeRow(['106', ...childSerials]);
}

/** 124, the answer to 123. */
export function managedObjectIdRow(id: string): string {
  return encodeRow(['124', id]);
}

/** 601, the answer to 600. */
export function versionRow(version: string): string {
  return encodeRow(['601', version]);
}

function texts(fragment: JsonObject, ...names: string[]): string[] {
  return names.map((name) => textAt(fragment, name));
}

/** The named members of each element, one behind the other. */
function tuples(list: unknown, ...names: string[]): string[] {
  const values: string[] = [];
  for (const element of toList(list)) {
    if (isJsonObject(element)) values.push(...names.map((name) => withoutBlank(textAt(element, name), name)));
  }
  return values;
}

/** Front ends send a blank for packages without a URL; devices get none. */
const withoutBlank = (text: string, name: string): string => (name === 'url' && text.trim() === '' ? '' : text);

/** Stored both as `"OPEN"` and as `{"relayState":"OPEN"}` (docs/spec/inventory.md#fragments). */
function relayState(element: unknown): string {
  return isJsonObject(element) ? textAt(element, 'relayState') : textAt({ state: element }, 'state');
}

function firmwareRow(fragment: JsonObject): readonly [string, Values] {
  const isPatch = textAt(fragment, 'isPatch') === 'true';
  return isPatch
    ? ['525', texts(fragment, 'name', 'version', 'url', 'dependency')]
    : ['515', texts(fragment, 'name', 'version', 'url')];
}

function softwareUpdateRow(_fragment: JsonObject, target: OperationTarget, list: unknown): readonly [string, Values] {
  return target.hasSoftwareTypes
    ? ['529', tuples(list, 'name', 'version', 'softwareType', 'url', 'action')]
    : ['528', tuples(list, 'name', 'version', 'url', 'action')];
}

/** 527: each part behind its marker, absent parts without it. */
function profileValues(fragment: JsonObject): string[] {
  const values: string[] = [];
  if (isJsonObject(fragment.firmware)) {
    values.push('$FW', ...texts(fragment.firmware, 'name', 'version', 'url', 'isPatch', 'dependency'));
  }
  const software = tuples(listAt(fragment, 'software'), 'name', 'version', 'url', 'action');
  if (software.length > 0) values.push('$SW', ...software);
  const configuration = tuples(listAt(fragment, 'configuration'), 'url', 'type');
  if (configuration.length > 0) values.push('$CONF', ...configuration);
  return values;
}
