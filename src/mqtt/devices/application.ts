/** The platform behind the MQTT front end: gives topics their meaning (docs/spec/mqtt.md#topics). */
import type { X509Certificate } from 'node:crypto';
import { UntrustedCertificate } from '../../accounts/certificates/certificates.ts';
import type { CertificateLogin, CertificateLogins } from '../../accounts/certificates/login.ts';
import type { DeviceRegistration } from '../../accounts/registration/registration.ts';
import type { DeviceCommands } from '../../ingest/journal/command-bus.ts';
import type { RecordIntake } from '../../ingest/journal/record-intake.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { DeviceEnsure } from '../../model/commands/external-ids.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { LiveBus } from '../../ports/live-bus.ts';
import { PlatformError } from '../../model/errors.ts';
import { isOwnedBy } from '../../model/access/inventory-access.ts';
import type { Log } from '../../ports/log.ts';
import type { DeviceAuthenticator, LoginCaller, Principal } from '../../model/access/principal.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { BOOTSTRAP_ROLE } from '../../model/access/roles.ts';
import { isSerialOfOther, SERIAL_TYPE, serialClaim } from '../../model/access/serial-claim.ts';
import { isSerial, SERIAL_RULE } from '../../smartrest/rows/serial.ts';
import type { DeviceConnection, DeviceLink, MqttApplication, SessionReceiptStore } from '../sessions/application.ts';
import { BootstrapLink } from './bootstrap-link.ts';
import { PlatformDeviceLink } from './link.ts';
import { isAtOrBelow, mayWrite, ownsOrHasRole } from './rights.ts';
import { LoadedDocuments } from './loaded-documents.ts';
import { MeasurementPublisher } from './measurement-publisher.ts';
import { OperationDelivery } from './operation-delivery.ts';
import type { ReceiversElsewhere } from './operation-delivery.ts';

const REASON_IDENTIFIER_INVALID = 0x85;
const REASON_NOT_AUTHORIZED = 0x87;
/** Objects of connected devices that are read at a time. */
const RECHECKED_AT_ONCE = 1_000;

/** By which right an object was opened: a role or as its owner, by something above it, or not at all. */
export type OpeningRight = 'lasting' | 'linked' | 'none';

export interface DeviceApplicationOptions {
  readonly authenticator: DeviceAuthenticator;
  /** Logs in devices by their certificates; without it none is taken. */
  readonly certificateLogins?: CertificateLogins;
  readonly commands: DeviceCommands;
  readonly intake: RecordIntake;
  readonly documents: DocumentReader;
  readonly ids: IdSource;
  readonly bus: LiveBus;
  /** Without it the bootstrap user cannot connect. */
  readonly registration?: DeviceRegistration;
  /** In a cluster: who is connected to other nodes. */
  readonly receivers?: ReceiversElsewhere;
  /** In a cluster: QoS 2 messages that are of other shards than their sessions. */
  readonly receipts?: SessionReceiptStore;
  readonly refusals: Refusals;
  readonly log: Log;
  readonly now: () => number;
}

export class DeviceApplication implements MqttApplication {
  readonly commands: DeviceCommands;
  readonly intake: RecordIntake;
  readonly documents: DocumentReader;
  /** The same for decisions that are plain code. */
  readonly known: LoadedDocuments;
  readonly ids: IdSource;
  readonly refusals: Refusals;
  readonly log: Log;
  readonly now: () => number;
  readonly registration: DeviceRegistration | undefined;
  readonly measurements: MeasurementPublisher;
  readonly operations: OperationDelivery;
  readonly receipts: SessionReceiptStore | undefined;
  /**
   * Told of each fault that a device is answered with (`error`) and of each message that ends its connection
   * (`refused`).
   */
  onResult: ((result: 'error' | 'refused') => void) | undefined;
  /** A device has sent something. */
  onHeard: ((tenantNumber: number, source: number, at: number) => void) | undefined;
  /** A connection that receives operations of the device has come or gone. */
  onPushChanged: ((tenantNumber: number, source: number) => void) | undefined;
  readonly #authenticator: DeviceAuthenticator;
  readonly #certificateLogins: CertificateLogins | undefined;

  constructor(options: DeviceApplicationOptions) {
    this.commands = options.commands;
    this.intake = options.intake;
    this.documents = options.documents;
    this.known = new LoadedDocuments(options.documents);
    this.ids = options.ids;
    this.refusals = options.refusals;
    this.log = options.log;
    this.now = options.now;
    this.registration = options.registration;
    this.receipts = options.receipts;
    this.measurements = new MeasurementPublisher(options.intake, options.ids);
    this.operations = new OperationDelivery({
      documents: options.documents,
      bus: options.bus,
      log: options.log,
      refusals: options.refusals,
      elsewhere: options.receivers,
    });
    this.#authenticator = options.authenticator;
    this.#certificateLogins = options.certificateLogins;
  }

  authenticate(
    userName: string,
    password: string,
    caller: LoginCaller,
  ): Principal | undefined | Promise<Principal | undefined> {
    return this.#authenticator.authenticate(userName, password, { caller });
  }

