/** The managed objects of devices: which serial means which, who may open and write them, and new ones. */
import type { DeviceCommands } from '../../ingest/journal/command-bus.ts';
import { isOwnedBy, mayAccess } from '../../model/access/inventory-access.ts';
import { withoutGrants, type Principal } from '../../model/access/principal.ts';
import { hasAnyOf, INVENTORY_ADMIN } from '../../model/access/roles.ts';
import { SERIAL_TYPE, serialClaim } from '../../model/access/serial-claim.ts';
import type { Command } from '../../model/commands/command.ts';
import type { DeviceEnsure, DeviceEnsureChecked } from '../../model/commands/external-ids.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { memberText, stringOf } from '../../model/documents/json-document.ts';
import { externalIdKey } from '../../model/entities/external-id.ts';
import { PlatformError } from '../../model/errors.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import { isSerial, SERIAL_RULE } from '../../smartrest/rows/serial.ts';
import type { Device, OpeningRight } from './device.ts';
import { LoadedDocuments } from './loaded-documents.ts';
import { isAtOrBelow, mayWrite, type MessageRights } from './rights.ts';

/** Each opens any object. */
const OPENING_ROLES = ['ROLE_DEVICE_CONTROL_ADMIN', ...INVENTORY_ADMIN];
/** One of each for all that devices write. */
const WRITING_ROLES = [
  ['ROLE_DEVICE_CONTROL_ADMIN'],
  INVENTORY_ADMIN,
  ['ROLE_MEASUREMENT_ADMIN'],
  ['ROLE_EVENT_ADMIN'],
  ['ROLE_ALARM_ADMIN'],
];

/** Commands of `makeFirst` under way. */
const MADE_AT_ONCE = 100;

export interface DeviceObjectsOptions {
  readonly commands: DeviceCommands;
  readonly documents: DocumentReader;
  readonly ids: IdSource;
  readonly now: () => number;
}

export class DeviceObjects {
  /** The documents for decisions that are plain code. */
  readonly known: LoadedDocuments;
  readonly #options: DeviceObjectsOptions;

  constructor(options: DeviceObjectsOptions) {
    this.#options = options;
    this.known = new LoadedDocuments(options.documents);
  }

  /**
   * By which right a connection of the user may be that of the object. Asked whenever one opens an object that exists:
   * its client ID may have been bound to it after CONNECT. Inventory roles have no say. Within `known.decide`. @returns undefined while there is
   * not such an object.
   */
  mayOpen(user: Principal, source: number): OpeningRight | undefined {
    const doc = this.known.get('managedObject', user.tenantNumber, String(source));
    if (doc === undefined) return undefined;
    const { roles } = user;
    if (WRITING_ROLES.every((some) => hasAnyOf(roles, some)) || isOwnedBy(user, doc)) return 'lasting';
    const principal = withoutGrants(user);
    const wanted = { scope: 'MANAGED_OBJECT', permission: 'ADMIN' } as const;
    if (mayAccess(this.known, principal, { id: String(source), doc }, wanted) === true) return 'linked';
    return hasAnyOf(roles, OPENING_ROLES) ? 'limited' : 'none';
  }

  /**
   * Within `known.decide` or the planning of a message.
   * @param rights of the message. @throws PlatformError `security/forbidden` unless the object is the device, below it,
   * the user's own, or the user has one of the roles; `mqtt/objects-of-message`.
   */
  requireRight(device: Device, source: number, roles: readonly string[], rights: MessageRights): void {
    this.#requireRightOf(device.connection.principal, device, { source, roles, rights });
  }

  /** The same for rows of SmartREST: inventory roles have no say (docs/spec/smartrest.md#rights). */
  requireGlobalRight(device: Device, source: number, roles: readonly string[], rights: MessageRights): void {
    this.#requireRightOf(withoutGrants(device.connection.principal), device, { source, roles, rights });
  }

  /**
   * Of rows about the object of the connection or one below it, as `requireGlobalRight`: a connection that a role opened
   * that is not for all takes the role of what the row writes, too, as REST does.
   */
  requireRoleOfRow(device: Device, source: number, roles: readonly string[], rights: MessageRights): void {
    if (device.right === 'limited') this.requireGlobalRight(device, source, roles, rights);
  }

