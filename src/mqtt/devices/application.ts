/** The platform behind the MQTT front end: gives topics their meaning (docs/spec/mqtt.md#topics). */
import type { X509Certificate } from 'node:crypto';
import { UntrustedCertificate } from '../../accounts/certificates/certificates.ts';
import type { CertificateLogin, CertificateLogins } from '../../accounts/certificates/login.ts';
import type { DeviceRegistration } from '../../accounts/registration/registration.ts';
import type { DeviceCommands } from '../../ingest/journal/command-bus.ts';
import type { RecordIntake } from '../../ingest/journal/record-intake.ts';
import type { DistantMonths } from '../../ingest/measurements/distant-months.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { EventSearch } from '../../ports/event-search.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { LiveBus } from '../../ports/live-bus.ts';
import type { MeasurementSearch } from '../../ports/measurement-search.ts';
import { isOwnedBy } from '../../model/access/inventory-access.ts';
import type { Log } from '../../ports/log.ts';
import type { DeviceAuthenticator, LoginCaller, Principal } from '../../model/access/principal.ts';
import type { DeviceErrors } from '../../ports/device-errors.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { TrafficTap } from '../../ports/traffic.ts';
import type { Collections } from '../../smartrest/one/collections.ts';
import { BOOTSTRAP_ROLE } from '../../model/access/roles.ts';
import { isSerialOfOther, serialClaim } from '../../model/access/serial-claim.ts';
import { isSerial, SERIAL_RULE } from '../../smartrest/rows/serial.ts';
import type { DeviceConnection, DeviceLink, MqttApplication, SessionReceiptStore } from '../sessions/application.ts';
import { BootstrapLink } from './bootstrap-link.ts';
import { PlatformDeviceLink } from './link.ts';
import type { LinkParts, Presence } from './link.ts';
import type { Device, OpeningRight } from './device.ts';
import type { DeviceHooks } from './hooks.ts';
import { CustomOperationRows } from './collection-rows.ts';
import { DeviceObjects } from './objects.ts';
import { MeasurementPublisher } from './measurement-publisher.ts';
import { OperationRowsOne } from './one-rows.ts';
import { OperationDelivery } from './operation-delivery.ts';
import type { ReceiversElsewhere } from './operation-delivery.ts';
import { TemplateCollections } from './template-collections.ts';

const REASON_IDENTIFIER_INVALID = 0x85;
const REASON_NOT_AUTHORIZED = 0x87;
/** Objects of connected devices that are read at a time. */
const RECHECKED_AT_ONCE = 1_000;

export interface DeviceApplicationOptions {
  readonly authenticator: DeviceAuthenticator;
  /** Logs in devices by their certificates; without it none is taken. */
  readonly certificateLogins?: CertificateLogins;
  readonly commands: DeviceCommands;
  readonly intake: RecordIntake;
  readonly distantMonths: DistantMonths;
  readonly documents: DocumentReader;
  readonly ids: IdSource;
  readonly bus: LiveBus;
  /** Templates of SmartREST 1.0; without them no operation becomes a row on `s/ol`. */
  readonly rowCollections?: Pick<Collections, 'find'>;
  /** Without it the bootstrap user cannot connect. */
  readonly registration?: DeviceRegistration;
  /** In a cluster: who is connected to other nodes. */
  readonly receivers?: ReceiversElsewhere;
  /** In a cluster: QoS 2 messages that are of other shards than their sessions. */
  readonly receipts?: SessionReceiptStore;
  readonly refusals: Refusals;
  readonly events: EventSearch;
  readonly storedMeasurements: MeasurementSearch;
  /** Without it devices get no tokens over MQTT. */
  readonly tokenFor?: (principal: Principal) => Promise<string | undefined>;
  /** Without it the last errors of devices are not remembered. */
  readonly errors?: DeviceErrors;
  readonly traffic?: TrafficTap;
  readonly log: Log;
  readonly now: () => number;
}

export class DeviceApplication implements MqttApplication, Presence {
  readonly operations: OperationDelivery;
  readonly hooks: DeviceHooks = {};
  readonly #options: DeviceApplicationOptions;
  readonly #objects: DeviceObjects;
  readonly #templates: TemplateCollections;
  readonly #parts: LinkParts;

  constructor(options: DeviceApplicationOptions) {
    const { intake, distantMonths, commands, ids, documents, bus, log, refusals, errors, now, registration, receipts } =
      options;
    this.#options = options;
    this.#objects = new DeviceObjects(options);
    const { known } = this.#objects;
    this.#templates = new TemplateCollections(known, now);
    this.operations = new OperationDelivery({
      documents,
      bus,
      log,
      refusals,
      rows: [
        new CustomOperationRows(known, this.#templates),
        ...(options.rowCollections === undefined ? [] : [new OperationRowsOne(options.rowCollections, refusals)]),
      ],
      elsewhere: options.receivers,
      hooks: this.hooks,
    });
    this.#parts = {
      intake,
      distantMonths,
      commands,
      measurements: new MeasurementPublisher(intake, ids),
      operations: this.operations,
      templates: this.#templates,
      objects: this.#objects,
      registration,
      receipts,
      ids,
      refusals,
      errors,
      traffic: options.traffic,
      log,
      now,
      hooks: this.hooks,
      events: options.events,
      storedMeasurements: options.storedMeasurements,
      bus,
      tokenFor: options.tokenFor,
      presence: this,
    };
  }

