/**
 * JSON over MQTT (docs/spec/mqtt-json.md): the REST documents on topics, with the connected device as the default
 * source.
 */
import { NotLoaded } from '../../actors/runtime/state-view.ts';
import type { OfferedRecord } from '../../ingest/journal/command-bus.ts';
import { encodeCommand } from '../../ingest/journal/command-record.ts';
import { parseMeasurement, sourceIdOf } from '../../ingest/measurements/parse.ts';
import { encodeMeasurement } from '../../ingest/measurements/record.ts';
import { checkAlarmUpdate, checkNewAlarm } from '../../model/entities/alarm.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { ActorKey } from '../../model/commands/command.ts';
import type { CommandKind } from '../../model/commands/kinds.ts';
import { PlatformError } from '../../model/errors.ts';
import { checkEventUpdate, checkNewEvent } from '../../model/entities/event.ts';
import {
  joinMembers,
  parseMembers,
  splitElements,
  splitMembers,
  stringMember,
} from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { SERIAL_TYPE } from '../../model/access/serial-claim.ts';
import type { JsonTopic } from '../../smartrest/json-topics.ts';
import type { DeviceApplication } from './application.ts';
import type { PlatformDeviceLink } from './link.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

/** Who may write to any source. */
const ADMIN_ROLES: Readonly<Record<JsonTopic['area'], string>> = {
  measurements: 'ROLE_MEASUREMENT_ADMIN',
  events: 'ROLE_EVENT_ADMIN',
  alarms: 'ROLE_ALARM_ADMIN',
  managedObjects: 'ROLE_INVENTORY_ADMIN',
};

/** Makes the records of one message. */
class JsonMessage {
  readonly records: OfferedRecord[] = [];
  readonly #topic: JsonTopic;
  readonly #link: PlatformDeviceLink;
  readonly #application: DeviceApplication;
  readonly #onError: (error: PlatformError) => void;

  constructor(
    topic: JsonTopic,
    link: PlatformDeviceLink,
    application: DeviceApplication,
    onError: (error: PlatformError) => void,
  ) {
    this.#topic = topic;
    this.#link = link;
    this.#application = application;
    this.#onError = onError;
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
    const { ids } = this.#application;
    const user = this.#link.connection.principal.userName;
    const members = parseMembers(text);
    const source = this.#sourceOf(members);
    this.#application.requireRight(this.#link, source, ADMIN_ROLES[area]);
    if (source !== this.#link.source && area !== 'managedObjects') this.#hear(source);
    if (area === 'measurements') {
      this.#requireSource(source);
      this.#measurement(members, source);
    } else if (area === 'events') {
      const { type, time } = checkNewEvent(members);
      this.#command(COMMAND.EVENT_CREATE, source, {
        id: String(ids.nextBeside(this.#link.tenantNumber, source)),
        type,
        time,
        doc: joinMembers(members),
      });
    } else if (area === 'alarms') {
      const { type, time, severity, status } = checkNewAlarm(members);
      const id = String(ids.nextBeside(this.#link.tenantNumber, source));
      this.#command(COMMAND.ALARM_CREATE, source, {
        id,
        type,
        time,
        severity,
        status,
        doc: joinMembers(members),
        user,
      });
    } else {
      const id = ids.next();
      this.#command(COMMAND.MANAGED_OBJECT_CREATE, id, { id: String(id), owner: user, doc: this.#newObject(members) });
    }
  }

  /** Only an administrator of the inventory names another owner, as with REST. */
  #newObject(members: Members): string {
    if (!this.#link.connection.principal.roles.has(ADMIN_ROLES.managedObjects)) members.delete('owner');
    return joinMembers(members);
  }

  #isKnown(source: number): boolean {
    return this.#application.known.get('managedObject', this.#link.tenantNumber, String(source)) !== undefined;
  }

  /**
   * Of another object than the connected device; an id that is not the tenant's may be that of another one's device.
   */
  #hear(source: number): void {
    const { onHeard, now } = this.#application;
    if (onHeard !== undefined && this.#isKnown(source)) onHeard(this.#link.tenantNumber, source, now());
  }

  /** Measurements go to no actor that would refuse them. */
  #requireSource(source: number): void {
    if (source === this.#link.source || this.#isKnown(source)) return;
    throw new PlatformError('source/not-found', { area: 'measurement', id: source });
  }

