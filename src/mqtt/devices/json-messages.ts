/**
 * JSON over MQTT (docs/spec/mqtt-json.md): the REST documents on topics, with the connected device as the default
 * source.
 */
import { NotLoaded } from '../../actors/runtime/state-view.ts';
import type { OfferedRecord } from '../../ingest/journal/command-bus.ts';
import { encodeCommand } from '../../ingest/journal/command-record.ts';
import { parseMeasurement, sourceIdOf } from '../../ingest/measurements/parse.ts';
import type { ParsedMeasurement } from '../../ingest/measurements/parse.ts';
import { encodeMeasurement } from '../../ingest/measurements/record.ts';
import { alarmChange, newAlarm } from '../../model/entities/alarm.ts';
import {
  DATA_DELETION_PREFIX,
  DATA_DELETIONS_LIMIT,
  DATA_DELETIONS_MAX,
} from '../../model/commands/data-deletion-jobs.ts';
import type { DataDelete } from '../../model/commands/deletion.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { ActorKey } from '../../model/commands/command.ts';
import type { ManagedObjectCreate } from '../../model/commands/entities.ts';
import type { CommandKind } from '../../model/commands/kinds.ts';
import { isNotified } from '../../model/commands/processing-mode.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import { eventChange, newEvent } from '../../model/entities/event.ts';
import {
  isReference,
  managedObjectChange,
  newManagedObject,
  referencedId,
} from '../../model/entities/managed-object.ts';
import {
  ALARM_CHANGE,
  EVENT_CHANGE,
  MANAGED_OBJECT_CHANGE,
  NEW_ALARM,
  NEW_CHILD,
  NEW_EVENT,
  NEW_MANAGED_OBJECT,
} from '../../model/entities/validators.ts';
import {
  joinMembers,
  parseMembers,
  splitElements,
  splitMembers,
  stringMember,
} from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { hasAnyOf, INVENTORY_ADMIN, mayCreateObjects } from '../../model/access/roles.ts';
import { SERIAL_TYPE } from '../../model/access/serial-claim.ts';
import { requireTemplates } from '../../smartrest/one/collection.ts';
import type { JsonTopic } from '../../smartrest/json-topics.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { LiveBus } from '../../ports/live-bus.ts';
import type { FoundMeasurement, MeasurementSearch } from '../../ports/measurement-search.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { Device } from './device.ts';
import type { DeviceHooks } from './hooks.ts';
import type { DeviceObjects } from './objects.ts';
import { MessageRights } from './rights.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';

/** @throws PlatformError 403 without a role that creates objects, as over REST. */
export function requireCreation(roles: ReadonlySet<string>): void {
  if (!mayCreateObjects(roles)) throw new PlatformError('security/forbidden');
}

const isKnown = (source: number, { tenantNumber }: Device, { objects }: Pick<JsonParts, 'objects'>): boolean =>
  objects.known.get('managedObject', tenantNumber, String(source)) !== undefined;

/**
 * Notes that a device is there that a message is about. The connected one is heard anyway; an id that is not the tenant's
 * may be that of another one's device.
 */
export function hear(source: number, link: Device, parts: Pick<JsonParts, 'objects' | 'hooks' | 'now'>): void {
  const { onHeard } = parts.hooks;
  if (onHeard === undefined || source === link.source) return;
  if (isKnown(source, link, parts)) onHeard(link.tenantNumber, source, parts.now());
}

/** Who may write to any source. */
const ADMIN_ROLES: Readonly<Record<JsonTopic['area'], readonly string[]>> = {
  measurements: ['ROLE_MEASUREMENT_ADMIN'],
  events: ['ROLE_EVENT_ADMIN'],
  alarms: ['ROLE_ALARM_ADMIN'],
  managedObjects: INVENTORY_ADMIN,
};

/** What messages in JSON use of the application. */
export interface JsonParts {
  readonly objects: DeviceObjects;
  readonly ids: IdSource;
  readonly now: () => number;
  readonly hooks: DeviceHooks;
  readonly refusals: Refusals;
  readonly storedMeasurements: MeasurementSearch;
  readonly bus: Pick<LiveBus, 'publish'>;
}