  authenticate(
    userName: string,
    password: string,
    caller: LoginCaller,
  ): Principal | undefined | Promise<Principal | undefined> {
    return this.#options.authenticator.authenticate(userName, password, { caller });
  }

  isCurrent(principal: Principal): boolean {
    return this.#options.authenticator.current(principal) !== undefined;
  }

  stillHolds(principal: Principal): boolean | Promise<boolean> {
    return this.isCurrent(principal) || this.#options.authenticator.stillHolds(principal);
  }

  /** @throws `{mqttReason, message}`, see MqttApplication. */
  async authenticateCertificate(certificates: readonly X509Certificate[], userName: string): Promise<CertificateLogin> {
    try {
      if (this.#options.certificateLogins === undefined)
        throw new UntrustedCertificate('certificates are not taken here');
      return await this.#options.certificateLogins.login(certificates, userName);
    } catch (error) {
      if (!(error instanceof UntrustedCertificate)) throw error;
      throw Object.assign(new Error(`the certificate is not accepted: ${error.message}`), {
        mqttReason: REASON_NOT_AUTHORIZED,
      });
    }
  }

  /** A device user connects as its own device or as a new one, a user with rights over devices as any; inventory roles have no say. */
  mayConnect(principal: Principal, clientId: string): boolean | Promise<boolean> {
    if (principal.roles.has('ROLE_DEVICE_CONTROL_ADMIN')) return true;
    if (principal.roles.has(BOOTSTRAP_ROLE)) return this.#options.registration !== undefined;
    if (!principal.roles.has('ROLE_DEVICE')) return false;
    return this.#objects.known.decide(() => {
      const serial = this.sessionKey(principal, clientId);
      const source = this.#objects.sourceOf(principal.tenantNumber, serial);
      if (source !== undefined) return this.#objects.mayOpen(principal, source) !== 'none';
      const { claimant } = serialClaim(principal);
      return (
        claimant === undefined ||
        !isSerialOfOther(
          (...document) => this.#objects.known.get(...document),
          principal.tenantNumber,
          claimant,
          serial,
        )
      );
    });
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
    const { registration, refusals, log } = this.#options;
    const isNew = registration !== undefined && connection.principal.roles.has(BOOTSTRAP_ROLE);
    if (!isNew) return this.openDevice(connection);
    return new BootstrapLink(connection, this.sessionKey(connection.principal, connection.clientId), {
      registration,
      refusals,
      log,
    });
  }

  openDevice(connection: DeviceConnection): PlatformDeviceLink {
    const link = new PlatformDeviceLink(
      connection,
      this.#parts,
      this.sessionKey(connection.principal, connection.clientId),
    );
    // The first message of a connection that may not open the object ends it.
    const found = this.#objects.known.decide(() => {
      const source = this.#objects.sourceOf(link.tenantNumber, link.serial);
      const right = source === undefined ? undefined : this.#objects.mayOpen(connection.principal, source);
      return source === undefined || right === undefined || right === 'none' ? undefined : { source, right };
    });
    if (found instanceof Promise) link.openWhenKnown(found);
    else if (found !== undefined) link.opened(found.source, found.right);
    return link;
  }

  opened(link: Device): void {
    this.operations.register(link);
    this.pushChanged(link);
  }

  closed(link: Device): void {
    this.operations.unregister(link);
    this.pushChanged(link);
  }

  pushChanged(link: Device): void {
    if (link.source !== 0 && link.hasReceived) this.hooks.onPushChanged?.(link.tenantNumber, link.source);
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
    this.#templates.forgetObject(id);
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

  #recheck(link: Device, source: number): void {
    const decide = (right: OpeningRight | undefined): void => {
      if (link.source !== source) return;
      if (right === undefined) link.forgetSource();
      else if (right === 'none') link.refuseSource();
      else link.right = right;
    };
    const answer = this.#objects.known.decide(() => this.#objects.mayOpen(link.connection.principal, source));
    if (!(answer instanceof Promise)) return decide(answer);
    answer.then(decide, (error: Error) => {
      this.#options.log.warn(
        { err: error, id: source },
        'a changed object could not be read; its device is asked for nothing until it connects again',
      );
    });
  }

  /**
   * Deletions may have been missed: the objects of connected devices are looked at again. @throws what the store says.
   */
  async objectsMissed(isOf: (tenant: number, key: number) => boolean): Promise<void> {
    this.#templates.forgetAll();
    const byTenant = new Map<number, Device[]>();
    for (const link of [...this.operations.links].flat()) {
      if (!isOf(link.tenantNumber, link.source)) continue;
      const others = byTenant.get(link.tenantNumber);
      if (others === undefined) byTenant.set(link.tenantNumber, [link]);
      else others.push(link);
    }
    for (const [tenant, ofTenant] of byTenant) {
      for (let from = 0; from < ofTenant.length; from += RECHECKED_AT_ONCE) {
        const some = ofTenant.slice(from, from + RECHECKED_AT_ONCE).map((link) => ({ link, source: link.source }));
        const texts = await this.#options.documents.getMany(
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
}