  #measurement(members: Members, source: number): void {
    const measurement = parseMeasurement(joinMembers(members), source);
    const { ids, now } = this.#application;
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
    const doc = joinMembers(members);
    if (area === 'managedObjects') {
      const source = this.#application.sourceOf(this.#link.tenantNumber, id) ?? numberOf(id);
      if (source === undefined) throw new PlatformError('inventory/not-found', { id });
      this.#application.requireRight(this.#link, source, ADMIN_ROLES.managedObjects);
      this.#command(COMMAND.MANAGED_OBJECT_UPDATE, source, { doc, mayChangeOwner: false });
      return;
    }
    if (area === 'alarms') checkAlarmUpdate(members);
    else checkEventUpdate(members);
    const kind = area === 'alarms' ? COMMAND.ALARM_UPDATE : COMMAND.EVENT_UPDATE;
    const source = this.#entitySource(area === 'alarms' ? 'alarm' : 'event', id);
    this.#application.requireRight(this.#link, source, ADMIN_ROLES[area]);
    this.#command(kind, source, { id, doc, user: this.#link.connection.principal.userName });
  }

  #delete(area: JsonTopic['area'], id: string): void {
    if (area === 'events') {
      const source = this.#entitySource('event', id);
      this.#application.requireRight(this.#link, source, ADMIN_ROLES.events);
      this.#command(COMMAND.EVENT_DELETE, source, { id });
    } else {
      if (numberOf(id) === undefined) throw new PlatformError('measurement/not-found', { id });
      this.#command(COMMAND.DATA_DELETE, TENANT_KEY, {
        table: 'measurements',
        filter: this.#mayDeleteAny() ? { id } : { id, source: String(this.#link.source) },
      });
    }
  }

  #mayDeleteAny(): boolean {
    return this.#link.connection.principal.roles.has(ADMIN_ROLES.measurements);
  }

  #createChild(parent: string, text: string): void {
    const source = numberOf(parent);
    if (source === undefined) throw new PlatformError('inventory/not-found', { id: parent });
    this.#application.requireRight(this.#link, source, ADMIN_ROLES.managedObjects);
    // The command creates the child first: without its parent it would belong to nobody.
    const isKnown = this.#application.known.get('managedObject', this.#link.tenantNumber, parent) !== undefined;
    if (!isKnown) throw new PlatformError('inventory/not-found', { id: parent });
    const members = parseMembers(text);
    const reference = members.get('managedObject');
    if (reference === undefined) {
      const id = this.#application.ids.next();
      this.#command(COMMAND.MANAGED_OBJECT_CREATE, id, {
        id: String(id),
        owner: this.#link.connection.principal.userName,
        doc: this.#newObject(members),
        parent: { id: parent, kind: 'childDevices' },
      });
      return;
    }
    const child = reference.startsWith('{') ? stringMember(splitMembers(reference), 'id') : undefined;
    if (child === undefined) throw new PlatformError('validation/mandatory-fields', { names: 'managedObject.id' });
    const childSource = numberOf(child);
    if (childSource === undefined) throw new PlatformError('inventory/not-found', { id: child });
    this.#application.requireRight(this.#link, childSource, ADMIN_ROLES.managedObjects);
    this.#command(COMMAND.CHILD_ADD, source, { kind: 'childDevices', child, parent });
  }

  /**
   * `source`, else the object of `externalSource`, else the connected device. Takes `externalSource` out of the
   * document.
   */
  #sourceOf(members: Members): number {
    const external = members.get('externalSource');
    members.delete('externalSource');
    if (members.has('source')) {
      const id = sourceIdOf(members);
      if (id === undefined) {
        throw new PlatformError('validation/invalid-field', {
          area: this.#topic.area,
          name: 'source',
          value: members.get('source') ?? '',
          limit: 'an object with an id',
        });
      }
      return id;
    }
    if (external === undefined || !external.startsWith('{')) return this.#link.source;
    const externalMembers = splitMembers(external);
    const serial = stringMember(externalMembers, 'externalId') ?? '';
    const type = stringMember(externalMembers, 'type') ?? SERIAL_TYPE;
    const source = type === SERIAL_TYPE ? this.#application.sourceOf(this.#link.tenantNumber, serial) : undefined;
    if (source === undefined) throw new PlatformError('identity/not-found', { type, value: serial });
    return source;
  }

  /** The source that an event or alarm belongs to: the key of its actor. */
  #entitySource(collection: 'event' | 'alarm', id: string): number {
    const text = this.#application.known.get(collection, this.#link.tenantNumber, id);
    const source = text !== undefined ? sourceIdOf(splitMembers(text)) : undefined;
    if (source === undefined) throw new PlatformError(`${collection}/not-found`, { id });
    return source;
  }

  #command(kind: CommandKind, key: ActorKey, body: object): void {
    this.records.push({
      record: encodeCommand({
        kind,
        key,
        body,
        tenant: this.#link.tenantNumber,
        mode: this.#topic.mode,
        receivedAt: this.#application.now(),
      }),
      onAnswer: {
        resolve: () => {
          /* The acknowledgement is the answer. */
        },
        reject: (error) => {
          this.#onError(
            error instanceof PlatformError ? error : new PlatformError('general/internal', { reference: 'mqtt' }),
          );
        },
      },
    });
  }
}

const numberOf = (id: string): number | undefined =>
  /^[1-9]\d{0,15}$/.test(id) && Number.isSafeInteger(Number(id)) ? Number(id) : undefined;

/**
 * @returns the records of a message. @param onError told of what the actors refuse, and of elements of a bulk that are
 * not taken.
 * @throws PlatformError when nothing of it can be taken. NotLoaded when it has to be planned again.
 */
export function planJson(
  topic: JsonTopic,
  payload: Buffer,
  link: PlatformDeviceLink,
  application: DeviceApplication,
  onError: (error: PlatformError) => void,
): OfferedRecord[] {
  const message = new JsonMessage(topic, link, application, onError);
  message.plan(payload.toString('utf8'));
  return message.records;
}
