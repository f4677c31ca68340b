/**
 * REST, JSON over MQTT and SmartREST take and refuse the same entities, with the same code and text of the refusal.
 * Bodies are made at random from a seed.
 */
import t from 'tap';
import type { Test } from 'tap';
import type { OfferedRecord } from '../../src/ingest/journal/command-bus.ts';
import { decodeCommand } from '../../src/ingest/journal/command-record.ts';
import { DistantMonths } from '../../src/ingest/measurements/distant-months.ts';
import { JsonMeasurementIntake } from '../../src/ingest/measurements/intake.ts';
import { decodeMeasurement, documentText } from '../../src/ingest/measurements/record.ts';
import { Sources } from '../../src/ingest/measurements/sources.ts';
import { MEMBERS_MAX } from '../../src/model/documents/json-document.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { planJson } from '../../src/mqtt/devices/json-messages.ts';
import { parseJsonTopic } from '../../src/smartrest/json-topics.ts';
import { SmartRestError } from '../../src/smartrest/rows/error.ts';
import { interpretRow } from '../../src/smartrest/static/templates.ts';
import { startApi } from '../api/helpers/api.ts';
import { rounds } from '../helpers/rounds.ts';
import { Random } from '../smartrest/random.ts';

const random = new Random();
const BODIES = rounds(80, 150);
const SOURCE = 251;
const SERIAL = 'pump';
const ALARM =
  '{"id":"7","source":{"id":"251"},"type":"t","time":"2024-05-02T10:00:00.000Z","text":"x","severity":"MAJOR"}';
const EVENT = '{"id":"8","source":{"id":"251"},"type":"t","time":"2024-05-02T10:00:00.000Z","text":"x"}';

/** A refusal as clients see it; undefined for what is taken. */
type Refusal = string | undefined;

const refusalOf = ({ error, message }: { readonly error: string; readonly message: string }): string =>
  `${error}: ${message}`;

/** A device whose object is SOURCE publishes JSON. @returns the records, or the refusal. */
function publish(topic: string, body: string): { readonly records: OfferedRecord[]; readonly refusal: Refusal } {
  const documents: Record<string, string> = { 'alarm 7': ALARM, 'event 8': EVENT, [`managedObject ${SOURCE}`]: '{}' };
  let id = 1_000;
  const parts = {
    ids: { next: () => id++, nextBeside: () => id++ },
    now: () => 0,
    hooks: {},
    objects: {
      known: { get: (collection: string, _tenant: number, key: string) => documents[`${collection} ${key}`] },
      sourceOf: (_tenant: number, serial: string) => (serial === SERIAL ? SOURCE : undefined),
      requireRight: () => undefined,
    },
  };
  const principal = { userName: 'ada', roles: new Set(['ROLE_INVENTORY_ADMIN']) };
  const link = { source: SOURCE, tenantNumber: 2, connection: { principal } };
  try {
    const told = (error: PlatformError): never => {
      throw error;
    };
    const records = planJson(parseJsonTopic(topic)!, body, link as never, parts as never, told);
    return { records, refusal: undefined };
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return { records: [], refusal: refusalOf(error) };
  }
}

function rowIsTaken(fields: readonly string[]): boolean {
  try {
    interpretRow(fields, { serial: SERIAL, isChild: false, now: 0 });
    return true;
  } catch (error) {
    if (!(error instanceof SmartRestError) || error.code !== 45) throw error;
    return false;
  }
}

// --- bodies ---

const TIMES = [
  '2024-05-02T10:00:00.000Z',
  '2024-05-02T10:00:00+02:00',
  '2024-05-02',
  '1899-01-01T00:00:00Z',
  'now',
  '',
];
const TEXTS = ['x', '', 'ä b', 'a\u0001', 'a\u0085', '\ud800', 'x'.repeat(1_001), 'ä'.repeat(600)];
const NAMES = ['c8y_X', 'a.b', '$x', '', 'a b', 'a,b', 'ü', 'x$', 'f'.repeat(1_001)];
const RESERVED = ['id', 'self', 'name', 'owner', 'status', 'severity', 'count', 'creationTime', 'lastUpdated', 'text'];
const VALUES = ['null', '7', '"x"', '{}', '[]', 'true', '"ACTIVE"', '"MAJOR"', '"7"', '1e400', '{"id":"251"}'];
const isOneIn = (chances: number): boolean => random.below(chances) === 0;
/** JSON text of a text that is most often good. */
const text = (good: string, others: readonly string[]): string =>
  isOneIn(12) ? random.pick(VALUES) : JSON.stringify(isOneIn(4) ? random.pick(others) : good);
