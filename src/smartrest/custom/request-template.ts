/** Request templates of SmartREST 2.0 (docs/spec/smartrest.md#request-templates): from a row to what it asks for. */
import { formatTime } from '../../model/documents/iso-time.ts';
import { parseEntityTime } from '../../model/documents/entity-time.ts';
import { parseNumber } from '../../model/documents/number-scan.ts';
import { FRAGMENT_NAME_RULE, isFragmentName } from '../../model/entities/fragments.ts';
import { isMeasurementName, isMeasurementText } from '../../model/entities/measurement.ts';
import type { MeasuredValue, NewMeasurement } from '../effects/effects.ts';
import { shorten, SmartRestError } from '../rows/error.ts';
import { MANDATORY, TemplateError, type Api, type RequestDefinition } from './definition.ts';
import { DocumentPlan, memberNames, type Leaf, type Slot } from './document-plan.ts';
import { VALUE_TYPE_NAMES, VALUE_TYPES, isNumberType, isValueTypeName, type ValueTypeName } from './value-types.ts';

/** Which managed object a row is about: by its id, or by an external ID. */
export type ObjectName = { readonly id: string } | { readonly type: string; readonly externalId: string };

/** What a row of a custom template asks for. `doc` is JSON text of an object, without `id`. */
export type CustomRequest =
  | { readonly kind: 'create'; readonly area: 'measurements' | 'events' | 'alarms'; readonly doc: string }
  | NewMeasurement
  /** Without a name it gets no external ID. */
  | { readonly kind: 'createObject'; readonly doc: string; readonly name?: { type: string; externalId: string } }
  | { readonly kind: 'readObject'; readonly object: ObjectName }
  | { readonly kind: 'updateObject'; readonly object: ObjectName; readonly doc: string }
  /** The ACTIVE alarm of the type, else the ACKNOWLEDGED one. */
  | { readonly kind: 'alarmOfType'; readonly type: string; readonly doc: string }
  /** The oldest operation with the fragment that is EXECUTING, else PENDING. */
  | { readonly kind: 'openOperation'; readonly fragment: string; readonly doc: string };

/** A measurement of one series whose names are fixed: the hot path encodes it without a document. */
export interface SingleSeries {
  readonly type: string;
  readonly fragment: string;
  readonly series: string;
  readonly unit: string;
  /** In the order of the row: at most one of each. */
  readonly slots: readonly ('time' | 'value')[];
  /** The value has to be whole, or whole and not negative. */
  readonly valueType: ValueTypeName;
}

export interface RequestTemplate {
  readonly messageId: string;
  /** Response templates are tried on what it answers. */
  readonly hasResponse: boolean;
  readonly single: SingleSeries | undefined;
  /** A row of it changes an object that it names. */
  readonly findsObject: boolean;
  /**
   * @param fields of the row, the message id first. @param now the time where none is sent, ms.
   * @throws SmartRestError 45 that names the value and what it takes.
   */
  read(fields: readonly string[], now: number): CustomRequest;
}

const MANDATORY_TYPES: Readonly<Record<string, ValueTypeName>> = {
  time: 'DATE',
  severity: 'SEVERITY',
  status: 'ALARMSTATUS',
};

/** @throws TemplateError that names the template, the value and what it takes. */
export function compileRequestTemplate(definition: RequestDefinition): RequestTemplate {
  try {
    return new CompiledRequest(definition);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new TemplateError(`Request template ${shorten(definition.msgId)}: ${error.message}`);
  }
}

class CompiledRequest implements RequestTemplate {
  readonly messageId: string;
  readonly hasResponse: boolean;
  readonly single: SingleSeries | undefined;
  readonly findsObject: boolean;
  readonly #definition: RequestDefinition;
  readonly #slots: Slot[] = [];
  readonly #plan = new DocumentPlan();
  /** Of `type` of PUT ALARM and `fragment` of PUT OPERATION, which are not members of the document. */
  readonly #key: Leaf | undefined;
  /** Of what names a managed object. */
  readonly #externalIdType: Leaf | undefined;
  readonly #objectSlot: number | undefined;
  readonly #series: SeriesPlan | undefined;

  constructor(definition: RequestDefinition) {
    const { msgId, method, api, mandatoryValues, customValues, externalIdType } = definition;
    this.#definition = definition;
    this.messageId = msgId;
    this.hasResponse = definition.response;
    this.findsObject = api === 'INVENTORY' && method === 'PUT';
    if (externalIdType !== undefined)
      this.#externalIdType =
        externalIdType === '' ? this.#slot('externalIdType', 'STRING', method === 'POST') : externalIdType;
    if (api === 'INVENTORY')
      this.#objectSlot = this.#slot(definition.byId === true ? 'id' : 'externalId', 'STRING', method === 'POST');
    for (const [index, name] of (MANDATORY[`${method} ${api}`] ?? []).entries()) {
      const leaf = this.#leaf(name, MANDATORY_TYPES[name] ?? 'STRING', mandatoryValues[index] ?? '');
      if (method === 'PUT') this.#key = leaf;
      else this.#plan.set([name], leaf);
    }
    if (method === 'GET' && customValues.length > 0) throw new TemplateError('GET takes no custom values');
    for (const { path, type, value } of customValues) this.#addCustom(path, type, value);
    if (api === 'MEASUREMENT') this.#series = seriesPlan(this.#plan, this.#slots);
    this.single = this.#series === undefined || this.hasResponse ? undefined : singleOf(this.#series, this.#slots);
  }