  #requireRightOf(
    principal: Principal,
    device: Device,
    {
      source,
      roles,
      rights,
    }: { readonly source: number; readonly roles: readonly string[]; readonly rights: MessageRights },
  ): void {
    const isLimited = device.right === 'limited';
    if ((source === device.source && !isLimited) || hasAnyOf(principal.roles, roles)) return;
    const doc = this.known.get('managedObject', principal.tenantNumber, String(source));
    // An object that does not exist is for the actor to refuse.
    if (doc === undefined || isOwnedBy(principal, doc)) return;
    const isAllowed = rights.answer(
      `${roles[0]} ${source}`,
      () =>
        mayWrite(this.known, principal, { id: source, doc }, roles) ||
        (!isLimited && isAtOrBelow(this.known, device.tenantNumber, source, device.source)),
    );
    if (!isAllowed) throw new PlatformError('security/forbidden');
  }

  /**
   * The managed object bound to a serial; undefined when there is none. Within `known.decide` or the planning of a
   * message.
   */
  sourceOf(tenantNumber: number, serial: string): number | undefined {
    const text = this.known.get('externalId', tenantNumber, `${SERIAL_TYPE}\n${serial}`);
    return text === undefined ? undefined : Number(stringOf(memberText(text, 'managedObject')));
  }

  /**
   * The object that has the list of software of a device; undefined when there is none. Within the planning of a
   * message.
   */
  softwareListOf(tenantNumber: number, source: number): number | undefined {
    const id = this.known.get('softwareList', tenantNumber, String(source));
    return id === undefined ? undefined : Number(id);
  }

  async ensureSoftwareList(tenant: number, source: number): Promise<void> {
    const { commands, ids, now } = this.#options;
    await commands.request({
      kind: COMMAND.SOFTWARE_LIST_ENSURE,
      tenant,
      key: source,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: now(),
      body: { id: String(ids.nextBeside(tenant, source)) },
    });
  }

  /** @throws PlatformError `identity/reserved` for the serial of another registered device that has no object yet. */
  async ensure(
    device: Device,
    found: Pick<DeviceEnsure, 'type' | 'externalId' | 'doc' | 'parent'>,
  ): Promise<{ id: string; created: boolean }> {
    const { principal } = device.connection;
    if (!isSerial(found.externalId)) {
      throw new PlatformError('validation/invalid-field', {
        area: 'identity',
        name: 'externalId',
        value: found.externalId,
        limit: SERIAL_RULE,
      });
    }
    return this.#options.commands.request({
      kind: COMMAND.DEVICE_ENSURE,
      tenant: device.tenantNumber,
      key: `x:${found.type}\n${found.externalId}`,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: this.#options.now(),
      body: { ...found, id: String(this.#options.ids.next()), owner: principal.userName, ...serialClaim(principal) },
    });
  }

  /** Makes objects with external IDs, as `madeFirst` says then. What is refused is left to the rows that make them again. */
  async makeFirst(
    device: Device,
    bodies: readonly DeviceEnsureChecked[],
    { mode, receivedAt }: Pick<Command, 'mode' | 'receivedAt'>,
  ): Promise<void> {
    const tenant = device.tenantNumber;
    for (let from = 0; from < bodies.length; from += MADE_AT_ONCE)
      await Promise.all(
        bodies.slice(from, from + MADE_AT_ONCE).map((body) => {
          const key = `x:${externalIdKey(body.type, body.externalId)}`;
          const command = { kind: COMMAND.DEVICE_ENSURE, tenant, key, mode, receivedAt, body, user: body.owner };
          return this.#options.commands.request(command).catch((error: unknown) => {
            if (!(error instanceof PlatformError) || error.status >= 500) throw error;
          });
        }),
      );
    device.madeFirst = new Map(bodies.map(({ type, externalId, id }) => [externalIdKey(type, externalId), id]));
  }

  /** Serials of the direct child devices. */
  async childSerials(tenantNumber: number, id: string): Promise<string[]> {
    const children = await this.#options.documents.list('children', tenantNumber, `${id}\nchildDevices\n`, {
      limit: 10_000,
    });
    const serials = await Promise.all(
      children.map((child) => this.serialOf(tenantNumber, child.id.slice(child.id.lastIndexOf('\n') + 1))),
    );
    return serials.filter((serial) => serial !== undefined);
  }

  /** External ID `c8y_Serial` of an object. */
  async serialOf(tenantNumber: number, id: string): Promise<string | undefined> {
    const prefix = `${id}\n${SERIAL_TYPE}\n`;
    const [first] = await this.#options.documents.list('externalIdsOf', tenantNumber, prefix, { limit: 1 });
    return first?.id.slice(prefix.length);
  }
}
