/**
 * The platform in memory: documents as maps, actors as far as the resources need them, history as answers that a test
 * sets.
 */
import { TrustedProxies } from '../../../src/config/trusted-proxies.ts';
import { quickHashes } from '../../helpers/quick-hashes.ts';
import { joinMembers, mergeMembers, parseMembers, splitMembers } from '../../../src/model/documents/json-document.ts';
import type { Members } from '../../../src/model/documents/json-document.ts';
import { fitFailureReason } from '../../../src/model/entities/operation.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import { MemoryBlobs } from './memory-blobs.ts';
import { SortedMap } from './sorted-map.ts';
import { UntrustedCertificate } from '../../../src/accounts/certificates/certificates.ts';
import { TextCipher } from '../../../src/accounts/options/cipher.ts';
import type { Command } from '../../../src/model/commands/command.ts';
import type { Collection } from '../../../src/model/commands/collections.ts';
import type { Notification } from '../../../src/ports/live-bus.ts';
import { checkStatement } from '../../helpers/history-statement.ts';
import type { HistoryStatement, QueryAsker } from '../../../src/ports/history-reader.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import type { Log } from '../../../src/ports/log.ts';
import type { Mail } from '../../../src/accounts/mail/mailer.ts';
import { SecondFactor } from '../../../src/accounts/login/second-factor.ts';
import { SigningKey } from '../../../src/accounts/login/signing-key.ts';
import { Tokens } from '../../../src/accounts/login/tokens.ts';
import { ActorContext } from '../../../src/actors/runtime/context.ts';
import type { Handler } from '../../../src/actors/runtime/context.ts';
import { changeRecords } from '../../../src/actors/handlers/records.ts';
import type { StateView } from '../../../src/actors/runtime/state-view.ts';
import { deleteUser, putUser } from '../../../src/actors/handlers/users/user.ts';
import type { JournalCommand } from '../../../src/ingest/journal/command-record.ts';
import { Collections } from '../../../src/smartrest/one/collections.ts';
import type { DocumentReader } from '../../../src/ports/document-reader.ts';
import type { IdSource } from '../../../src/ports/id-source.ts';
import { Exports } from '../../../src/history/exports.ts';
import { TotalCache } from '../../../src/history/total-cache.ts';
import { BulkOperationChanges } from '../../../src/jobs/bulk-operations/changes.ts';
import type { Refused } from '../../../src/ports/refusals.ts';
import { passwordSearches } from '../../../src/accounts/passwords/people-search.ts';
import type { LoginPlace, Principal } from '../../../src/model/access/principal.ts';
import { ROLES } from '../../../src/model/access/roles.ts';
import type { PostedMeasurements } from '../../../src/ingest/measurements/intake.ts';
import type { ApiConfig, HealthReport, Platform } from '../../../src/api/request/platform.ts';

export const NOW = Date.UTC(2024, 4, 2, 10, 0, 0);
const TIME = '"2024-05-02T10:00:00.000Z"';

