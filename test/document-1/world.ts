/**
 * One running server with what the rows of document 1 need: entities to act on, users by their roles, tenants, an
 * application.
 */
import { ROLES } from '../../src/model/access/roles.ts';
import { PASSWORD, Rest, TENANT, eventually, startServer } from '../helpers/running/server.ts';
import type { RunningServer, Teardown } from '../helpers/running/server.ts';

export const TIME = '2024-05-02T10:00:00.000Z';
/** Of the next centuries: what is scheduled for it does not start. */
export const FUTURE = '2200-01-01T00:00:00.000Z';
/** A media type as the document writes it. */
export const vendor = (name: string): string => `application/vnd.com.nsn.platform.${name}+json`;
const BOOTSTRAP_PASSWORD = 'Boot-strap-9';

/**
 * Administrators of a tenant, of the one above it and of a third one; two users of the tenant, with the role to read
 * tenants and without any.
 */
export interface Family {
  readonly id: string;
  readonly above: Rest;
  readonly own: Rest;
  readonly reader: Rest;
  readonly nobody: Rest;
  readonly stranger: Rest;
}

export class World {
  readonly server: RunningServer;
  readonly rest: Rest;
  readonly management: Rest;
  /** The user whose device requests are accepted. */
  readonly bootstrap: Rest;
  /** A user without any role. */
  owner!: Rest;
  /** An object with the marker of agents that belongs to `owner`. */
  device!: string;
  #last = 0;
  readonly #users = new Map<string, Promise<Rest>>();
  #family: Promise<Family> | undefined;
  #service: Promise<{ readonly id: string; readonly bootstrap: Rest }> | undefined;

  private constructor(server: RunningServer) {
    this.server = server;
    this.rest = server.rest;
    this.management = server.management;
    this.bootstrap = new Rest(server.url, 'management/devicebootstrap', BOOTSTRAP_PASSWORD);
  }

  static async start(t: Teardown): Promise<World> {
    const world = new World(await startServer(t, { flags: ['--bootstrap-password', BOOTSTRAP_PASSWORD] }));
    world.owner = await world.user('owner', []);
    world.device = await world.ownedDevice();
    return world;
  }

  /** A word that was not there before: lower case letters, a hyphen, a number. */
  name(stem: string): string {
    this.#last += 1;
    return `${stem}-${this.#last}`;
  }

  ownedDevice(fragments: object = {}): Promise<string> {
    return this.rest.createDevice('Owned', { owner: 'owner', type: 'mill_Device', ...fragments });
  }

  /** A user of the first tenant, or of the management tenant, with exactly these roles. */
  async user(name: string, roles: readonly string[], by: Rest = this.rest): Promise<Rest> {
    const tenant = by === this.rest ? TENANT : 'management';
    await by.create(`/user/${tenant}/users`, {
      userName: name,
      password: PASSWORD,
      roles: { references: roles.map((id) => ({ role: { id } })) },
    });
    return new Rest(this.server.url, `${tenant}/${name}`, PASSWORD);
  }

  /** With one role alone. */
  only(role: string, by?: Rest): Promise<Rest> {
    return this.#remembered(`only-${role.toLowerCase()}`, [role], by);
  }

