/** What both implementations of DeviceCommands promise, over one process and over the nodes of a cluster. */
import type { Test } from 'tap';
import { encodeCommand } from '../../src/ingest/journal/command-record.ts';
import type { DeviceCommands, OfferedRecord } from '../../src/ingest/journal/command-bus.ts';
import { encodeMeasurement } from '../../src/ingest/measurements/record.ts';
import type { AcknowledgementSink } from '../../src/ingest/journal/record-intake.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { Command } from '../../src/model/commands/command.ts';
import type { SessionStore } from '../../src/mqtt/sessions/application.ts';
import { NOW, TENANT, until } from '../actors/platform.ts';

export interface DeviceCommandsPlace {
  readonly commands: DeviceCommands;
  readonly sessions: SessionStore;
  /** Before a QoS 2 message of the session whose records are of these keys. */
  announce(session: string, keys: readonly (number | string)[]): Promise<void>;
  /** The text of a stored object. */
  objectOf(id: number): Promise<string | undefined>;
  /** Nothing more is taken. @returns what makes it take again. */
  refuse(): () => void;
}

const create = (id: number, doc = '{}'): Command => ({
  kind: COMMAND.MANAGED_OBJECT_CREATE,
  tenant: TENANT,
  key: id,
  mode: 0,
  receivedAt: NOW,
  body: { id: String(id), owner: 'ada', doc },
});
const update = (id: number, doc: string): Command => ({
  kind: COMMAND.MANAGED_OBJECT_UPDATE,
  tenant: TENANT,
  key: id,
  mode: 0,
  receivedAt: NOW,
  body: { doc, mayChangeOwner: false },
});
const measurement = (source: number): Buffer =>
  encodeMeasurement({
    tenant: TENANT,
    source,
    id: source,
    time: NOW,
    mode: 0,
    type: 'T',
    document: '',
    receivedAt: NOW,
    values: [{ fragment: 'f', series: 's', value: 1, unit: '' }],
  });

/** A connection: its tokens in order. */
class Sink implements AcknowledgementSink {
  readonly isOrdered = true;
  readonly told: string[] = [];
  durable(token: number): void {
    this.told.push(`durable ${token}`);
  }
  flushDurable(): void {
    this.told.push('flush');
  }
  failed(token: number): void {
    this.told.push(`failed ${token}`);
  }
  get tokens(): string[] {
    return this.told.filter((word) => word !== 'flush');
  }
}

export function deviceCommandsContract(
  t: Test,
  name: string,
  newPlace: (t: Test) => Promise<DeviceCommandsPlace>,
): void {
  t.test(`${name}: a command is answered by its actor, when its state can be read`, async (t) => {
    const { commands, objectOf } = await newPlace(t);
    t.match(await commands.request<{ doc: string }>(create(5, '{"n":1}')), { doc: /"n":1/ });
    t.match(await objectOf(5), /"n":1/);
    await t.rejects(commands.request(update(6, '{}')), {
      code: 'inventory/not-found',
      status: 404,
      details: { id: '6' },
    });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => commands.request<{ doc: string }>(update(5, `{"n":${n}}`))),
    );
    t.same(
      answers.map(({ doc }) => (JSON.parse(doc) as { n: number }).n),
      Array.from({ length: 50 }, (_, n) => n),
      'in the order of the calls',
    );
  });

  t.test(`${name}: what is refused names its limit and changes nothing`, async (t) => {
    const place = await newPlace(t);
    const again = place.refuse();
    await t.rejects(place.commands.request(create(5)), { code: 'general/busy', status: 503, details: { limit: /./ } });
    again();
    t.equal(await place.objectOf(5), undefined);
    await place.commands.request(create(5));
  });

  t.test(
    `${name}: the messages of a device are acknowledged in their order, with answers to each record`,
    async (t) => {
      const { commands, objectOf } = await newPlace(t);
      for (const id of [5, 6, 7]) await commands.request(create(id));
      const sink = new Sink();
      const answers: string[] = [];
      const told = (what: string): OfferedRecord['onAnswer'] => ({
        resolve: () => {
          answers.push(what);
        },
        reject: (error) => {
          answers.push(`${what} ${(error as { code?: string }).code}`);
        },
      });
      for (let token = 1; token <= 30; token += 1) {
        const source = 5 + (token % 3);
        const message: OfferedRecord[] =
          token % 2 === 0
            ? [{ record: measurement(source) }, { record: measurement(5) }]
            : [
                { record: encodeCommand(update(source, `{"token":${token}}`)), onAnswer: told(`${token}`) },
                { record: encodeCommand(update(99, '{}')), onAnswer: told(`${token} of 99`) },
              ];
        t.ok(commands.offer(message, sink, token));
      }
      await until(() => sink.tokens.length === 30 && answers.length === 30, 'acknowledged and answered');
      t.same(
        sink.tokens,
        Array.from({ length: 30 }, (_, index) => `durable ${index + 1}`),
      );
      t.equal(sink.told.at(-1), 'flush');
      t.same(answers.filter((what) => what.includes('of')).length, 15);
      t.ok(
        answers.filter((what) => what.includes('of')).every((what) => what.endsWith('inventory/not-found')),
        'a refusal is told to its record alone',
      );
      for (const [id, token] of [
        [5, 27],
        [6, 25],
        [7, 29],
      ] as const)
        t.match(await objectOf(id), new RegExp(`"token":${token}\\b`));
    },
  );

  t.test(`${name}: a QoS 2 message is there together with its packet id, until PUBREL`, async (t) => {
    const { commands, sessions, announce } = await newPlace(t);
    for (const id of [5, 6, 7]) await commands.request(create(id));
    await sessions.save(TENANT, 'dev', { subscriptions: new Map(), expirySeconds: 60, disconnectedAt: 0 });
    await announce('dev', [5, 6, 7]);
    const sink = new Sink();
    const packet = (id: number) => ({ tenant: TENANT, session: 'dev', id, receivedAt: NOW });
    t.ok(commands.offer([{ record: measurement(5) }], sink, 1, packet(1)));
    t.ok(
      commands.offer(
        [{ record: measurement(5) }, { record: measurement(6) }, { record: measurement(7) }],
        sink,
        2,
        packet(2),
      ),
    );
    await until(() => sink.tokens.length === 2);
    await until(
      async () => (await sessions.load(TENANT, 'dev'))?.received.toSorted().join() === '1,2',
      'both packet ids are there',
    );
    await sessions.release(TENANT, 'dev', 1);
    t.same((await sessions.load(TENANT, 'dev'))?.received, [2]);
    await sessions.remove(TENANT, 'dev');
    t.equal(await sessions.load(TENANT, 'dev'), undefined);
    await sessions.save(TENANT, 'dev', { subscriptions: new Map(), expirySeconds: 60, disconnectedAt: 0 });
    await announce('dev', [5, 6, 7]);
    t.same((await sessions.load(TENANT, 'dev'))?.received, [], 'nothing is left of a session that has ended');
  });
}