const source = (): string =>
  random.pick([
    `{"id":"${SOURCE}"}`,
    `{"id":"${SOURCE}"}`,
    `{"id":${SOURCE}}`,
    '{"id":"x"}',
    '{}',
    'null',
    '"251"',
    '{"id":"0"}',
  ]);

/** Members in any order, each of which may be missing. */
function body(members: Record<string, string>): string {
  // Without a source MQTT takes the connected device's, REST refuses: that is a rule of the door.
  const entries = Object.entries(members).filter(([name]) => name === 'source' || !isOneIn(15));
  for (let further = random.below(3); further > 0; further -= 1)
    entries.push([random.pick(isOneIn(2) ? NAMES : RESERVED), random.pick(VALUES)]);
  entries.sort(() => random.below(3) - 1);
  const joined = entries.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(isOneIn(5) ? ' , ' : ',');
  return isOneIn(60) ? random.pick(['', '[]', '7', '{', `{${joined}`]) : `{${joined}}`;
}

const newEntity = (further: Record<string, string> = {}): string =>
  body({
    source: isOneIn(3) ? source() : `{"id":"${SOURCE}"}`,
    type: text('t', TEXTS),
    time: text(TIMES[0], TIMES),
    text: text('x', TEXTS),
    ...further,
  });
const severity = (): string => text('MAJOR', ['MINOR', 'major', '']);
const status = (): string => text('ACTIVE', ['CLEARED', 'GONE']);
/** Of a change: fixed members come back as they were stored, or not. */
const change = (further: Record<string, string>): string =>
  body({
    ...(isOneIn(3) ? { type: text('t', ['other']) } : {}),
    ...(isOneIn(3) ? { time: text(TIMES[0], TIMES) } : {}),
    ...(isOneIn(3) ? { source: source() } : {}),
    text: text('y', TEXTS),
    ...further,
  });

/** Both doors that take JSON, with the command that each of them sends. */
function same(
  t: Test,
  what: { readonly rest: { refusal: Refusal; doc?: string }; readonly topic: string; readonly body: string },
): Refusal {
  const { rest, topic, body: sent } = what;
  const mqtt = publish(topic, sent);
  if (rest.refusal !== mqtt.refusal)
    t.equal(mqtt.refusal, rest.refusal, `seed ${random.seed}: ${topic} ${sent.slice(0, 300)}`);
  if (rest.doc !== undefined && mqtt.refusal === undefined) {
    const { doc } = decodeCommand(mqtt.records[0].record, 0, 1).body as { doc: string };
    if (doc !== rest.doc) t.equal(doc, rest.doc, `seed ${random.seed}: the document of ${sent.slice(0, 300)}`);
  }
  return rest.refusal;
}