  #slot(name: string, type: ValueTypeName, mayBeEmpty: boolean): number {
    return this.#slots.push({ name, type, mayBeEmpty }) - 1;
  }

  /** @returns a slot for an empty value; a mandatory key without quotes. */
  #leaf(name: string, type: ValueTypeName, value: string): Leaf {
    return value === '' ? this.#slot(name, type, type === 'DATE') : jsonOf(name, type, value);
  }

  #addCustom(path: string, typeName: string, value: string): void {
    const type = typeName === '' ? 'STRING' : typeName;
    if (!isValueTypeName(type))
      throw new TemplateError(
        `the value ${shorten(path)} has the type ${shorten(typeName)}; it takes ${VALUE_TYPE_NAMES.join(', ')}`,
      );
    const names = memberNames(path);
    requireMember(this.#definition, names[0]);
    if (type !== 'FLAG') this.#plan.set(names, this.#leaf(path, type, value));
    else if (value === '') this.#plan.set(names, '{}');
    else throw new TemplateError(`the value ${shorten(path)} is a FLAG and ${shorten(value)}; a FLAG takes no value`);
  }

  read(fields: readonly string[], now: number): CustomRequest {
    const texts = this.#slots.map((_, index) => fields[index + 1] ?? '');
    if (fields.length - 1 > texts.length)
      throw new SmartRestError(
        45,
        this.messageId,
        `Wrong number of values: ${shorten(this.messageId)} takes ${texts.length}, got ${fields.length - 1}`,
      );
    const values = this.#slots.map((slot, index) => this.#check(slot, texts[index], now));
    if (this.#series !== undefined) return this.#measurement(this.#series, values);
    const { method, api } = this.#definition;
    switch (`${method} ${api}` as const) {
      case 'GET INVENTORY':
        return { kind: 'readObject', object: this.#object(texts) };
      case 'PUT INVENTORY':
        return { kind: 'updateObject', object: this.#object(texts), doc: this.#plan.textOf(values) };
      case 'POST INVENTORY':
        return this.#newObject(texts, values);
      case 'PUT ALARM':
        return { kind: 'alarmOfType', type: this.#keyOf(values), doc: this.#plan.textOf(values) };
      case 'PUT OPERATION':
        return { kind: 'openOperation', fragment: this.#keyOf(values), doc: this.#plan.textOf(values) };
      default:
        return { kind: 'create', area: AREAS[api] ?? 'measurements', doc: this.#plan.textOf(values) };
    }
  }

  #check({ name, type, mayBeEmpty }: Slot, value: string, now: number): string {
    if (value === '') {
      if (type === 'DATE') return JSON.stringify(formatTime(now));
      if (mayBeEmpty) return '""';
      throw new SmartRestError(
        45,
        this.messageId,
        `The value ${shorten(name)} is missing; it takes ${VALUE_TYPES[type].rule}`,
      );
    }
    const json = VALUE_TYPES[type].toJson(value);
    if (json === undefined)
      throw new SmartRestError(
        45,
        this.messageId,
        `The value ${shorten(name)} is ${shorten(value)}; it takes ${VALUE_TYPES[type].rule}`,
      );
    return json;
  }

  #keyOf(values: readonly string[]): string {
    const key = this.#key ?? '""';
    return JSON.parse(typeof key === 'number' ? values[key] : key) as string;
  }

  #typeOf(texts: readonly string[]): string {
    const type = this.#externalIdType ?? '';
    return typeof type === 'number' ? texts[type] : type;
  }

  #object(texts: readonly string[]): ObjectName {
    const name = texts[this.#objectSlot ?? 0];
    return this.#definition.byId === true ? { id: name } : { type: this.#typeOf(texts), externalId: name };
  }

  #newObject(texts: readonly string[], values: readonly string[]): CustomRequest {
    const doc = this.#plan.textOf(values);
    const [type, externalId] = [this.#typeOf(texts), texts[this.#objectSlot ?? 0]];
    if (externalId === '') return { kind: 'createObject', doc };
    if (type === '')
      throw new SmartRestError(45, this.messageId, `The type of the external ID ${shorten(externalId)} is missing`);
    return { kind: 'createObject', doc, name: { type, externalId } };
  }

  #measurement({ type, time, values: planned }: SeriesPlan, sent: readonly string[]): NewMeasurement {
    const jsonOfLeaf = (leaf: Leaf): string => (typeof leaf === 'number' ? sent[leaf] : leaf);
    const typeText = JSON.parse(jsonOfLeaf(type)) as string;
    if (!isMeasurementText(typeText))
      throw new SmartRestError(45, this.messageId, `The value type is ${shorten(typeText)}; it is too long`);
    return {
      kind: 'measurement',
      type: typeText,
      time: parseEntityTime(JSON.parse(jsonOfLeaf(time)) as string) as number,
      values: planned.map(({ fragment, series, value, unit }): MeasuredValue => {
        const text = jsonOfLeaf(value);
        return { fragment, series, value: parseNumber(text) as number, text, unit };
      }),
    };
  }
}

/** Members that no change has. */
const FIXED: Readonly<Record<Api, readonly string[]>> = {
  INVENTORY: ['owner'],
  MEASUREMENT: [],
  EVENT: [],
  ALARM: ['type', 'time', 'count', 'firstOccurrenceTime', 'firstOccurenceTime'],
  OPERATION: ['deviceId', 'bulkOperationId'],
};
const SERVER_KEPT = ['id', 'self', 'creationTime', 'lastUpdated'];

/** @throws TemplateError for a member that the API does not take. */
function requireMember({ method, api }: RequestDefinition, name: string): void {
  if (!isFragmentName(name))
    throw new TemplateError(`the member ${shorten(name)} is not taken; it takes ${FRAGMENT_NAME_RULE}`);
  const isFixed = method === 'PUT' && (name === 'source' || FIXED[api].includes(name));
  if (isFixed || SERVER_KEPT.includes(name)) throw new TemplateError(`the member ${name} cannot be set`);
}

const AREAS: Readonly<Record<string, 'measurements' | 'events' | 'alarms' | undefined>> = {
  EVENT: 'events',
  ALARM: 'alarms',
};

function jsonOf(name: string, type: ValueTypeName, value: string): string {
  const json = VALUE_TYPES[type].toJson(value);
  if (json !== undefined) return json;
  throw new TemplateError(`the value ${shorten(name)} is ${shorten(value)}; it takes ${VALUE_TYPES[type].rule}`);
}

/** A measurement with nothing but series of numbers with fixed units: it is encoded as those of static templates. */
interface SeriesPlan {
  readonly type: Leaf;
  readonly time: Leaf;
  readonly values: readonly {
    readonly fragment: string;
    readonly series: string;
    readonly value: Leaf;
    readonly unit: string;
  }[];
}

/** @returns undefined for a measurement with other members, which takes the way of documents. */
function seriesPlan({ leaves }: DocumentPlan, slots: readonly Slot[]): SeriesPlan | undefined {
  const found = new Map<string, { fragment: string; series: string; value?: Leaf; unit: string }>();
  let type: Leaf | undefined;
  let time: Leaf | undefined;
  for (const [path, leaf] of leaves) {
    if (path.length === 1 && path[0] === 'type') type = leaf;
    else if (path.length === 1 && path[0] === 'time') time = leaf;
    else {
      const [fragment, series, part] = path;
      if (path.length !== 3 || !isMeasurementName(fragment) || !isMeasurementName(series)) return undefined;
      const key = `${fragment}\n${series}`;
      const one = found.get(key) ?? { fragment, series, unit: '' };
      found.set(key, one);
      if (part === 'value' && isNumberLeaf(leaf, slots)) one.value = leaf;
      else if (part === 'unit' && isUnit(leaf)) one.unit = JSON.parse(leaf) as string;
      else return undefined;
    }
  }
  const values = [...found.values()].flatMap(({ value, ...one }) => (value === undefined ? [] : [{ ...one, value }]));
  if (type === undefined || time === undefined || values.length === 0 || values.length < found.size) return undefined;
  return { type, time, values };
}

const isNumberLeaf = (leaf: Leaf, slots: readonly Slot[]): boolean =>
  typeof leaf === 'number' ? isNumberType(slots[leaf].type) : parseNumber(leaf) !== undefined;

const isUnit = (leaf: Leaf): leaf is string =>
  typeof leaf === 'string' && leaf.startsWith('"') && leaf !== '""' && isMeasurementText(JSON.parse(leaf) as string);

function singleOf({ type, time, values }: SeriesPlan, slots: readonly Slot[]): SingleSeries | undefined {
  const [{ fragment, series, value, unit }] = values;
  if (values.length > 1 || typeof type === 'number' || typeof value !== 'number' || typeof time !== 'number')
    return undefined;
  const typeText = JSON.parse(type) as string;
  if (!isMeasurementText(typeText)) return undefined;
  return {
    type: typeText,
    fragment,
    series,
    unit,
    slots: slots.map((_, index) => (index === time ? 'time' : 'value')),
    valueType: slots[value].type,
  };
}
