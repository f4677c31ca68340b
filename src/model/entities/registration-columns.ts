/**
 * Columns of a file with new devices (docs/spec/device-registration.md#files): the header's rules, and what a line
 * says.
 */
import { AGENT_MARKER, AGENT_MARKERS } from './agent-marker.ts';
import { joinMembers } from '../documents/json-document.ts';
import type { Members } from '../documents/json-document.ts';
import { PlatformError } from '../errors.ts';
import { newManagedObject } from './managed-object.ts';
import { NEW_MANAGED_OBJECT } from './validators.ts';

/** Devices of one file. */
export const REGISTRATION_LINES_MAX = 10_000;
const COLUMNS_MAX = 200;
const NESTING_MAX = 20;
const PATH_GROUPS_MAX = 20;

/** Columns with a meaning of their own, in whatever letter case. */
const OWN_COLUMNS = [
  'ID',
  'CREDENTIALS',
  'AUTH_TYPE',
  'TENANT',
  'TYPE',
  'NAME',
  'ICCID',
  'IDTYPE',
  'PATH',
  'SHELL',
] as const;
type OwnColumn = (typeof OWN_COLUMNS)[number];
/** Files with these columns only announce devices. */
const SIMPLE_COLUMNS: ReadonlySet<string> = new Set(['ID', 'PATH', 'TENANT']);
/** TYPE and NAME are needed with any of them. */
const OBJECT_COLUMNS: readonly OwnColumn[] = ['ICCID', 'IDTYPE', 'PATH', 'SHELL'];
const EXTERNAL_PREFIX = 'external-';
const AGENT_COLUMNS = AGENT_MARKERS.map((marker) => `${marker}.active`);
/** Members that are no custom properties. */
const KEPT_MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'self',
  'owner',
  'creationTime',
  'lastUpdated',
  'c8y_IsDevice',
  'childDevices',
  'childAssets',
  'childAdditions',
  'deviceParents',
  'assetParents',
  'additionParents',
]);

const AUTH_TYPES = ['BASIC', 'CERTIFICATES'] as const;
export type AuthType = (typeof AUTH_TYPES)[number];

/** The header or a line is wrong, in words. */
export class RegistrationFault extends Error {}

/** What objects and external IDs take, whichever way they come. @throws RegistrationFault with the words of the refusal. */
export function registrable<Result>(checked: () => Result): Result {
  try {
    return checked();
  } catch (error) {
    throw error instanceof PlatformError ? new RegistrationFault(error.message) : error;
  }
}

type Column =
  | { readonly kind: 'own'; readonly name: OwnColumn }
  | { readonly kind: 'external'; readonly type: string }
  | { readonly kind: 'agent' }
  | { readonly kind: 'custom'; readonly path: readonly string[] };

export interface RegistrationLine {
  readonly id: string;
  readonly password: string | undefined;
  readonly authType: AuthType;
  /** Tenant id. */
  readonly tenant: string | undefined;
  readonly idType: string;
  /** Names of groups. */
  readonly path: readonly string[];
  readonly externalIds: readonly { readonly type: string; readonly externalId: string }[];
  /** The managed object, JSON text. */
  readonly doc: string;
}

/** @returns the first of tab, semicolon and comma that stands outside of quotes; a comma when there is none. */
export function separatorOf(text: string): string {
  let isQuoted = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (character === '\n' || character === '\r')) break;
    else if (!isQuoted && (character === '\t' || character === ';' || character === ',')) return character;
  }
  return ',';
}

export class RegistrationColumns {
  /** Only announces devices. */
  readonly isSimple: boolean;
  readonly #columns: readonly Column[];

