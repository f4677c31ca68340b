/**
 * Rows of custom templates (docs/spec/smartrest.md#custom-rows): the records of one message, and the rows that answer
 * it. What a row creates takes the way of JSON over MQTT, with its rights and rules.
 */
import { NotLoaded } from '../../actors/runtime/state-view.ts';
import type { OfferedRecord } from '../../ingest/journal/command-bus.ts';
import { encodeCommand } from '../../ingest/journal/command-record.ts';
import { decodeMeasurement, documentText } from '../../ingest/measurements/record.ts';
import { INVENTORY_ADMIN, INVENTORY_READ } from '../../model/access/roles.ts';
import { serialClaim } from '../../model/access/serial-claim.ts';
import type { ActorKey } from '../../model/commands/command.ts';
import type { DeviceEnsureChecked } from '../../model/commands/external-ids.ts';
import { COMMAND, type CommandKind } from '../../model/commands/kinds.ts';
import { joinMembers, parseMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { externalIdKey, requireExternalId } from '../../model/entities/external-id.ts';
import { managedObjectChange, newManagedObject } from '../../model/entities/managed-object.ts';
import {
  ALARM_CHANGE,
  MANAGED_OBJECT_CHANGE,
  NEW_MANAGED_OBJECT,
  OPERATION_CHANGE,
} from '../../model/entities/validators.ts';
import { isAlarmStored, isStored, isStoredAs, PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { PlatformError } from '../../model/errors.ts';
import type { EntityViews } from '../../ports/entity-views.ts';
import type { Refused } from '../../ports/refusals.ts';
import { collectionDocument, requestOf, requireXId } from '../../smartrest/custom/collection.ts';
import {
  COLLECTIONS_MAX,
  isCollectionType,
  requireRoomForCollection,
  X_ID_TYPE,
} from '../../smartrest/custom/collection-shares.ts';
import { TemplateError } from '../../smartrest/custom/definition.ts';
import { JsonPathError } from '../../smartrest/custom/json-path.ts';
import type { PathBudget } from '../../smartrest/custom/path-values.ts';
import type { CustomRequest, ObjectName, RequestTemplate } from '../../smartrest/custom/request-template.ts';
import { effectRecord, type EffectTarget } from '../../smartrest/effects/records.ts';
import { requireTemplates } from '../../smartrest/one/collection.ts';
import { encodeRow } from '../../smartrest/rows/csv-encode.ts';
import type { NumberedRow } from '../../smartrest/rows/csv.ts';
import { SmartRestError } from '../../smartrest/rows/error.ts';
import { noOperationError } from '../../smartrest/static/templates.ts';
import type { Device } from './device.ts';
import { hear, planJson, requireCreation, type JsonParts } from './json-messages.ts';
import type { MessageRights } from './rights.ts';
import type { KnownCollection, TemplateCollections } from './template-collections.ts';

/** What creation of a collection is answered with when the X-ID is taken. */
const EXISTS = 'Cannot create templates for already existing template object';

interface CustomParts extends JsonParts {
  readonly templates: TemplateCollections;
}

/** One message on `s/uc/<xid>` or `s/ud`. */
export interface CustomMessage {
  readonly target: EffectTarget;
  readonly known: KnownCollection;
  /** Of its answers. */
  readonly topic: string;
  readonly rights: MessageRights;
  /** Of all its answers. */
  readonly budget: PathBudget;
}

/** What is to be done for a message. */
interface PlannedRecords {
  readonly records: OfferedRecord[];
  /** Once the records are taken. */
  readonly afterwards: (() => void)[];
}

interface PlannedRows extends PlannedRecords {
  /** Objects that rows make and rows behind them name: with them the message is to be planned again. */
  readonly needed: ReadonlySet<DeviceEnsureChecked>;
}

/** @throws NotLoaded when it has to be planned again. */
export function planCustom(
  message: CustomMessage,
  rows: readonly NumberedRow[],
  link: Device,
  parts: CustomParts,
): PlannedRows {
  const needed = new Set<DeviceEnsureChecked>();
  const planned: PlannedRows = { records: [], afterwards: [], needed };
  const made = new Map<string, DeviceEnsureChecked>();
  for (const { number, fields } of rows) {
    const row = new CustomRow(message, { number, messageId: fields[0] ?? '', made }, link, parts);
    try {
      row.plan(requestOf(message.known.collection, message.known.xid, row.messageId), fields);
      planned.records.push(...row.records);
      planned.afterwards.push(...row.afterwards);
    } catch (error) {
      if (error instanceof NotLoaded) throw error;
      if (!(error instanceof SmartRestError || error instanceof PlatformError)) throw error;
      const body = error instanceof PlatformError ? made.get(nameNotFound(error)) : undefined;
      if (body !== undefined && link.madeFirst === undefined) needed.add(body);
      else planned.afterwards.push(() => row.refuse(error));
    }
  }
  return planned;
}

/** @returns the key of the external ID that is not there; '' for another error. */
const nameNotFound = ({ code, details }: PlatformError): string =>
  code === 'identity/not-found' ? externalIdKey(String(details['type']), String(details['value'])) : '';

class CustomRow {
  readonly records: OfferedRecord[] = [];
  readonly afterwards: (() => void)[] = [];
  readonly messageId: string;
  readonly #number: number;
  readonly #message: CustomMessage;
  readonly #link: Device;
  readonly #parts: CustomParts;
  readonly #made: Map<string, DeviceEnsureChecked>;
  #hasResponse = false;

  /** @param row.made objects with external IDs that the rows before it make. */
  constructor(
    message: CustomMessage,
    row: { readonly number: number; readonly messageId: string; readonly made: Map<string, DeviceEnsureChecked> },
    link: Device,
    parts: CustomParts,
  ) {
    this.#message = message;
    this.#number = row.number;
    this.messageId = row.messageId;
    this.#made = row.made;
    this.#link = link;
    this.#parts = parts;
  }

  /** The device is told which row has which fault. */
  refuse(error: Error): void {
    const code = error instanceof SmartRestError ? error.code : 50;
    const text = `Row ${this.#number}: ${error.message}`;
    this.#link.replies.sendError(new SmartRestError(code, this.messageId, text), this.messageId);
  }

  plan(template: RequestTemplate, fields: readonly string[]): void {
    const { target } = this.#message;
    this.#hasResponse = template.hasResponse;
    const request = template.read(fields, target.receivedAt);
    const requireRole = (...roles: string[]): void =>
      this.#parts.objects.requireRoleOfRow(this.#link, target.source, roles, this.#message.rights);
    switch (request.kind) {
      case 'measurement':
        requireRole('ROLE_MEASUREMENT_ADMIN');
        this.records.push(effectRecord(request, target, this.#parts.ids, this.#onAnswer()));
        this.#answerMeasurement(this.records[0].record);
        return;
      case 'create':
        this.#create(request);
        return;
      case 'createObject':
        this.#createObject(request);
        return;
      case 'readObject':
        this.#read(request.object);
        return;
      case 'updateObject':
        this.#update(request.object, request.doc);
        return;
      case 'alarmOfType':
        requireRole('ROLE_ALARM_ADMIN');
        ALARM_CHANGE.checked(parseMembers(request.doc));
        this.#command(
          COMMAND.ALARM_OF_TYPE_UPDATE,
          target.source,
          { type: request.type, doc: request.doc, user: target.userName },
          (answer) => this.#answer(() => this.#dataView('alarms', answer)),
        );
        return;
      case 'openOperation':
        requireRole('ROLE_DEVICE_CONTROL_ADMIN');
        OPERATION_CHANGE.checked(parseMembers(request.doc));
        this.#command(
          COMMAND.OPERATION_UPDATE,
          target.source,
          {
            fragment: request.fragment,
            fromStatus: 'EXECUTING',
            orFromStatus: 'PENDING',
            doc: request.doc,
            user: target.userName,
          },
          (answer) => this.#answer(() => this.#operationView(docOf(answer))),
        );
    }
  }

  #create({ area, doc }: CustomRequest & { kind: 'create' }): void {
    const { mode, source } = this.#message.target;
    const members = parseMembers(doc);
    if (!members.has('source')) members.set('source', `{"id":"${source}"}`);
    const text = joinMembers(members);
    const records = planJson(
      { kind: 'json', mode, area, action: 'create' },
      text,
      this.#link,
      this.#parts,
      (error) => this.refuse(error),
      this.#message.rights,
    );
    const resolve = (answer: unknown): void =>
      this.#answer(() => (area === 'measurements' ? docOf(answer) : this.#dataView(area, answer)));
    for (const { record, onAnswer } of records)
      this.records.push(onAnswer === undefined ? { record } : { record, onAnswer: { ...this.#onAnswer(), resolve } });
    if (area === 'measurements') this.#answerMeasurement(this.records[0].record);
  }

  #createObject({ doc: sent, name }: CustomRequest & { kind: 'createObject' }): void {
    const { ids } = this.#parts;
    const { principal } = this.#link.connection;
    requireCreation(principal.roles);
    const members = NEW_MANAGED_OBJECT.checked(parseMembers(sent));
    requireTemplates(members);
    const { doc } = newManagedObject(members);
    const key = name === undefined ? '' : externalIdKey(name.type, name.externalId);
    const isRepeated = this.#made.has(key);
    const madeFirst = isRepeated ? undefined : this.#link.madeFirst?.get(key);
    const id = madeFirst ?? String(ids.next());
    const owner = principal.userName;
    // What is not stored is not found by a name either.
    if (name === undefined || !isStored(this.#message.target.mode)) {
      this.#command(COMMAND.MANAGED_OBJECT_CREATE, Number(id), { id, owner, doc }, (answer) =>
        this.#answer(() => this.#objectView(COMMAND.MANAGED_OBJECT_CREATE, id, docOf(answer))),
      );
      return;
    }
    requireExternalId(name.type, name.externalId);
    if (name.type === X_ID_TYPE) requireXId(name.externalId);
    if (madeFirst === undefined) requireRoom(name.type, this.#link, this.#parts);
    const by = isCollectionType(name.type) ? { by: owner } : {};
    const body: DeviceEnsureChecked = { ...name, id, owner, doc, ...by, ...serialClaim(principal) };
    if (!isRepeated) this.#made.set(key, body);
    this.#command(COMMAND.DEVICE_ENSURE, `x:${key}`, body, (answer) => {
      // It has the id of this row when it was made first.
      if ((answer as { id: string }).id === id) this.#answer(() => this.#newObjectView(id, doc));
      else this.refuse(new PlatformError('identity/duplicate', { type: name.type, value: name.externalId }));
    });
  }

  /** @throws PlatformError when the object is not found. */
  #sourceOf(object: ObjectName): number {
    const { known } = this.#parts.objects;
    const { tenantNumber } = this.#link;
    if ('id' in object) {
      if (!isEntityId(object.id)) throw new PlatformError('inventory/not-found', { id: object.id });
      return Number(object.id);
    }
    const { type, externalId } = object;
    requireExternalId(type, externalId);
    const key = externalIdKey(type, externalId);
    const text = known.get('externalId', tenantNumber, key);
    // One that was made first is there for the rows behind that which makes it.
    const isLater = this.#link.madeFirst?.has(key) === true && !this.#made.has(key);
    if (text === undefined || isLater) throw new PlatformError('identity/not-found', { type, value: externalId });
    return Number((JSON.parse(text) as { managedObject: string }).managedObject);
  }

  /** Read when the rows before have been answered: it shows what they have changed. */
  #read(object: ObjectName): void {
    const { objects } = this.#parts;
    const read = (): { readonly id: string; readonly text: string } => {
      const source = this.#sourceOf(object);
      objects.requireGlobalRight(this.#link, source, INVENTORY_READ, this.#message.rights);
      const text = objects.known.get('managedObject', this.#link.tenantNumber, String(source));
      if (text === undefined) throw new PlatformError('inventory/not-found', { id: source });
      return { id: String(source), text };
    };
    this.#afterAnswers(async () => {
      const { id, text } = await objects.known.decide(read);
      return this.#hasResponse ? (this.#views?.managedObject(this.#link.tenantNumber, id, text) ?? text) : text;
    });
  }

  #update(object: ObjectName, sent: string): void {
    const changes = MANAGED_OBJECT_CHANGE.checked(parseMembers(sent));
    requireTemplates(changes);
    const source = this.#sourceOf(object);
    this.#parts.objects.requireGlobalRight(this.#link, source, INVENTORY_ADMIN, this.#message.rights);
    hear(source, this.#link, this.#parts);
    this.#command(
      COMMAND.MANAGED_OBJECT_UPDATE,
      source,
      { doc: managedObjectChange(changes), mayChangeOwner: false },
      (answer) => this.#answer(() => this.#objectView(COMMAND.MANAGED_OBJECT_UPDATE, String(source), docOf(answer))),
    );
  }

  #command(kind: CommandKind, key: ActorKey, body: object, resolve?: (answer: unknown) => void): void {
    const { tenantNumber: tenant, mode, receivedAt } = this.#message.target;
    const record = encodeCommand({ kind, key, body, tenant, mode, receivedAt });
    this.records.push({ record, onAnswer: { ...this.#onAnswer(), ...(resolve === undefined ? {} : { resolve }) } });
  }

  #onAnswer(): NonNullable<OfferedRecord['onAnswer']> {
    return {
      resolve: (answer) => this.#answer(() => docOf(answer)),
      reject: (error) => {
        const isNoOperation = error instanceof PlatformError && error.code === 'devicecontrol/no-operation';
        this.refuse(isNoOperation ? noOperationError(this.messageId) : error);
      },
    };
  }

  /** @param record of the measurement, which has no actor that would answer. */
  #answerMeasurement(record: Buffer): void {
    if (!this.#hasResponse) return;
    const measurement = decodeMeasurement(record, 0);
    const id = isStored(measurement.mode) ? String(measurement.id) : '';
    const text = documentText(measurement);
    this.#afterAnswers(() => this.#views?.measurement(id, text) ?? text);
  }

  get #views(): EntityViews | undefined {
    return this.#parts.hooks.views;
  }

  /** Of an event or alarm. @param answer of its actor. */
  #dataView(area: 'events' | 'alarms', answer: unknown): string | Promise<string> {
    const doc = docOf(answer);
    const { mode, tenantNumber } = this.#message.target;
    const isAlarm = area === 'alarms';
    const { isSuppressed } = answer as { isSuppressed?: boolean };
    const isUnstored = isAlarm ? isSuppressed === true || !isAlarmStored(mode) : !isStored(mode);
    if (isUnstored) return this.#views?.unstored(doc) ?? doc;
    const id = stringMember(splitMembers(doc), 'id') ?? '';
    return this.#views?.[isAlarm ? 'alarm' : 'event'](tenantNumber, id, doc) ?? doc;
  }

  /** @param doc as the actor has answered it. */
  #objectView(kind: CommandKind, id: string, doc: string): string | Promise<string> {
    const isUnstored = !isStoredAs(kind, this.#message.target.mode);
    const views = this.#views;
    if (isUnstored) return views?.unstored(doc) ?? doc;
    return views?.managedObject(this.#link.tenantNumber, id, doc) ?? doc;
  }

  /** @param doc what was sent: its actor makes it later. */
  #newObjectView(id: string, doc: string): string | Promise<string> {
    const sent = (): string => joinMembers([['id', JSON.stringify(id)], ...splitMembers(doc)]);
    return this.#views?.newManagedObject(this.#link.tenantNumber, id) ?? sent();
  }

  #operationView(doc: string): string | Promise<string> {
    const id = stringMember(splitMembers(doc), 'id') ?? '';
    return this.#views?.operation(this.#link.tenantNumber, id, doc) ?? doc;
  }

  #afterAnswers(view: View): void {
    this.afterwards.push(() => this.#link.acknowledgements.afterAnswers(() => this.#answerInOrder(view)));
  }

  /** Nothing is read for an answer that is not asked for. */
  #answer(view: View): void {
    if (this.#hasResponse) this.#answerInOrder(view);
  }

  /** Behind the answers of the rows before. */
  #answerInOrder(view: View): void {
    this.#link.replies.inOrder(async () => {
      try {
        // Before anything is read for it.
        if (this.#message.budget.isSpent)
          throw new SmartRestError(50, this.messageId, 'The rows before have used up what one message may ask for');
        this.#respond(await view());
      } catch (error) {
        if (!(error instanceof PlatformError || error instanceof SmartRestError)) throw error;
        this.refuse(error);
      }
    });
  }

  /** @param doc JSON text of what was written or read. */
  #respond(doc: string): void {
    if (!this.#hasResponse) return;
    const { known, budget } = this.#message;
    const { rows, fault } = responseRows(known, doc, budget);
    if (fault !== undefined) this.refuse(fault);
    if (rows.length > 0) this.#link.replies.sendRow(this.#message.topic, rows.join('\n'));
  }
}