export class FakePlatform {
  readonly collections = new Map<string, SortedMap>();
  readonly sent: Command[] = [];
  readonly asked: HistoryStatement[] = [];
  /** Of each of these. */
  readonly askers: (QueryAsker | undefined)[] = [];
  /** Answers of the history wait for it. */
  queried: Promise<void> = Promise.resolve();
  readonly blobs = new MemoryBlobs();
  /** Keys of content that was replaced or deleted. */
  readonly retired: string[] = [];
  readonly cipher = new TextCipher('a key of a test, with 32 characters');
  /** Tenant, device, time. */
  readonly heard: [number, number, number][] = [];
  readonly counted: string[] = [];
  /** Whom refusals met, of those that tell it. */
  readonly refused: (Refused & { readonly limit: string })[] = [];
  readonly exports = new Exports({ count: (limit) => void this.counted.push(limit) });
  readonly failures: object[] = [];
  readonly published: Notification[] = [];
  readonly mails: Mail[] = [];
  private seq = 0;
  /** Password checks wait for it. */
  login: Promise<void> = Promise.resolve();
  /** Answers of the next history queries, in turn; then empty. */
  rows: unknown[][] = [];
  authenticated = 0;
  /** Of the last check of a password. */
  loginPlace: LoginPlace | undefined;
  /** Addresses from which current passwords were shown. */
  readonly confirmedFrom: string[] = [];
  generation = 1;
  isReady = true;
  config: ApiConfig = {
    mailUrl: 'http://mails.example',
    trustedProxies: new TrustedProxies('yes'),
    trustsProxy: true,
    hasOpenMetrics: true,
    jsonBodyMaxBytes: 20_000,
    bodyMaxBytes: 200_000,
  };
  readonly users = new Map<string, { password: string; principal: Principal }>();
  /** Bodies that the intake was given. */
  readonly posted: {
    body: string;
    principal: Principal;
    mode: number;
    wantsBody: boolean;
    form: string | undefined;
  }[] = [];
  answerOfIntake: PostedMeasurements | PlatformError = { collection: false, documents: [{ id: '7', text: '' }] };
  private nextId = 1000;

  constructor() {
    this.addUser('admin', ROLES);
    this.addUser('device_1', []);
    for (const name of ['admin', 'device_1']) {
      this.put(
        'user',
        name,
        JSON.stringify({
          userName: name,
          password: 'x',
          roles: name === 'admin' ? ROLES : [],
          enabled: true,
          doc: '{}',
        }),
      );
    }
  }

  addUser(userName: string, roles: readonly string[]): void {
    this.users.set(`t1/${userName}`, {
      password: 'secret',
      principal: { tenant: 't1', tenantNumber: 2, userName, roles: new Set(roles) },
    });
  }

  put(collection: Collection, id: string, value: string, tenant = 2): void {
    const key = `${tenant}/${collection}`;
    const entries = this.collections.get(key) ?? new SortedMap();
    this.collections.set(key, entries);
    entries.set(id, value);
  }

  get(collection: Collection, id: string, tenant = 2): string | undefined {
    return this.collections.get(`${tenant}/${collection}`)?.get(id);
  }

  addManagedObject(id: string, members: object = {}, owner = 'admin'): void {
    this.put('managedObject', id, JSON.stringify({ id, ...members, owner }));
  }