t.test('entities of JSON bodies', async (t) => {
  t.comment(`seed ${random.seed}; MILLRACE_TEST_SEED=${random.seed} runs it again`);
  const api = await startApi(t);
  api.fake.put('managedObject', String(SOURCE), `{"id":"${SOURCE}"}`);
  api.fake.put('managedObject', '300', '{"id":"300"}');
  const kinds: readonly [method: string, path: string, topic: string, make: () => string][] = [
    [
      'POST',
      '/alarm/alarms',
      'alarm/alarms/create',
      () => newEntity({ severity: severity(), ...(isOneIn(2) ? { status: status() } : {}) }),
    ],
    ['POST', '/event/events', 'event/events/create', () => newEntity()],
    [
      'POST',
      '/inventory/managedObjects',
      'inventory/managedObjects/create',
      () => body({ name: text('x', TEXTS), type: text('t', TEXTS), owner: text('eve', TEXTS) }),
    ],
    ['PUT', '/alarm/alarms/7', 'alarm/alarms/update/7', () => change({ severity: severity(), status: status() })],
    ['PUT', '/event/events/8', 'event/events/update/8', () => change({})],
    [
      'PUT',
      '/inventory/managedObjects/251',
      `inventory/managedObjects/update/${SERIAL}`,
      () => body({ name: text('x', TEXTS), c8y_X: random.pick(VALUES) }),
    ],
    [
      'POST',
      '/inventory/managedObjects/251/childDevices',
      'inventory/managedObjects/251/childDevices/create',
      () =>
        body(
          isOneIn(2)
            ? { name: text('x', TEXTS) }
            : { managedObject: random.pick(['{"id":"300"}', '{"id":300}', '{}', '7', '{"self":"http://x/300"}']) },
        ),
    ],
  ];
  for (const [method, path, topic, make] of kinds) {
    const counts = { taken: 0, refused: 0 };
    for (let index = 0; index < BODIES; index += 1) {
      const sent = make();
      api.fake.put('alarm', '7', ALARM);
      api.fake.put('event', '8', EVENT);
      api.fake.sent.length = 0;
      const reply = await api.call(method, path, { body: sent });
      const isTaken = reply.status === 200 || reply.status === 201;
      // A change of nothing is a sign of life for REST, and sends no command.
      const doc = (api.fake.sent[0]?.body as { doc?: string } | undefined)?.doc;
      const refusal = same(t, {
        rest: { refusal: isTaken ? undefined : refusalOf(reply.json), doc },
        topic,
        body: sent,
      });
      counts[refusal === undefined ? 'taken' : 'refused'] += 1;
    }
    t.ok(counts.taken > 0 && counts.refused > 0, `${method} ${path}: ${JSON.stringify(counts)}`);
  }
});

t.test('objects with very many members', async (t) => {
  const api = await startApi(t, { config: { jsonBodyMaxBytes: 200_000 } });
  const withMembers = (count: number): string =>
    `{${Array.from({ length: count }, (_, index) => `"m${index}":1`).join(',')}}`;
  const refusals: Refusal[] = [];
  for (const count of [MEMBERS_MAX, MEMBERS_MAX + 1]) {
    const sent = withMembers(count);
    const reply = await api.call('POST', '/inventory/managedObjects', { body: sent });
    const refusal = reply.status === 201 ? undefined : refusalOf(reply.json);
    refusals.push(same(t, { rest: { refusal }, topic: 'inventory/managedObjects/create', body: sent }));
  }
  t.equal(refusals[0], undefined);
  t.match(refusals[1], /has 5001 members at its top level; it takes 5000/);
});

