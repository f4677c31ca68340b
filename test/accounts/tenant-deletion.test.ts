/** The deletion of a tenant, step by step: what is removed, what stays, what a crash leaves, what comes late. */
import t from 'tap';
import { removeApplicationsOf } from '../../src/accounts/applications/service-users.ts';
import { TenantDeletion, deletionKey } from '../../src/accounts/tenants/deletion.ts';
import { attachmentKey, uniqueKeys } from '../../src/model/entities/application.ts';
import type { StoredApplication } from '../../src/model/entities/application.ts';
import { actorOfDocument } from '../../src/model/commands/document-routing.ts';
import { joinKey, requestKey, tenantKey } from '../../src/model/entities/device-request.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { Blobs } from '../../src/ports/blobs.ts';
import type { Command } from '../../src/model/commands/command.ts';
import type { Collection } from '../../src/model/commands/collections.ts';
import type { DocumentReader } from '../../src/ports/document-reader.ts';
import type { DocumentsRemove } from '../../src/model/commands/deletion.ts';
import type { RecordsChange } from '../../src/model/commands/records.ts';
import type { UserDelete } from '../../src/model/commands/users.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { isAsExpected } from '../../src/model/commands/record-change.ts';

const COLLECTIONS = [
  'managedObject',
  'children',
  'externalId',
  'user',
  'option',
  'session',
  'sessionMessage',
  'application',
  'subscription',
] as const;
const log = { debug() {}, info() {}, warn() {}, error() {}, isLevelEnabled: () => false, child: () => log };

/** Of a node of a cluster. */
const COMMAND_BYTES_MAX = 900 * 1024;

class Rig {
  readonly documents = new Map<string, string>();
  rows = new Map<number, number>();
  readonly blobs = new Set<string>();
  nowMs = 1_000_000;
  isMine = true;
  commandsCount = 0;
  /** Commands after which the process ends. */
  failsAfter = Infinity;
  #hasEnded = false;
  /** Number of a tenant whose documents are not removed. */
  broken = -1;
  readonly warnings: any[] = [];
  deletion = this.#create();

  put(collection: Collection, tenant: number, id: string, value = '{}'): void {
    this.documents.set(`${collection}|${tenant}|${id}`, value);
  }
  of(tenant: number): string[] {
    return [...this.documents.keys()].filter((key) => key.split('|')[1] === String(tenant));
  }
  get job(): any {
    const text = this.documents.get(`job|0|${deletionKey(7)}`);
    return text === undefined ? undefined : JSON.parse(text);
  }

  fill(tenant: number): void {
    for (let id = 1; id <= 1200; id += 1) this.put('managedObject', tenant, String(id));
    this.put('children', tenant, '1\nchildDevices\n2');
    this.put('externalId', tenant, 'c8y_Serial\nx');
    this.put('user', tenant, 'ada');
    this.put('option', tenant, 'a\nb');
    this.put('session', tenant, 's');
    this.put('sessionMessage', tenant, 's\n0000000000000001');
    this.rows.set(tenant, 10);
  }

  begin(): void {
    this.put('job', 0, deletionKey(7), JSON.stringify({ number: 7, notBefore: this.nowMs }));
  }
  crash(): void {
    this.failsAfter = Infinity;
    this.#hasEnded = false;
    this.deletion = this.#create();
  }