  platform(): Platform {
    const fake = this;
    return {
      commands: { request: async <Answer>(command: Command) => fake.handle(command) as Answer },
      freeing: { request: async <Answer>(command: Command) => fake.handle(command) as Answer },
      ids: {
        next: () => {
          fake.nextId += 1;
          return fake.nextId;
        },
        peek: () => fake.nextId + 1,
        nextBeside: () => {
          fake.nextId += 1;
          return fake.nextId;
        },
        nextInOrder: async () => {
          fake.nextId += 1;
          return fake.nextId;
        },
        nextBesideInOrder: async (_tenant, keys) =>
          keys.map(() => {
            fake.nextId += 1;
            return fake.nextId;
          }),
      },
      documents: {
        get: (collection, tenant, id) => fake.get(collection, id, tenant),
        getMany: (collection, tenant, ids) => ids.map((id) => fake.get(collection, id, tenant)),
        list: async (collection, tenant, prefix, { after, limit }) =>
          fake.collections.get(`${tenant}/${collection}`)?.list(prefix, after, limit) ?? [],
      },
      history: {
        query: async <Row>(statement: HistoryStatement, asker?: QueryAsker) => {
          checkStatement(statement);
          fake.asked.push(statement);
          fake.askers.push(asker);
          await fake.queried;
          return (fake.rows.shift() ?? []) as Row[];
        },
        stream: async () =>
          (async function* () {
            yield new Uint8Array(0);
          })(),
      },
      notifications: {
        tokens: { issue: () => Promise.resolve(''), verify: () => Promise.resolve(undefined) },
        backlogs: () => [],
        unsubscribe: () => Promise.resolve(true),
        subscriptionChanged: () => Promise.resolve(),
      },
      bus: {
        hasSubscribers: () => false,
        publish: (notification) => void fake.published.push(notification),
        subscribe: () => () => undefined,
      },
      blobs: fake.blobs,
      retiredContents: { retire: (key) => void fake.retired.push(key) },
      availability: {
        heard: (tenant, device, at) => void fake.heard.push([tenant, device, at]),
        lastHeard: (device) => fake.heard.findLast(([, other]) => other === device)?.[2],
      },
      statisticsFiles: {
        list: () => Promise.resolve([]),
        get: () => Promise.resolve(undefined),
        ofMonth: () => Promise.resolve(undefined),
        read: () => Promise.reject(new PlatformError('statistics/file-not-found', { id: '1' })),
        createTest: () => Promise.reject(new PlatformError('statistics/file-not-found', { id: '1' })),
      },
      connections: { page: async () => ({ total: 0, rows: [], silentNodes: [] }) },
      totals: new TotalCache(Date.now),
      exports: fake.exports,
      bulkOperations: new BulkOperationChanges({
        ...this.loginParts(),
        freeing: { request: async (command: Command) => fake.handle(command) },
        log: fakeLog(fake.failures),
      }),
      retention: { defaultDays: 60, begin: () => Promise.reject(new PlatformError('retention/running', { id: '1' })) },
      authenticator: {
        current: (principal) => (principal.asOf === fake.generation ? principal : undefined),
        authenticate: (userName, password, place) => {
          fake.authenticated += 1;
          fake.loginPlace = place;
          const user = fake.users.get(userName.includes('/') ? userName : `t1/${userName}`);
          return fake.login.then(() =>
            user?.password === password ? { ...user.principal, asOf: fake.generation } : undefined,
          );
        },
        confirm: async ({ tenant, userName }, password, { address }) => {
          fake.confirmedFrom.push(address.key);
          return fake.users.get(`${tenant}/${userName}`)?.password === password;
        },
      },
      tenants: {
        domainSuffix: 'example.com',
        byId: (id) => (id === 't1' ? { id, number: 2, domain: 'acme' } : undefined),
        byDomain: (domain) => (domain === 'acme' ? { id: 't1', number: 2, domain } : undefined),
        byNumber: (number) => (number === 2 ? { id: 't1', number } : undefined),
        default: { id: 't1', number: 2 },
        all: [{ id: 't1', number: 2, domain: 'acme' }],
      },
      accounts: {
        certificateLogins: {
          login: async () => {
            throw new UntrustedCertificate('there are none here');
          },
        },
        tokens: fake.tokens(),
        secondFactor: fake.secondFactor(),
        passwordSearches: passwordSearches({ count: (limit) => void fake.counted.push(limit) }),
        mailer: { send: async (mail) => void fake.mails.push(mail) },
      },
      hashes: quickHashes(),
      cipher: fake.cipher,
      rowCollections: new Collections({
        documents: fake.documents(),
        commands: { request: async <Answer>(command: Command) => fake.handle(command) as Answer },
        ids: { next: () => (fake.nextId += 1) } as IdSource,
        refusals: { count: (limit: string) => void fake.counted.push(limit) },
        now: () => NOW,
      }),
      measurements: {
        post: ({ body, principal, mode, wantsBody, form, done }) => {
          fake.posted.push({ body: body.toString(), principal, mode, wantsBody, form });
          const answer = fake.answerOfIntake;
          setImmediate(() => {
            if (answer instanceof PlatformError) done(answer);
            else done(undefined, answer);
          });
        },
      },
      refusals: {
        count(limit, refused) {
          fake.counted.push(limit);
          if (refused !== undefined) fake.refused.push({ limit, ...refused });
        },
      },
      log: fakeLog(fake.failures),
      get config() {
        return fake.config;
      },
      facts: () => ({
        node: 'mill-1',
        shape: 'single-node',
        ports: { http: 8080, mqtt: 1883 },
        python: 'pyodide',
        sendsMail: false,
      }),
      now: () => NOW,
      health: (): HealthReport => ({ ready: fake.isReady, parts: { journal: { ready: fake.isReady, lag: 3 } } }),
      nodes: { all: async () => [{ node: 'mill-1', state: 'ready', roles: [], lag: 3, connections: 5 }] },
      refusalCounts: () => new Map([['journal/bytes', 2]]),
      metricsText: async () => 'millrace_up 1\n',
    };
  }