/** Makes the records of one message. */
class JsonMessage {
  readonly records: OfferedRecord[] = [];
  readonly #rights: MessageRights;
  readonly #isOfRows: boolean;
  readonly #topic: JsonTopic;
  readonly #link: Device;
  readonly #parts: JsonParts;
  readonly #onError: (error: PlatformError) => void;

  constructor(
    topic: JsonTopic,
    link: Device,
    parts: JsonParts,
    onError: (error: PlatformError) => void,
    rightsOfRows?: MessageRights,
  ) {
    this.#topic = topic;
    this.#link = link;
    this.#parts = parts;
    this.#onError = onError;
    this.#isOfRows = rightsOfRows !== undefined;
    this.#rights = rightsOfRows ?? new MessageRights();
  }

  plan(payload: string): void {
    const { area, action, id } = this.#topic;
    if (action === 'delete') {
      this.#delete(area, id ?? '');
    } else if (action === 'createBulk') {
      const list = parseMembers(payload).get(area);
      if (list === undefined || !list.startsWith('['))
        throw new PlatformError('validation/mandatory-fields', { names: area });
      // Elements are independent: the first error is reported, the others are taken.
      let isReported = false;
      // All that has to be loaded is asked for at once.
      const loading: Promise<void>[] = [];
      for (const element of splitElements(list)) {
        try {
          this.#create(area, element);
        } catch (error) {
          if (error instanceof NotLoaded) {
            loading.push(error.loaded);
            continue;
          }
          if (!(error instanceof PlatformError)) throw error;
          if (!isReported) this.#onError(error);
          isReported = true;
        }
      }
      if (loading.length > 0) throw new NotLoaded(Promise.all(loading).then(() => undefined));
    } else if (action === 'create') {
      this.#create(area, payload);
    } else if (action === 'update') {
      this.#update(area, id ?? '', payload);
    } else {
      this.#createChild(id ?? '', payload);
    }
  }

  #create(area: JsonTopic['area'], text: string): void {
    const { ids } = this.#parts;
    const { tenantNumber, connection } = this.#link;
    const user = connection.principal.userName;
    const members = parseMembers(text);
    if (area === 'managedObjects') {
      requireCreation(this.#link.connection.principal.roles);
      this.#createObject(NEW_MANAGED_OBJECT.checked(members));
      return;
    }
    this.#addSource(members);
    if (area === 'measurements') {
      const measurement = parseMeasurement(joinMembers(members));
      this.#requireWritable(area, measurement.source);
      this.#requireSource(measurement.source);
      this.#measurement(measurement);
    } else if (area === 'events') {
      const { source, ...event } = newEvent(NEW_EVENT.checked(members));
      this.#requireWritable(area, Number(source));
      const id = String(ids.nextBeside(tenantNumber, Number(source)));
      this.#command(COMMAND.EVENT_CREATE, Number(source), { id, ...event });
    } else {
      const { source, ...alarm } = newAlarm(NEW_ALARM.checked(members));
      this.#requireWritable(area, Number(source));
      const id = String(ids.nextBeside(tenantNumber, Number(source)));
      this.#command(COMMAND.ALARM_CREATE, Number(source), { id, ...alarm, user });
    }
  }

  #requireRight(area: JsonTopic['area'], source: number): void {
    const { objects } = this.#parts;
    if (this.#isOfRows) objects.requireGlobalRight(this.#link, source, ADMIN_ROLES[area], this.#rights);
    else objects.requireRight(this.#link, source, ADMIN_ROLES[area], this.#rights);
  }

  /** Of data, and of changes of objects, which show that the object's device is there. */
  #requireWritable(area: JsonTopic['area'], source: number): void {
    this.#requireRight(area, source);
    hear(source, this.#link, this.#parts);
  }

  /** Only an administrator of the inventory names another owner, as with REST. */
  #createObject(members: Members, parent?: ManagedObjectCreate['parent']): void {
    const { userName, roles } = this.#link.connection.principal;
    requireTemplates(members);
    const { doc, owner } = newManagedObject(members);
    const id = this.#parts.ids.next();
    const body: ManagedObjectCreate = {
      id: String(id),
      owner: owner !== undefined && hasAnyOf(roles, ADMIN_ROLES.managedObjects) ? owner : userName,
      doc,
      ...(parent === undefined ? {} : { parent }),
    };
    this.#command(COMMAND.MANAGED_OBJECT_CREATE, id, body);
  }