  #create(): TenantDeletion {
    const documents: DocumentReader = {
      get: (collection, tenant, id) => this.documents.get(`${collection}|${tenant}|${id}`),
      getMany: () => [],
      list: (collection, tenant, prefix, { limit }) =>
        [...this.documents]
          .filter(([key]) => key.startsWith(`${collection}|${tenant}|${prefix}`))
          .slice(0, limit)
          .map(([key, value]) => ({ id: key.slice(`${collection}|${tenant}|`.length), value })),
    };
    const commands = { request: async <Answer>(command: Command) => this.#handle(command) as Answer };
    const others = [
      { id: 't8', number: 8 },
      { id: 't9', number: 9 },
    ];
    const tenants = {
      all: others,
      default: others[0],
      byNumber: () => undefined,
      byId: () => undefined,
      byDomain: () => undefined,
    };
    const blobs = { remove: async (key: string) => void this.blobs.delete(key) } as unknown as Blobs;
    return new TenantDeletion({
      documents,
      commands,
      removeApplications: (tenant, userName) =>
        removeApplicationsOf(
          { documents, commands, tenants, blobs, now: () => this.nowMs, refusals: { count: () => undefined } },
          { userName },
          tenant,
        ),
      collections: [...COLLECTIONS],
      rows: {
        has: async (tenant) => (this.rows.get(tenant) ?? 0) > 0,
        remove: async (tenant) => void this.rows.delete(tenant),
      },
      isMine: () => this.isMine,
      log: { ...log, warn: (fields: any) => void this.warnings.push(fields) },
      now: () => this.nowMs,
      quietMs: 60_000,
    });
  }

  #handle(command: Command): undefined {
    this.commandsCount += 1;
    if (this.commandsCount > this.failsAfter) {
      this.#hasEnded = true;
      throw new Error('the process ended');
    }
    if (command.tenant === this.broken)
      throw new PlatformError('general/payload-too-large', { limit: COMMAND_BYTES_MAX });
    if (JSON.stringify(command.body).length > COMMAND_BYTES_MAX)
      throw new PlatformError('general/payload-too-large', { limit: COMMAND_BYTES_MAX });
    if (command.kind === COMMAND.DOCUMENTS_REMOVE) {
      const { collection, ids } = command.body as DocumentsRemove;
      for (const id of ids) {
        if (actorOfDocument(collection, id) !== command.key) throw new Error(`${id} is not of actor ${command.key}`);
        this.documents.delete(`${collection}|${command.tenant}|${id}`);
      }
      return undefined;
    }
    if (command.kind === COMMAND.USER_DELETE) {
      if (!this.documents.delete(`user|${command.tenant}|${(command.body as UserDelete).userName}`))
        throw new PlatformError('users/not-found', { id: '' });
      return undefined;
    }
    for (const change of (command.body as RecordsChange).changes) {
      const { collection, id, value } = change;
      const key = `${collection}|${command.tenant}|${id}`;
      if (!isAsExpected(change, this.documents.get(key))) throw new Error('changed');
      if (value === undefined) this.documents.delete(key);
      else this.documents.set(key, value);
    }
    return undefined;
  }

  async run(): Promise<void> {
    for (let steps = 0; steps < 100 && (await this.deletion.step()); steps += 1);
    if (this.#hasEnded) throw new Error('the process ended');
  }
}

t.test('everything goes, of this tenant only, and the record goes last', async (t) => {
  const rig = new Rig();
  rig.fill(7);
  rig.fill(8);
  const others = rig.of(8);
  rig.begin();
  await rig.run();
  t.same(rig.of(7), []);
  t.notOk(rig.rows.has(7));
  t.same(rig.of(8), others);
  t.equal(rig.rows.get(8), 10);
  t.equal(rig.job.emptySince, rig.nowMs, 'it is not over before it stayed quiet');
  rig.nowMs += 59_999;
  await rig.run();
  t.ok(rig.job);
  rig.nowMs += 1;
  await rig.run();
  t.equal(rig.job, undefined);
});

t.test('what comes late, of a command that was under way, goes too', async (t) => {
  const rig = new Rig();
  rig.begin();
  await rig.run();
  rig.nowMs += 30_000;
  rig.put('session', 7, 'late');
  rig.rows.set(7, 1);
  await rig.run();
  t.same(rig.of(7), []);
  t.notOk(rig.rows.has(7));
  t.equal(rig.job.emptySince, rig.nowMs, 'and the time begins again');
});