  isCurrent(principal: Principal): boolean {
    return this.#authenticator.current(principal) !== undefined;
  }

  stillHolds(principal: Principal): boolean | Promise<boolean> {
    return this.isCurrent(principal) || this.#authenticator.stillHolds(principal);
  }

  /** @throws `{mqttReason, message}`, see MqttApplication. */
  async authenticateCertificate(certificates: readonly X509Certificate[], userName: string): Promise<CertificateLogin> {
    try {
      if (this.#certificateLogins === undefined) throw new UntrustedCertificate('certificates are not taken here');
      return await this.#certificateLogins.login(certificates, userName);
    } catch (error) {
      if (!(error instanceof UntrustedCertificate)) throw error;
      throw Object.assign(new Error(`the certificate is not accepted: ${error.message}`), {
        mqttReason: REASON_NOT_AUTHORIZED,
      });
    }
  }

  /** A device user connects as its own device or as a new one, a user with rights over devices as any. */
  mayConnect(principal: Principal, clientId: string): boolean | Promise<boolean> {
    if (principal.roles.has('ROLE_DEVICE_CONTROL_ADMIN')) return true;
    if (principal.roles.has(BOOTSTRAP_ROLE)) return this.registration !== undefined;
    if (!principal.roles.has('ROLE_DEVICE')) return false;
    return this.known.decide(() => {
      const serial = this.sessionKey(principal, clientId);
      const source = this.sourceOf(principal.tenantNumber, serial);
      if (source !== undefined) return ownsOrHasRole(this.known, principal, source, 'ROLE_INVENTORY_ADMIN');
      const { claimant } = serialClaim(principal);
      return (
        claimant === undefined ||
        !isSerialOfOther((...document) => this.known.get(...document), principal.tenantNumber, claimant, serial)
      );
    });
  }

  /**
   * By which right a connection of the user may be that of the object. Asked whenever one opens an object that exists:
   * its client ID may have been bound to it after CONNECT. Within `known.decide`. @returns undefined when there is no
   * such object, or not yet.
   */
  mayOpen(principal: Principal, source: number): OpeningRight | undefined {
    const doc = this.known.get('managedObject', principal.tenantNumber, String(source));
    if (doc === undefined) return undefined;
    if (principal.roles.has('ROLE_DEVICE_CONTROL_ADMIN') || isOwnedBy(principal, doc)) return 'lasting';
    return mayWrite(this.known, principal, { id: source, doc }, 'ROLE_INVENTORY_ADMIN') ? 'linked' : 'none';
  }

  /**
   * Within `known.decide` or the planning of a message.
   * @throws PlatformError `security/forbidden` unless the object is the device, below it, the user's own, or the user
   * has the role.
   */
  requireRight(link: PlatformDeviceLink, source: number, role: string): void {
    if (source === link.source || ownsOrHasRole(this.known, link.connection.principal, source, role)) return;
    if (!isAtOrBelow(this.known, link.tenantNumber, source, link.source)) throw new PlatformError('security/forbidden');
  }

  /** The device's serial: `<serial>`, `d:<serial>` or `d:<serial>:<default template>` (docs/spec/mqtt.md#names). */
  sessionKey(_principal: Principal, clientId: string): string {
    const parts = clientId.split(':');
    const serial = parts.length === 1 ? clientId : parts[0] === 'd' && parts.length <= 3 ? parts[1] : '';
    if (!isSerial(serial) || /[/+#]/.test(serial)) {
      throw Object.assign(
        new Error(
          `the client id ${clientId.slice(0, 100)} is not <serial>, d:<serial> or d:<serial>:<template>, ` +
            `with a serial of ${SERIAL_RULE}, / + #`,
        ),
        { mqttReason: REASON_IDENTIFIER_INVALID },
      );
    }
    return serial;
  }

  open(connection: DeviceConnection): DeviceLink {
    const { registration } = this;
    const isNew = registration !== undefined && connection.principal.roles.has(BOOTSTRAP_ROLE);
    if (!isNew) return this.openDevice(connection);
    return new BootstrapLink(connection, this.sessionKey(connection.principal, connection.clientId), {
      registration,
      refusals: this.refusals,
      log: this.log,
    });
  }

  openDevice(connection: DeviceConnection): PlatformDeviceLink {
    const link = new PlatformDeviceLink(connection, this, this.sessionKey(connection.principal, connection.clientId));
    // The first message of a connection that may not open the object ends it.
    const found = this.known.decide(() => {
      const source = this.sourceOf(link.tenantNumber, link.serial);
      const right = source === undefined ? undefined : this.mayOpen(connection.principal, source);
      return source === undefined || right === undefined || right === 'none' ? undefined : { source, right };
    });
    if (found instanceof Promise) link.openWhenKnown(found);
    else if (found !== undefined) link.opened(found.source, found.right);
    return link;
  }

  opened(link: PlatformDeviceLink): void {
    this.operations.register(link);
    this.pushChanged(link);
  }

  closed(link: PlatformDeviceLink): void {
    this.operations.unregister(link);
    this.pushChanged(link);
  }

  pushChanged(link: PlatformDeviceLink): void {
    if (link.source !== 0 && link.hasReceived) this.onPushChanged?.(link.tenantNumber, link.source);
  }

  /** Whether a connection receives the operations of the device now. */
  isPushed(tenantNumber: number, source: number): boolean {
    return this.operations
      .linksOf(source)
      .some((link) => link.tenantNumber === tenantNumber && link.operationTopics !== 0);
  }

  /**
   * To be called when an object has been changed or deleted. The device of a deleted one is found or created again by
   * its next message; a connection whose user has lost the object ends.
   */
  objectChanged(id: number): void {
    for (const link of this.operations.linksOf(id)) this.#recheck(link, id);
  }

  /**
   * To be called when links between objects have ended: what was opened by a right at an object above may no longer be
   * below it.
   */
  linksEnded(): void {
    for (const links of this.operations.links)
      for (const link of links) if (link.right === 'linked') this.#recheck(link, link.source);
  }

  #recheck(link: PlatformDeviceLink, source: number): void {
    const decide = (right: OpeningRight | undefined): void => {
      if (link.source !== source) return;
      if (right === undefined) link.forgetSource();
      else if (right === 'none') link.refuseSource();
      else link.right = right;
    };
    const answer = this.known.decide(() => this.mayOpen(link.connection.principal, source));
    if (!(answer instanceof Promise)) return decide(answer);
    answer.then(decide, (error: Error) => {
      this.log.warn(
        { err: error, id: source },
        'a changed object could not be read; its device is asked for nothing until it connects again',
      );
    });
  }

  /**
   * Deletions may have been missed: the objects of connected devices are looked at again. @throws what the store says.
   */
  async objectsMissed(isOf: (tenant: number, key: number) => boolean): Promise<void> {
    const byTenant = new Map<number, PlatformDeviceLink[]>();
    for (const link of [...this.operations.links].flat()) {
      if (!isOf(link.tenantNumber, link.source)) continue;
      const others = byTenant.get(link.tenantNumber);
      if (others === undefined) byTenant.set(link.tenantNumber, [link]);
      else others.push(link);
    }
    for (const [tenant, ofTenant] of byTenant) {
      for (let from = 0; from < ofTenant.length; from += RECHECKED_AT_ONCE) {
        const some = ofTenant.slice(from, from + RECHECKED_AT_ONCE).map((link) => ({ link, source: link.source }));
        const texts = await this.documents.getMany(
          'managedObject',
          tenant,
          some.map(({ source }) => String(source)),
        );
        for (const [index, { link, source }] of some.entries()) {
          const doc = texts[index];
          // Of an object that is still its user's nothing more is asked.
          if (doc === undefined || !isOwnedBy(link.connection.principal, doc)) this.#recheck(link, source);
        }
      }
    }
  }

  /**
   * The managed object bound to a serial; undefined when there is none. Within `known.decide` or the planning of a
   * message.
   */
  sourceOf(tenantNumber: number, serial: string): number | undefined {
    const text = this.known.get('externalId', tenantNumber, `${SERIAL_TYPE}\n${serial}`);
    return text === undefined ? undefined : Number((JSON.parse(text) as { managedObject: string }).managedObject);
  }

  /** @throws PlatformError `identity/reserved` for the serial of another registered device that has no object yet. */
  async ensure(
    link: PlatformDeviceLink,
    device: Pick<DeviceEnsure, 'type' | 'externalId' | 'doc' | 'parent'>,
  ): Promise<{ id: string; created: boolean }> {
    const { principal } = link.connection;
    if (!isSerial(device.externalId)) {
      throw new PlatformError('validation/invalid-field', {
        area: 'identity',
        name: 'externalId',
        value: device.externalId,
        limit: SERIAL_RULE,
      });
    }
    return this.commands.request({
      kind: COMMAND.DEVICE_ENSURE,
      tenant: link.tenantNumber,
      key: `x:${device.type}\n${device.externalId}`,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: this.now(),
      body: { ...device, id: String(this.ids.next()), owner: principal.userName, ...serialClaim(principal) },
    });
  }

  /** Serials of the direct child devices. */
  async childSerials(tenantNumber: number, id: string): Promise<string[]> {
    const children = await this.documents.list('children', tenantNumber, `${id}\nchildDevices\n`, { limit: 10_000 });
    const serials = await Promise.all(
      children.map((child) => this.serialOf(tenantNumber, child.id.slice(child.id.lastIndexOf('\n') + 1))),
    );
    return serials.filter((serial) => serial !== undefined);
  }

  /** External ID `c8y_Serial` of an object. */
  async serialOf(tenantNumber: number, id: string): Promise<string | undefined> {
    const prefix = `${id}\n${SERIAL_TYPE}\n`;
    const [first] = await this.documents.list('externalIdsOf', tenantNumber, prefix, { limit: 1 });
    return first?.id.slice(prefix.length);
  }
}