t.test('measurements', async (t) => {
  t.comment(`seed ${random.seed}`);
  const scratch = { buffer: Buffer.alloc(0) };
  const intake = new JsonMeasurementIntake({
    intake: {
      refusal: undefined,
      appendAll: (records: Buffer, bytes: number, _count: number, sink: { flushDurable(): void }) => {
        scratch.buffer = Buffer.from(records.subarray(0, bytes));
        sink.flushDurable();
      },
    } as never,
    sources: new Sources({
      get: (_collection, _tenant, id) => (id === String(SOURCE) ? '{"owner":"ada"}' : undefined),
      getMany: () => [],
      list: () => [],
    }),
    distantMonths: new DistantMonths(),
    ids: { next: () => 1, peek: () => 1 } as never,
    refusals: { count: () => undefined },
    now: () => 0,
  });
  const principal = { tenant: 't', tenantNumber: 2, userName: 'ada', roles: new Set<string>() };
  const post = (sent: string): Refusal => {
    let refusal: Refusal;
    intake.post({
      body: Buffer.from(sent),
      principal,
      mode: 0,
      wantsBody: false,
      form: 'one',
      heard: undefined,
      done: (error) => {
        refusal = error && refusalOf(error);
      },
    });
    return refusal;
  };
  const counts = { taken: 0, refused: 0, rows: 0 };
  const NUMBERS = ['21.5', '-0', '1e3', '1.250', '9007199254740993', '1e400', '"7"', 'null'];
  for (let index = 0; index < BODIES * 5; index += 1) {
    const fragment = isOneIn(4) ? random.pick(NAMES) : 'c8y_T';
    const series = isOneIn(4) ? random.pick(NAMES) : 'T';
    const value = isOneIn(4) ? random.pick(NUMBERS) : '21.5';
    const unit = text('C', TEXTS);
    const [type, time] = [text('t', TEXTS), text(TIMES[0], TIMES)];
    const sent = body({
      source: isOneIn(5) ? source() : `{"id":"${SOURCE}"}`,
      type,
      time,
      [fragment]: `{${JSON.stringify(series)}:{"value":${value},"unit":${unit}}}`,
    });
    const refusal = post(sent);
    const mqtt = publish('measurement/measurements/create', sent);
    // Without a source it is the connected device's.
    if (/^\{/.test(sent) && sent.includes('"source"') && mqtt.refusal !== refusal)
      t.equal(mqtt.refusal, refusal, `seed ${random.seed}: ${sent.slice(0, 300)}`);
    if (refusal === undefined && mqtt.refusal === undefined) {
      const documents = [scratch.buffer, mqtt.records[0].record].map((record) =>
        documentText(decodeMeasurement(record, 0)),
      );
      if (documents[0] !== documents[1]) t.equal(documents[1], documents[0], `seed ${random.seed}: ${sent}`);
    }
    counts[refusal === undefined ? 'taken' : 'refused'] += 1;
    // A row has texts only, and what is empty in it is missing; halves of characters are in no UTF-8.
    const texts = [type, time, JSON.stringify(fragment), JSON.stringify(series), unit];
    if (texts.every((json) => json.startsWith('"') && json !== '""' && !/\\ud8/.test(json)) && /^[-\d]/.test(value)) {
      const [typeText, timeText, ...names] = texts.map((json) => JSON.parse(json) as string);
      const whole = `{"source":{"id":"${SOURCE}"},"type":${type},"time":${time},${texts[2]}:{${texts[3]}:{"value":${value},"unit":${unit}}}}`;
      const isTaken = rowIsTaken(['201', typeText, timeText, names[0], names[1], value, names[2]]);
      if (isTaken !== (post(whole) === undefined)) t.fail(`seed ${random.seed}: row 201 and ${whole.slice(0, 300)}`);
      counts.rows += 1;
    }
  }
  t.ok(counts.taken > 10 && counts.refused > 10 && counts.rows > 10, JSON.stringify(counts));
});

t.test('rows of SmartREST', async (t) => {
  t.comment(`seed ${random.seed}`);
  const texts = TEXTS.filter((one) => one !== '' && one.isWellFormed());
  const isTaken = (topic: string, members: object): boolean =>
    publish(topic, JSON.stringify(members)).refusal === undefined;
  const severities = { 301: 'CRITICAL', 302: 'MAJOR', 303: 'MINOR', 304: 'WARNING' };
  for (const type of texts) {
    for (const time of TIMES.filter((one) => one !== '')) {
      for (const [id, name] of Object.entries(severities))
        t.equal(
          rowIsTaken([id, type, 'x', time]),
          isTaken('alarm/alarms/create', { type, text: 'x', time, severity: name }),
          `${id}: ${type.slice(0, 9)} ${time}`,
        );
      t.equal(
        rowIsTaken(['400', type, 'x', time]),
        isTaken('event/events/create', { type, text: 'x', time }),
        `400: ${type.slice(0, 9)} ${time}`,
      );
    }
  }
  for (const name of NAMES.filter((one) => one !== '')) {
    const object = isTaken(`inventory/managedObjects/update/${SERIAL}`, { [name]: null });
    t.equal(rowIsTaken(['107', name]), object, `107: ${name.slice(0, 9)}`);
    t.equal(
      rowIsTaken(['307', 't', name]),
      isTaken('alarm/alarms/update/7', { [name]: null }),
      `307: ${name.slice(0, 9)}`,
    );
  }
  const api = await startApi(t);
  api.fake.put('managedObject', String(SOURCE), `{"id":"${SOURCE}"}`);
  for (const serial of ['p1', 'a b', 'ü', 'a\u0001', 'a\u0085', 'a\u007f', 'a\n']) {
    const reply = await api.call('POST', `/identity/globalIds/${SOURCE}/externalIds`, {
      body: { type: 'c8y_Serial', externalId: serial },
    });
    t.equal(rowIsTaken(['101', serial, 'name', 'type']), reply.status === 201, `external ID ${JSON.stringify(serial)}`);
  }
});