t.test('a crash after any command is finished by the next start', async (t) => {
  for (const failsAfter of [0, 1, 499, 500, 501, 1100, 1201, 1206]) {
    const rig = new Rig();
    rig.fill(7);
    rig.begin();
    rig.failsAfter = failsAfter;
    await t.rejects(rig.run(), { message: 'the process ended' }, `after ${failsAfter}`);
    rig.crash();
    await rig.run();
    t.same(rig.of(7), []);
    t.notOk(rig.rows.has(7));
  }
});

t.test('a crash at any moment leaves no user of its microservices in other tenants', async (t) => {
  const begun = (): Rig => {
    const rig = new Rig();
    rig.fill(7);
    for (const [id, ownerNumber] of [
      ['41', 7],
      ['42', 7],
      ['43', 9],
    ] as const) {
      const application = {
        id,
        key: `key${id}`,
        name: `app${id}`,
        type: 'MICROSERVICE',
        ownerNumber,
      } as StoredApplication;
      rig.put('application', 0, id, JSON.stringify(application));
      rig.put(
        'application',
        0,
        attachmentKey(id, '1'),
        JSON.stringify({ id: '1', application: id, blob: `blob${id}` }),
      );
      rig.blobs.add(`blob${id}`);
      for (const unique of uniqueKeys(application)) rig.put('application', 0, unique.id, id);
      for (const tenant of [7, 8, 9]) {
        rig.put('subscription', tenant, id, '{"at":1}');
        rig.put(
          'application',
          tenant,
          `service\n${id}`,
          JSON.stringify({ userName: `service_app${id}`, secret: 's', hash: 'h' }),
        );
        rig.put('application', tenant, `user\nservice_app${id}`, JSON.stringify({ application: id, kind: 'service' }));
        rig.put('user', tenant, `service_app${id}`);
      }
    }
    rig.begin();
    return rig;
  };
  const whole = begun();
  await whole.run();
  const left = [...whole.documents].sort();
  t.same([...whole.blobs], ['blob43']);
  t.same(
    left.map(([key]) => key).filter((key) => /app4[12]|\n4[12]$|\|4[12]$|4[12]\n/.test(key)),
    [],
  );
  t.ok(whole.documents.has('user|8|service_app43'), 'that of somebody else stays');
  for (let failsAfter = 0; failsAfter < 40; failsAfter += 1) {
    const rig = begun();
    rig.failsAfter = failsAfter;
    await t.rejects(rig.run(), { message: 'the process ended' });
    rig.crash();
    await rig.run();
    t.same([...rig.documents].sort(), left, `after ${failsAfter} commands`);
  }
});

t.test('applications that come late, of a request that was under way, go too', async (t) => {
  const rig = new Rig();
  rig.begin();
  await rig.run();
  rig.nowMs += 30_000;
  rig.put('application', 0, 'name\n7\nlate', '41');
  rig.put(
    'application',
    0,
    '41',
    JSON.stringify({ id: '41', key: '', name: 'late', type: 'MICROSERVICE', ownerNumber: 7 }),
  );
  await rig.run();
  t.notOk(rig.documents.has('application|0|41'));
  t.equal(rig.job.emptySince, rig.nowMs, 'and the time begins again');
});

t.test('requests of new devices, which lie among the records of the server', async (t) => {
  const rig = new Rig();
  const request = (id: string, tenant: number): void => {
    rig.put('deviceRequest', 0, requestKey(id), JSON.stringify({ id, tenant, status: 'ACCEPTED' }));
    rig.put('deviceRequest', 0, tenantKey(tenant, id), '1');
  };
  for (let id = 1; id <= 250; id += 1) request(`a${id}`, 7);
  request('b1', 8);
  request('c1', 77);
  rig.put('deviceRequest', 0, tenantKey(7, 'b1'), '1');
  rig.put('deviceRequest', 0, joinKey(7, 'device_x'), '{"groupId":"1"}');
  rig.put('deviceRequest', 0, joinKey(8, 'device_y'), '{"groupId":"1"}');
  rig.begin();
  await rig.run();
  t.same(
    rig
      .of(0)
      .filter((key) => key.startsWith('deviceRequest'))
      .sort(),
    [requestKey('b1'), tenantKey(8, 'b1'), requestKey('c1'), tenantKey(77, 'c1'), joinKey(8, 'device_y')]
      .map((id) => `deviceRequest|0|${id}`)
      .sort(),
    'those of others stay, also one whose id was given again',
  );
  t.equal(rig.job.emptySince, rig.nowMs);
});