  /** Real tokens over the documents of the fake. */
  private tokens(): Tokens {
    return new Tokens({
      ...this.loginParts(),
      changed: this,
      tenants: {
        byId: (id) => (id === 't1' ? { id, number: 2 } : undefined),
        byNumber: (number) => (number === 2 ? { id: 't1', number } : undefined),
      },
    });
  }

  private secondFactor(): SecondFactor {
    return new SecondFactor({ ...this.loginParts(), log: fakeLog(this.failures) });
  }

  private loginParts() {
    const commands = { request: async <Answer>(command: Command) => this.handle(command) as Answer };
    const documents = this.documents();
    const now = (): number => NOW;
    const key = new SigningKey({ documents, commands, now, secretKey: 'a key of tests with many characters' });
    return { documents, commands, now, refusals: { count: (limit: string) => void this.counted.push(limit) }, key };
  }

  private documents(): DocumentReader {
    return {
      get: (collection, tenant, id) => this.get(collection, id, tenant),
      getMany: (collection, tenant, ids) => ids.map((id) => this.get(collection, id, tenant)),
      list: (collection, tenant, prefix) => this.list(collection, tenant, prefix),
    };
  }

  private list(collection: Collection, tenant: number, prefix: string): { id: string; value: string }[] {
    return [...(this.collections.get(`${tenant}/${collection}`) ?? [])]
      .filter(([id]) => id.startsWith(prefix))
      .map(([id, value]) => ({ id, value }));
  }

  /** Runs the server's own handler on the documents of the fake. */
  private run(handler: Handler, command: Command): unknown {
    const state = {
      get: (collection: Collection, tenant: number, id: string) => this.get(collection, id, tenant),
      list: (collection: Collection, tenant: number, prefix: string) => this.list(collection, tenant, prefix),
    } as unknown as StateView;
    this.seq += 1;
    const context = new ActorContext({ ...command, seq: this.seq, shard: 0 } as unknown as JournalCommand, state);
    const answer = handler(context, command.body as never);
    for (const { collection, tenant, id, value } of context.changes) {
      if (value === undefined) this.collections.get(`${tenant}/${collection}`)?.delete(id);
      else this.put(collection, id, value, tenant);
    }
    return answer;
  }

