/** The platform behind the MQTT front end: gives topics their meaning (document 4 sections 7 and 8). */
import type { CommandBus } from '../ingest/command-bus.ts';
import type { GroupCommit } from '../ingest/group-commit.ts';
import { COMMAND } from '../model/command.ts';
import type { DeviceEnsure, DocumentReader, IdSource, LiveBus } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import type { Authenticator, Principal } from '../model/principal.ts';
import { PROCESSING_MODE } from '../model/processing-mode.ts';
import type { Refusals } from '../model/refusals.ts';
import { SERIAL_TYPE } from '../smartrest/effect-records.ts';
import { isSerial, SERIAL_RULE } from '../smartrest/serial.ts';
import type { DeviceConnection, MqttApplication } from './application.ts';
import { PlatformDeviceLink } from './device-link.ts';
import { isAtOrBelow, ownsOrHasRole } from './device-rights.ts';
import { MeasurementPublisher } from './measurement-publisher.ts';
import { OperationDelivery } from './operation-delivery.ts';

const REASON_IDENTIFIER_INVALID = 0x85;

export interface DeviceApplicationOptions {
  readonly authenticator: Authenticator;
  readonly commands: CommandBus;
  readonly group: GroupCommit;
  readonly documents: DocumentReader;
  readonly ids: IdSource;
  readonly bus: LiveBus;
  readonly refusals: Refusals;
  readonly log: Log;
  readonly now: () => number;
}

export class DeviceApplication implements MqttApplication {
  readonly commands: CommandBus;
  readonly group: GroupCommit;
  readonly documents: DocumentReader;
  readonly ids: IdSource;
  readonly refusals: Refusals;
  readonly log: Log;
  readonly now: () => number;
  readonly measurements: MeasurementPublisher;
  readonly operations: OperationDelivery;
  /** Told of each fault that a device is answered with (`error`) and of each message that ends its connection (`refused`). */
  onResult: ((result: 'error' | 'refused') => void) | undefined;
  readonly #authenticator: Authenticator;

  constructor(options: DeviceApplicationOptions) {
    this.commands = options.commands;
    this.group = options.group;
    this.documents = options.documents;
    this.ids = options.ids;
    this.refusals = options.refusals;
    this.log = options.log;
    this.now = options.now;
    this.measurements = new MeasurementPublisher(options.group, options.ids);
    this.operations = new OperationDelivery(options.documents, options.bus, options.log);
    this.#authenticator = options.authenticator;
  }

  authenticate(userName: string, password: string): Principal | undefined | Promise<Principal | undefined> {
    return this.#authenticator.authenticate(userName, password);
  }

  /** A device user connects as its own device or as a new one, a user with rights over devices as any. */
  mayConnect(principal: Principal, clientId: string): boolean {
    if (principal.roles.has('ROLE_DEVICE_CONTROL_ADMIN')) return true;
    if (!principal.roles.has('ROLE_DEVICE')) return false;
    const source = this.sourceOf(principal.tenantNumber, this.sessionKey(principal, clientId));
    return source === undefined || ownsOrHasRole(this.documents, principal, source, 'ROLE_INVENTORY_ADMIN');
  }

  /** @throws PlatformError `security/forbidden` unless the object is the device, below it, the user's own, or the user has the role. */
  requireRight(link: PlatformDeviceLink, source: number, role: string): void {
    if (source === link.source || ownsOrHasRole(this.documents, link.connection.principal, source, role)) return;
    if (!isAtOrBelow(this.documents, link.tenantNumber, source, link.source)) throw new PlatformError('security/forbidden');
  }

  /** The device's serial: `<serial>`, `d:<serial>` or `d:<serial>:<default template>` (section 7.2). */
  sessionKey(_principal: Principal, clientId: string): string {
    const parts = clientId.split(':');
    const serial = parts.length === 1 ? clientId : parts[0] === 'd' && parts.length <= 3 ? parts[1] : '';
    if (!isSerial(serial) || /[/+#]/.test(serial)) {
      throw Object.assign(new Error(`the client id ${clientId.slice(0, 100)} is not <serial>, d:<serial> or d:<serial>:<template>, `
        + `with a serial of ${SERIAL_RULE}, / + #`), { mqttReason: REASON_IDENTIFIER_INVALID });
    }
    return serial;
  }

  open(connection: DeviceConnection): PlatformDeviceLink {
    const link = new PlatformDeviceLink(connection, this, this.sessionKey(connection.principal, connection.clientId));
    const source = this.sourceOf(link.tenantNumber, link.serial);
    if (source !== undefined) link.opened(source);
    return link;
  }

  opened(link: PlatformDeviceLink): void { this.operations.register(link); }
  closed(link: PlatformDeviceLink): void { this.operations.unregister(link); }

  /** To be called when an object has been changed or deleted: the device that it was is found or created again by its next message. */
  objectDeleted(id: number): void {
    const link = this.operations.linkOf(id);
    if (link !== undefined && this.documents.get('managedObject', link.tenantNumber, String(id)) === undefined) link.forgetSource();
  }

  /** The managed object bound to a serial; undefined when there is none, or when the store does not answer at once (then it is ensured). */
  sourceOf(tenantNumber: number, serial: string): number | undefined {
    const text = this.documents.get('externalId', tenantNumber, `${SERIAL_TYPE}\n${serial}`);
    return typeof text === 'string' ? Number((JSON.parse(text) as { managedObject: string }).managedObject) : undefined;
  }

  async ensure(link: PlatformDeviceLink, device: Pick<DeviceEnsure, 'type' | 'externalId' | 'doc' | 'parent'>): Promise<{ id: string; created: boolean }> {
    if (!isSerial(device.externalId)) {
      throw new PlatformError('validation/invalid-field', { area: 'identity', name: 'externalId', value: device.externalId, limit: SERIAL_RULE });
    }
    return this.commands.request({
      kind: COMMAND.DEVICE_ENSURE, tenant: link.tenantNumber, key: `x:${device.type}\n${device.externalId}`, mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: this.now(), body: { ...device, id: String(this.ids.next()), owner: link.connection.principal.userName },
    });
  }

  /** Serials of the direct child devices. */
  async childSerials(tenantNumber: number, id: string): Promise<string[]> {
    const children = await this.documents.list('children', tenantNumber, `${id}\nchildDevices\n`, { limit: 10_000 });
    const serials = await Promise.all(children.map((child) => this.serialOf(tenantNumber, child.id.slice(child.id.lastIndexOf('\n') + 1))));
    return serials.filter((serial) => serial !== undefined);
  }

  /** External ID `c8y_Serial` of an object. */
  async serialOf(tenantNumber: number, id: string): Promise<string | undefined> {
    const prefix = `${id}\n${SERIAL_TYPE}\n`;
    const [first] = await this.documents.list('externalIdsOf', tenantNumber, prefix, { limit: 1 });
    return first?.id.slice(prefix.length);
  }
}