t.test('not before its time, and only by the owner', async (t) => {
  const rig = new Rig();
  rig.fill(7);
  rig.put('job', 0, deletionKey(7), JSON.stringify({ number: 7, notBefore: rig.nowMs + 1 }));
  await rig.run();
  t.equal(rig.of(7).length, 1206, 'a tenant that is being made is left alone');
  rig.nowMs += 1;
  rig.isMine = false;
  await rig.run();
  t.equal(rig.of(7).length, 1206);
  rig.isMine = true;
  await rig.run();
  t.same(rig.of(7), []);
});

t.test('a deletion that fails holds up no other, and is tried again later and later', async (t) => {
  const rig = new Rig();
  for (const number of [7, 8, 9]) {
    rig.fill(number);
    rig.put('job', 0, deletionKey(number), JSON.stringify({ number, notBefore: rig.nowMs }));
  }
  rig.broken = 8;
  await rig.run();
  t.same([rig.of(7), rig.of(9)], [[], []]);
  t.not(rig.of(8).length, 0);
  t.match(
    rig.warnings,
    [{ tenantNumber: 8, retryMs: 5_000, error: /921600/ }],
    'once: not with each look at the others',
  );
  rig.nowMs += 5_000;
  await rig.run();
  t.match(rig.warnings.slice(1), [{ tenantNumber: 8, retryMs: 10_000 }]);
  for (let count = 0; count < 10; count += 1) {
    rig.nowMs += 10 * 60_000;
    await rig.run();
  }
  t.match(rig.warnings.at(-1), { tenantNumber: 8, retryMs: 600_000 });
  rig.broken = -1;
  rig.nowMs += 10 * 60_000;
  await rig.run();
  t.same(rig.of(8), []);
});

t.test('what is removed may be large: no command is larger than one takes', async (t) => {
  const rig = new Rig();
  const quotes = '"'.repeat(8_100);
  for (let index = 0; index < 110; index += 1) {
    // As long as an id may be.
    const id = `${index}-`.padEnd(700, 'é');
    rig.put(
      'deviceRequest',
      0,
      requestKey(id),
      JSON.stringify({ id, tenant: 7, status: 'ACCEPTED', customProperties: JSON.stringify({ quotes }) }),
    );
    rig.put('deviceRequest', 0, tenantKey(7, id), '1');
    for (let count = 0; count < 6; count += 1) rig.put('session', 7, `${count}${id}`);
  }
  rig.put('application', 0, '41', JSON.stringify({ id: '41', key: 'k', name: 'n', type: 'HOSTED', ownerNumber: 7 }));
  for (const [field, value] of [
    ['key', 'k'],
    ['name', 'n'],
  ])
    rig.put('application', 0, `${field}\n7\n${value}`, '41');
  const manifest = JSON.stringify({ name: 'n'.repeat(900_000) });
  for (const id of ['1', '2', '3', '4', '5'])
    rig.put(
      'application',
      0,
      attachmentKey('41', id),
      JSON.stringify({ id, application: '41', blob: `blob${id}`, manifest }),
    );
  rig.begin();
  await rig.run();
  t.same(rig.warnings, []);
  t.same(rig.of(7), []);
  t.same(
    rig.of(0).filter((key) => !key.startsWith('job')),
    [],
  );
});