  /** Tests may replace it. */
  handle(command: Command): unknown {
    this.sent.push(command);
    const body = command.body as {
      id: string;
      doc: string;
      owner: string;
      kind: string;
      child: string;
      children?: string[];
      maker?: string;
      parent: string;
      managedObject: string;
      userName: string;
      roles?: string[];
      enabled?: boolean;
      type: string;
      externalId: string;
      binary?: object;
    };
    const key = String(command.key);
    switch (command.kind) {
      case COMMAND.MANAGED_OBJECT_CREATE:
        if (body.binary !== undefined) this.put('binary', body.id, JSON.stringify(body.binary));
        return this.write('managedObject', body.id, body.doc, [['owner', JSON.stringify(body.owner)]]);
      case COMMAND.MANAGED_OBJECT_UPDATE:
        if (body.binary !== undefined) this.put('binary', key, JSON.stringify(body.binary));
        return this.merge('managedObject', key, body.doc);
      case COMMAND.MANAGED_OBJECT_DELETE:
        return void this.collections.get(`2/managedObject`)?.delete(key);
      case COMMAND.EVENT_CREATE:
        return this.source(key, 'event') ?? this.write('event', body.id, body.doc, [['source', `{"id":"${key}"}`]]);
      case COMMAND.EVENT_UPDATE:
        return this.merge('event', body.id, body.doc);
      case COMMAND.ALARM_CREATE:
        return (
          this.source(key, 'alarm') ??
          this.write('alarm', body.id, body.doc, [
            ['source', `{"id":"${key}"}`],
            ['status', '"ACTIVE"'],
            ['count', '1'],
          ])
        );
      case COMMAND.ALARM_UPDATE:
        return this.merge('alarm', body.id, body.doc);
      case COMMAND.OPERATION_CREATE:
        return this.write('operation', body.id, body.doc, [
          ['deviceId', `"${key}"`],
          ['status', '"PENDING"'],
        ]);
      case COMMAND.OPERATION_UPDATE:
        return this.merge('operation', body.id, body.doc, fitFailureReason);
      case COMMAND.CHILD_ADD: {
        for (const child of body.children ?? [body.child]) {
          const link = `${body.parent}\n${body.kind}\n${child}`;
          this.put('children', link, this.get('children', link) === undefined ? (body.maker ?? '1') : '1');
          this.put('parents', `${child}\n${body.kind}\n${body.parent}`, '1');
        }
        return { doc: this.get('managedObject', body.child) };
      }
      case COMMAND.CHILD_REMOVE:
        for (const child of body.children ?? [body.child]) {
          const link = `${body.parent}\n${body.kind}\n${child}`;
          if (body.maker === undefined || this.get('children', link) === body.maker)
            this.collections.get('2/children')?.delete(link);
        }
        return undefined;
      case COMMAND.EXTERNAL_ID_BIND: {
        const id = `${body.type}\n${body.externalId}`;
        if (this.get('externalId', id) !== undefined)
          throw new PlatformError('identity/duplicate', { type: body.type, value: body.externalId });
        this.put('externalId', id, JSON.stringify({ managedObject: body.managedObject }));
        this.put('externalIdsOf', `${body.managedObject}\n${id}`, '1');
        return body;
      }
      case COMMAND.DEVICE_ENSURE: {
        const id = `${body.type}\n${body.externalId}`;
        const bound = this.get('externalId', id);
        if (bound !== undefined)
          return { id: (JSON.parse(bound) as { managedObject: string }).managedObject, created: false };
        this.write('managedObject', body.id, body.doc, [['owner', JSON.stringify(body.owner)]]);
        this.put('externalId', id, JSON.stringify({ managedObject: body.id }));
        return { id: body.id, created: true };
      }
      case COMMAND.EXTERNAL_ID_UNBIND:
        return void this.collections.get('2/externalId')?.delete(`${body.type}\n${body.externalId}`);
      case COMMAND.USER_PUT:
        return this.run(putUser as Handler, command);
      case COMMAND.USER_DELETE:
        return this.run(deleteUser as Handler, command);
      case COMMAND.RECORDS_CHANGE:
        return this.run(changeRecords as Handler, command);
      default:
        return undefined;
    }
  }

  private source(key: string, area: string): undefined {
    if (this.get('managedObject', key) === undefined) throw new PlatformError('source/not-found', { area, id: key });
    return undefined;
  }

  private write(collection: Collection, id: string, doc: string, kept: [string, string][]): { doc: string } {
    const members: Members = new Map([
      ['id', JSON.stringify(id)],
      ...parseMembers(doc),
      ...kept,
      ['creationTime', TIME],
      ['lastUpdated', TIME],
    ]);
    this.put(collection, id, joinMembers(members));
    return { doc: joinMembers(members) };
  }

  /** @param fit the rule of the actor that changes `changes` before they are merged. */
  private merge(
    collection: Collection,
    id: string,
    doc: string,
    fit?: (changes: Members, stored: Members) => void,
  ): { doc: string } {
    const members = splitMembers(this.get(collection, id) as string);
    const changes = parseMembers(doc);
    fit?.(changes, members);
    mergeMembers(members, changes);
    this.put(collection, id, joinMembers(members));
    return { doc: joinMembers(members) };
  }
}

function fakeLog(failures: object[]): Log {
  const log: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (details) => void failures.push(details),
    isLevelEnabled: () => false,
    child: () => log,
  };
  return log;
}