  /** With all roles of an administrator but these. */
  lacking(roles: readonly string[], by?: Rest): Promise<Rest> {
    return this.#remembered(
      `lacks-${roles.join('-').toLowerCase()}`.slice(0, 200),
      ROLES.filter((role) => !roles.includes(role)),
      by,
    );
  }

  #remembered(name: string, roles: readonly string[], by: Rest = this.rest): Promise<Rest> {
    const key = `${by === this.rest} ${name}`;
    let user = this.#users.get(key);
    if (user === undefined) {
      user = this.user(name, roles, by);
      this.#users.set(key, user);
    }
    return user;
  }

  alarm(more: object = {}): Promise<any> {
    return this.rest.create('/alarm/alarms', this.alarmBody(more));
  }
  alarmBody(more: object = {}): object {
    return {
      source: { id: this.device },
      type: this.name('alarm'),
      text: 'text',
      severity: 'MAJOR',
      time: TIME,
      ...more,
    };
  }
  event(more: object = {}): Promise<any> {
    return this.rest.create('/event/events', this.eventBody(more));
  }
  eventBody(more: object = {}): object {
    return { source: { id: this.device }, type: this.name('event'), text: 'text', time: TIME, ...more };
  }
  operation(more: object = {}): Promise<any> {
    return this.rest.create('/devicecontrol/operations', { deviceId: this.device, c8y_Restart: {}, ...more });
  }

  async bulkBody(more: object = {}): Promise<object> {
    return {
      groupId: await this.group(),
      startDate: FUTURE,
      creationRamp: 1,
      operationPrototype: { c8y_Restart: {} },
      ...more,
    };
  }

  async bulk(more: object = {}): Promise<any> {
    return this.rest.create('/devicecontrol/bulkoperations', await this.bulkBody(more));
  }

  /** A group of devices with one device in it. */
  async group(member?: string): Promise<string> {
    const { id } = await this.rest.create('/inventory/managedObjects', {
      name: this.name('group'),
      type: 'c8y_DeviceGroup',
      c8y_IsDeviceGroup: {},
    });
    await this.rest.create(`/inventory/managedObjects/${id}/childAssets`, {
      managedObject: { id: member ?? (await this.rest.createDevice('in a group')) },
    });
    return id;
  }

  /** A bulk operation that is over and failed on its device, which has no agent. @returns its id. */
  async failedBulk(): Promise<string> {
    const { id: device } = await this.rest.create('/inventory/managedObjects', {
      name: 'without an agent',
      c8y_IsDevice: {},
    });
    const { id } = await this.bulk({ groupId: await this.group(device), startDate: TIME });
    await eventually(
      'it has failed',
      async () => (await this.rest.read(`/devicecontrol/bulkoperations/${id}`)).progress.failed === 1,
    );
    return id;
  }

  async externalId(): Promise<{ type: string; externalId: string }> {
    const name = { type: 'c8y_Serial', externalId: this.name('serial') };
    await this.rest.create(`/identity/globalIds/${this.device}/externalIds`, name);
    return name;
  }

  applicationBody(more: object = {}): object {
    const name = this.name('app');
    return { key: `${name}-key`, name, type: 'MICROSERVICE', ...more };
  }

  application(more: object = {}): Promise<any> {
    return this.rest.create('/application/applications', this.applicationBody(more));
  }

  /** The user with which a microservice begins. */
  async serviceBootstrap(application: { id: string }): Promise<Rest> {
    const { tenant, name, password } = await this.rest.read(
      `/application/applications/${application.id}/bootstrapUser`,
    );
    return new Rest(this.server.url, `${tenant}/${name}`, password);
  }

  /** One microservice with its bootstrap user. */
  service(): Promise<{ readonly id: string; readonly bootstrap: Rest }> {
    this.#service ??= this.application().then(async ({ id }) => ({
      id,
      bootstrap: await this.serviceBootstrap({ id }),
    }));
    return this.#service;
  }

  tenantBody(more: object = {}): any {
    const name = this.name('tenant');
    return {
      id: name,
      company: 'Mill Ltd.',
      domain: `${name}x`,
      adminName: 'boss',
      adminEmail: 'boss@example.com',
      adminPass: PASSWORD,
      ...more,
    };
  }

  tenant(more: object = {}): Promise<any> {
    return this.management.create('/tenant/tenants', this.tenantBody(more));
  }

  /**
   * A tenant that may have tenants below it, one of those with all fields of the table, and one that has nothing to do
   * with them.
   */
  family(): Promise<Family> {
    this.#family ??= this.#makeFamily();
    return this.#family;
  }

  async #makeFamily(): Promise<Family> {
    const admin = (id: string): Rest => new Rest(this.server.url, `${id}/boss`, PASSWORD);
    const { id: above } = await this.tenant({ allowCreateTenants: true });
    const { id: stranger } = await this.tenant();
    const { id } = await admin(above).create(
      '/tenant/tenants',
      this.tenantBody({
        storageLimitPerDevice: 1000,
        contactName: 'Ada',
        contactPhone: '1',
        customProperties: { language: 'en' },
      }),
    );
    const own = admin(id);
    for (const availability of ['MARKET', 'PRIVATE']) {
      const { id: application } = await own.create('/application/applications', this.applicationBody({ availability }));
      await admin(above).post(`/tenant/tenants/${id}/applications`, { application: { id: application } });
    }
    const users: Rest[] = [];
    for (const [name, roles] of [
      ['reader', ['ROLE_TENANT_MANAGEMENT_READ']],
      ['nobody', []],
    ] as const) {
      await own.create(`/user/${id}/users`, {
        userName: name,
        password: PASSWORD,
        roles: { references: roles.map((role) => ({ role: { id: role } })) },
      });
      users.push(new Rest(this.server.url, `${id}/${name}`, PASSWORD));
    }
    return { id, above: admin(above), own, reader: users[0], nobody: users[1], stranger: admin(stranger) };
  }

  async option(): Promise<{ category: string; key: string; value: string }> {
    const option = { category: this.name('category'), key: 'key', value: 'value' };
    await this.rest.post('/tenant/options', option);
    return option;
  }
}