/** JSON text of an entity as REST answers it. */
type View = () => string | Promise<string>;

/** JSON text of what was written. */
const docOf = (answer: unknown): string => (answer as { doc: string }).doc;

/** For a further collection, if an external ID of the type makes one. @throws NotLoaded; PlatformError at its bounds. */
function requireRoom(type: string, link: Device, { objects, refusals }: CustomParts, refused?: Refused): void {
  if (!isCollectionType(type)) return;
  const others = objects.known.list('externalId', link.tenantNumber, externalIdKey(type, ''), {
    limit: COLLECTIONS_MAX,
  });
  requireRoomForCollection(type, { others, by: link.connection.principal }, refusals, refused);
}

/**
 * Rows of all response templates that apply. @param doc JSON text. @param leading values in front of those of the
 * patterns.
 * `fault`: a template that found too much; it and those behind it are not answered.
 */
export function responseRows(
  { collection }: KnownCollection,
  doc: string,
  budget: PathBudget,
  leading: readonly string[] = [],
): { readonly rows: string[]; readonly fault?: SmartRestError } {
  const rows: string[] = [];
  let messageId = '';
  try {
    const value = budget.parse(doc);
    for (const template of collection.responses) {
      ({ messageId } = template);
      for (const values of template.rowsOf(value, budget)) rows.push(encodeRow([messageId, ...leading, ...values]));
    }
    return { rows };
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    return { rows, fault: new SmartRestError(50, messageId, error.message) };
  }
}