  /** Measurements go to no actor that would refuse them. */
  #requireSource(source: number): void {
    if (source === this.#link.source || isKnown(source, this.#link, this.#parts)) return;
    throw new PlatformError('source/not-found', { area: 'measurement', id: source });
  }

  #measurement(measurement: ParsedMeasurement): void {
    const { ids, now } = this.#parts;
    this.records.push({
      record: encodeMeasurement({
        ...measurement,
        tenant: this.#link.tenantNumber,
        id: ids.next(),
        mode: this.#topic.mode,
        receivedAt: now(),
      }),
    });
  }

  #update(area: JsonTopic['area'], id: string, text: string): void {
    const members = parseMembers(text);
    const user = this.#link.connection.principal.userName;
    if (area === 'managedObjects') {
      const changes = MANAGED_OBJECT_CHANGE.checked(members);
      requireTemplates(changes);
      const source = this.#parts.objects.sourceOf(this.#link.tenantNumber, id) ?? numberOf(id);
      if (source === undefined) throw new PlatformError('inventory/not-found', { id });
      this.#requireWritable(area, source);
      this.#command(COMMAND.MANAGED_OBJECT_UPDATE, source, {
        doc: managedObjectChange(changes),
        mayChangeOwner: false,
      });
    } else if (area === 'alarms') {
      const changes = ALARM_CHANGE.checked(members);
      const { source, stored } = this.#entity('alarm', id);
      this.#requireRight(area, source);
      this.#command(COMMAND.ALARM_UPDATE, source, { id, doc: alarmChange(changes, stored), user });
    } else {
      const changes = EVENT_CHANGE.checked(members);
      const { source, stored } = this.#entity('event', id);
      this.#requireRight(area, source);
      this.#command(COMMAND.EVENT_UPDATE, source, { id, doc: eventChange(changes, stored), user });
    }
  }

  #delete(area: JsonTopic['area'], id: string): void {
    if (area === 'events') {
      const { source } = this.#entity('event', id);
      this.#requireRight(area, source);
      this.#command(COMMAND.EVENT_DELETE, source, { id });
    } else {
      this.#deleteMeasurement(id);
    }
  }

  /** The history knows whose it is, and live data is told when the deletion is durable: no actor does either. */
  #deleteMeasurement(id: string): void {
    const { objects, storedMeasurements, bus } = this.#parts;
    const { tenantNumber: tenant, connection } = this.#link;
    const find = (): Promise<FoundMeasurement | Error | undefined> =>
      storedMeasurements.find(id, { tenant, user: connection.principal.userName }).catch((error: Error) => error);
    const found = isEntityId(id) ? objects.known.ask(`measurement ${id}`, find) : undefined;
    // The message is refused, and those behind it go on: the history may be away for long.
    if (found instanceof Error) throw found;
    if (found === undefined) throw new PlatformError('measurement/not-found', { id });
    this.#requireRight('measurements', found.source);
    this.#requireFewDeletions();
    const source = String(found.source);
    const time = formatTime(found.timeMs);
    const body: DataDelete = { table: 'measurements', filter: { id, source, dateFrom: time, dateTo: time } };
    this.#command(COMMAND.DATA_DELETE, TENANT_KEY, body, () => {
      if (isNotified(this.#topic.mode))
        bus.publish({ tenant, area: 'measurements', source, action: 'DELETE', text: () => JSON.stringify(id) });
    });
  }

  #requireFewDeletions(): void {
    const { objects, refusals } = this.#parts;
    const options = { limit: DATA_DELETIONS_MAX };
    const jobs = objects.known.list('job', this.#link.tenantNumber, DATA_DELETION_PREFIX, options);
    if (jobs.length < DATA_DELETIONS_MAX) return;
    const error = refusedBy(DATA_DELETIONS_LIMIT);
    refusals.count(DATA_DELETIONS_LIMIT, this.#link.replies.refused(error.message));
    throw error;
  }

  #createChild(parent: string, text: string): void {
    const source = numberOf(parent);
    if (source === undefined) throw new PlatformError('inventory/not-found', { id: parent });
    this.#requireRight('managedObjects', source);
    // The command creates the child first: without its parent it would be below nothing.
    if (!isKnown(source, this.#link, this.#parts)) throw new PlatformError('inventory/not-found', { id: parent });
    const members = NEW_CHILD.checked(parseMembers(text));
    if (!isReference(members)) {
      this.#createObject(members, { id: parent, kind: 'childDevices' });
      return;
    }
    const child = referencedId(members);
    const childSource = numberOf(child);
    if (childSource === undefined) throw new PlatformError('inventory/not-found', { id: child });
    this.#requireRight('managedObjects', childSource);
    this.#command(COMMAND.CHILD_ADD, source, { kind: 'childDevices', child, parent });
  }

  /**
   * Adds a `source` where none was sent: the object of `externalSource`, else the connected device. Takes
   * `externalSource` out of the document.
   */
  #addSource(members: Members): void {
    const external = members.get('externalSource');
    members.delete('externalSource');
    if (!members.has('source')) members.set('source', `{"id":"${this.#sourceOf(external)}"}`);
  }

  #sourceOf(external: string | undefined): number {
    if (external === undefined || !external.startsWith('{')) return this.#link.source;
    const externalMembers = splitMembers(external);
    const serial = stringMember(externalMembers, 'externalId') ?? '';
    const type = stringMember(externalMembers, 'type') ?? SERIAL_TYPE;
    const source = type === SERIAL_TYPE ? this.#parts.objects.sourceOf(this.#link.tenantNumber, serial) : undefined;
    if (source === undefined) throw new PlatformError('identity/not-found', { type, value: serial });
    return source;
  }

  /** An event or alarm, and the source it belongs to: the key of its actor. */
  #entity(collection: 'event' | 'alarm', id: string): { readonly source: number; readonly stored: Members } {
    const text = this.#parts.objects.known.get(collection, this.#link.tenantNumber, id);
    const stored: Members = text === undefined ? new Map() : splitMembers(text);
    const source = sourceIdOf(stored);
    if (source === undefined) throw new PlatformError(`${collection}/not-found`, { id });
    return { source, stored };
  }

  /** @param resolve called when it is done; else the acknowledgement is the answer. */
  #command(kind: CommandKind, key: ActorKey, body: object, resolve: () => void = () => undefined): void {
    this.records.push({
      record: encodeCommand({
        kind,
        key,
        body,
        tenant: this.#link.tenantNumber,
        mode: this.#topic.mode,
        receivedAt: this.#parts.now(),
      }),
      onAnswer: {
        resolve,
        reject: (error) => {
          this.#onError(
            error instanceof PlatformError ? error : new PlatformError('general/internal', { reference: 'mqtt' }),
          );
        },
      },
    });
  }
}

const numberOf = (id: string): number | undefined => (isEntityId(id) ? Number(id) : undefined);

/**
 * @returns the records of a message. @param onError told of what the actors refuse, and of elements of a bulk that are
 * not taken. @param rightsOfRows what the message has asked about rights, of rows of SmartREST: for these global ones
 * count alone.
 * @throws PlatformError when nothing of it can be taken. NotLoaded when it has to be planned again.
 */
export function planJson(
  topic: JsonTopic,
  payload: string,
  link: Device,
  parts: JsonParts,
  onError: (error: PlatformError) => void,
  rightsOfRows?: MessageRights,
): OfferedRecord[] {
  const message = new JsonMessage(topic, link, parts, onError, rightsOfRows);
  message.plan(payload);
  return message.records;
}