  /** @throws RegistrationFault. */
  constructor(header: readonly string[]) {
    const names = header.map((name) => name.trim());
    if (names.length > COLUMNS_MAX) throw new RegistrationFault(`it has more than ${COLUMNS_MAX} columns`);
    this.#columns = names.map(columnOf);
    const keys = this.#columns.map((column) => JSON.stringify(column));
    const twice = names.find((_, index) => keys.indexOf(keys[index]) !== index);
    if (twice !== undefined) throw new RegistrationFault(`it has the column ${twice} twice`);
    if (!this.#has('ID')) throw new RegistrationFault('it has no column ID');
    this.isSimple = this.#columns.every((column) => column.kind === 'own' && SIMPLE_COLUMNS.has(column.name));
    if (this.isSimple) return;
    if (!this.#has('CREDENTIALS') && !this.#has('AUTH_TYPE'))
      throw new RegistrationFault('it has no column CREDENTIALS');
    const needing = OBJECT_COLUMNS.find((name) => this.#has(name));
    const missing = (['TYPE', 'NAME'] as const).filter((name) => !this.#has(name));
    if (needing !== undefined && missing.length > 0)
      throw new RegistrationFault(`it has the column ${needing} without ${missing.join(' and ')}`);
  }

  /** Of a line that may be wrong otherwise: '' without one. */
  idOf(values: readonly string[]): string {
    return values[this.#columns.findIndex((column) => column.kind === 'own' && column.name === 'ID')]?.trim() ?? '';
  }

  /**
   * @param values without the blanks around them, but for those in quotes: of passwords and texts they count. @throws
   * RegistrationFault.
   */
  line(values: readonly string[]): RegistrationLine {
    if (values.length !== this.#columns.length)
      throw new RegistrationFault(`it has ${values.length} values for ${this.#columns.length} columns`);
    const own: Partial<Record<OwnColumn, string>> = {};
    const externalIds: { type: string; externalId: string }[] = [];
    const custom = new Map<string, Nested>();
    let isAgent = false;
    this.#columns.forEach((column, index) => {
      const sent = values[index];
      const value = sent.trim();
      if (column.kind === 'own' && column.name === 'CREDENTIALS' && sent !== '') own.CREDENTIALS = sent;
      else if (value === '') return;
      else if (column.kind === 'own') own[column.name] = value;
      else if (column.kind === 'external') externalIds.push({ type: column.type, externalId: value });
      else if (column.kind === 'agent') isAgent = value.toLowerCase() === 'true';
      else nest(custom, column.path, sent);
    });
    const { ID: id = '', CREDENTIALS: password, TENANT: tenant, IDTYPE: idType = 'c8y_Serial' } = own;
    if (id === '') throw new RegistrationFault('it has no ID');
    const authType = AUTH_TYPES.find((type) => type === (own.AUTH_TYPE ?? 'BASIC').toUpperCase());
    if (authType === undefined)
      throw new RegistrationFault(`AUTH_TYPE is ${own.AUTH_TYPE}; it takes ${AUTH_TYPES.join(' or ')}`);
    if (!this.isSimple) {
      if (authType === 'BASIC' && password === undefined) throw new RegistrationFault('it has no CREDENTIALS');
      const needing = OBJECT_COLUMNS.find((name) => own[name] !== undefined);
      const missing = (['TYPE', 'NAME'] as const).filter((name) => own[name] === undefined);
      if (needing !== undefined && missing.length > 0)
        throw new RegistrationFault(`it has ${needing} without ${missing.join(' and ')}`);
    }
    const path = (own.PATH ?? '')
      .split('/')
      .map((name) => name.trim())
      .filter((name) => name !== '');
    if (path.length > PATH_GROUPS_MAX) throw new RegistrationFault(`PATH has more than ${PATH_GROUPS_MAX} groups`);
    return {
      id,
      password: authType === 'BASIC' ? password : undefined,
      authType,
      tenant,
      idType,
      path,
      externalIds,
      doc: documentOf(own, custom, isAgent),
    };
  }

  #has(name: OwnColumn): boolean {
    return this.#columns.some((column) => column.kind === 'own' && column.name === name);
  }
}

function columnOf(name: string): Column {
  if (name === '') throw new RegistrationFault('it has a column without a name');
  const own = OWN_COLUMNS.find((column) => column === name.toUpperCase());
  if (own !== undefined) return { kind: 'own', name: own };
  if (AGENT_COLUMNS.includes(name)) return { kind: 'agent' };
  if (name.startsWith(EXTERNAL_PREFIX) && name.length > EXTERNAL_PREFIX.length)
    return { kind: 'external', type: name.slice(EXTERNAL_PREFIX.length) };
  const path = name.split('.');
  if (path.includes('') || path.length > NESTING_MAX || path[0].startsWith('$') || KEPT_MEMBERS.has(path[0])) {
    throw new RegistrationFault(`a column cannot be named ${name}`);
  }
  return { kind: 'custom', path };
}

type Nested = string | Map<string, Nested>;

function nest(members: Map<string, Nested>, path: readonly string[], value: string): void {
  const [name, ...below] = path;
  if (below.length === 0) {
    if (members.has(name)) throw new RegistrationFault(`${name} is a text and has members`);
    members.set(name, value);
    return;
  }
  const inner = members.get(name) ?? new Map<string, Nested>();
  if (typeof inner === 'string') throw new RegistrationFault(`${name} is a text and has members`);
  members.set(name, inner);
  nest(inner, below, value);
}

const nestedText = (value: Nested): string =>
  typeof value === 'string'
    ? JSON.stringify(value)
    : joinMembers([...value].map(([name, inner]) => [name, nestedText(inner)] as const));

function documentOf(
  own: Partial<Record<OwnColumn, string>>,
  custom: ReadonlyMap<string, Nested>,
  isAgent: boolean,
): string {
  const members: Members = new Map([['name', JSON.stringify(own.NAME ?? own.ID)]]);
  if (own.TYPE !== undefined) members.set('type', JSON.stringify(own.TYPE));
  members.set('c8y_IsDevice', '{}');
  if (isAgent) members.set(AGENT_MARKER, '{}');
  for (const [name, value] of custom) members.set(name, nestedText(value));
  if (own.ICCID !== undefined) members.set('c8y_Mobile', JSON.stringify({ ...mobileOf(custom), iccid: own.ICCID }));
  if (own.SHELL === '1') members.set('c8y_SupportedOperations', '["c8y_Command"]');
  return registrable(() => newManagedObject(NEW_MANAGED_OBJECT.checked(members)).doc);
}

function mobileOf(custom: ReadonlyMap<string, Nested>): object {
  const sent = custom.get('c8y_Mobile');
  return sent === undefined || typeof sent === 'string' ? {} : (JSON.parse(nestedText(sent)) as object);
}