/**
 * A message with templates on `s/ut/<xid>`: one record that keeps them all, or the fault on `s/dt`. @param rows its
 * rows.
 * @throws NotLoaded.
 */
export function planCollection(
  xid: string,
  rows: readonly (readonly string[])[],
  link: Device,
  parts: CustomParts,
  /** Told when there is a new collection. */
  onCreated: () => void,
): PlannedRecords {
  const { connection, tenantNumber: tenant } = link;
  const refuse = (reason: string): void => {
    link.replies.refuseTemplates(xid, reason);
  };
  try {
    requireCreation(connection.principal.roles);
    requireXId(xid);
    const doc = collectionDocument(xid, rows);
    requireRoom(X_ID_TYPE, link, parts, link.replies.refused(`the collection ${xid}`));
    const id = String(parts.ids.next());
    const body: DeviceEnsureChecked = {
      type: X_ID_TYPE,
      externalId: xid,
      id,
      owner: connection.principal.userName,
      doc,
      by: connection.principal.userName,
    };
    const record = encodeCommand({
      kind: COMMAND.DEVICE_ENSURE,
      key: `x:${externalIdKey(X_ID_TYPE, xid)}`,
      body,
      tenant,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: parts.now(),
    });
    const resolve = (answer: unknown): void => {
      const { created } = answer as { created: boolean };
      if (!created) return refuse(EXISTS);
      link.replies.sendRow('s/dt', encodeRow([20, xid, id]));
      onCreated();
    };
    return { records: [{ record, onAnswer: { resolve, reject: ({ message }) => refuse(message) } }], afterwards: [] };
  } catch (error) {
    if (!(error instanceof TemplateError) && !(error instanceof PlatformError)) throw error;
    return { records: [], afterwards: [() => refuse(error.message)] };
  }
}
