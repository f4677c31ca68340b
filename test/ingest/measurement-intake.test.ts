/** Bodies with measurements: all of it or nothing; the scanner and the general path agree. */
import t from 'tap';
import { GroupCommit } from '../../src/ingest/journal/group-commit.ts';
import type { Journal } from '../../src/ports/stores/journal.ts';
import { nextAt } from '../../src/ingest/journal/record-layout.ts';
import { DistantMonths } from '../../src/ingest/measurements/distant-months.ts';
import { JsonMeasurementIntake } from '../../src/ingest/measurements/intake.ts';
import type { PostedMeasurements } from '../../src/ingest/measurements/intake.ts';
import { copyCompact, skipSpace } from '../../src/ingest/measurements/json-bytes.ts';
import { ScannedMeasurement, scanMeasurement } from '../../src/ingest/measurements/json.ts';
import { parseMeasurement, splitBody } from '../../src/ingest/measurements/parse.ts';
import { decodeMeasurement, documentText } from '../../src/ingest/measurements/record.ts';
import type { DecodedMeasurement } from '../../src/ingest/measurements/record.ts';
import { Sources } from '../../src/ingest/measurements/sources.ts';
import type { DocumentReader } from '../../src/ports/document-reader.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { joinMembers, parseMembers } from '../../src/model/documents/json-document.ts';
import type { InventoryGrant } from '../../src/model/access/inventory-grant.ts';
import type { MeasurementBody } from '../../src/model/entities/measurement.ts';
import { PROCESSING_MODE } from '../../src/model/commands/processing-mode.ts';
import type { ProcessingMode } from '../../src/model/commands/processing-mode.ts';
import { rounds } from '../helpers/rounds.ts';
import { Random } from '../smartrest/random.ts';

const NOW = Date.UTC(2026, 10, 21);
/** Tenant 1 has 251 and 252, of ada and bob; tenant 2 has 300. */
const OBJECTS = new Map([
  ['1/251', 'ada'],
  ['1/252', 'bob'],
  ['2/300', 'ada'],
]);

interface PostSettings {
  form?: MeasurementBody;
  roles?: string[];
  user?: string;
  tenant?: number;
  mode?: ProcessingMode;
  wantsBody?: boolean;
  grants?: InventoryGrant[];
}

function newIntake(options: { async?: boolean | 'down'; refusal?: string } = {}) {
  const read = (tenant: number, id: string): string | undefined => {
    const owner = OBJECTS.get(`${tenant}/${id}`);
    return owner === undefined ? undefined : `{"id":"${id}","owner":"${owner}"}`;
  };
  let reads = 0;
  let answers = 0;
  const get: DocumentReader['get'] = (_collection, tenant, id) => {
    reads += 1;
    if (options.async === 'down') return Promise.reject(new Error('connection lost'));
    return options.async ? Promise.resolve(read(tenant, id)) : read(tenant, id);
  };
  const groups: { firstSeq: number; records: Buffer }[] = [];
  const journal: Journal = {
    lastSeq: 0,
    sizeBytes: 0,
    read: () => undefined,
    trim: () => undefined,
    append: async (firstSeq, records) => {
      groups.push({ firstSeq, records: Buffer.from(records) });
    },
  };
  const refused: string[] = [];
  const group = new GroupCommit({
    journal,
    journalBytesMax: 1e9,
    onDurable: () => undefined,
    refusal: () => options.refusal,
    onError: (error) => {
      throw error;
    },
  });
  let nextId = 1_000;
  const intake = new JsonMeasurementIntake({
    intake: group,
    sources: new Sources({
      get,
      getMany: () => [],
      list: (_collection, _tenant, prefix) => (prefix === '251\n' ? [{ id: '251\nchildAssets\n7', value: '1' }] : []),
    }),
    distantMonths: new DistantMonths(),
    now: () => NOW,
    ids: { next: () => nextId++, peek: () => nextId, nextBeside: () => nextId++ } as never,
    refusals: {
      count: (limit) => {
        refused.push(limit);
      },
    },
  });
  const heard: number[] = [];
  const post = (body: string | Buffer, settings: PostSettings = {}) =>
    new Promise<PostedMeasurements>((resolve, reject) => {
      const principal = {
        tenant: 't',
        tenantNumber: settings.tenant ?? 1,
        userName: settings.user ?? 'ada',
        roles: new Set(settings.roles ?? ['ROLE_MEASUREMENT_ADMIN']),
        ...(settings.grants === undefined ? {} : { grants: settings.grants }),
      };
      intake.post({
        body: Buffer.from(body),
        principal,
        mode: settings.mode ?? PROCESSING_MODE.PERSISTENT,
        wantsBody: settings.wantsBody ?? false,
        form: settings.form ?? 'either',
        done: (error, answer) => {
          answers += 1;
          if (error) reject(error);
          else resolve(answer as PostedMeasurements);
        },
        heard: (_tenant, device) => {
          heard.push(device);
        },
      });
    });
  const stored = (): DecodedMeasurement[] =>
    groups.splice(0).flatMap(({ records }) => {
      const found: DecodedMeasurement[] = [];
      for (let at = 0; at < records.length; at = nextAt(records, at)) found.push(decodeMeasurement(records, at));
      return found;
    });
  return { post, stored, groups, refused, heard, reads: () => reads, answers: () => answers };
}

const TIME = '2024-05-02T10:00:00.000Z';
const one = (value = '21.5', source = '251'): string =>
  `{"source":{"id":"${source}"},"time":"${TIME}","type":"T","f":{"s":{"value":${value},"unit":"C"}}}`;

t.test('single and collection, with and without a body in the answer', async (t) => {
  const { post, stored } = newIntake();
  t.same(await post(one()), { collection: false, documents: [{ id: '1000', text: '' }] });
  t.match(stored(), [
    {
      tenant: 1,
      source: 251,
      id: 1000,
      time: Date.UTC(2024, 4, 2, 10),
      type: 'T',
      document: '',
      mode: 0,
      values: [{ fragment: 'f', series: 's', value: 21.5, unit: 'C' }],
    },
  ]);
  t.same(await post(one(), { wantsBody: true }), { collection: false, documents: [{ id: '1001', text: one() }] });
  t.same(await post(` \n{ "measurements" : [ ${one()} , ${one('1')} ] }\r\n\t`), { collection: true, documents: [] });
  t.same(
    stored().map(({ id }) => id),
    [1001, 1002, 1003],
  );
  const answer = await post(`{"measurements":[${one()}]}`, { wantsBody: true });
  t.same(answer, { collection: true, documents: [{ id: '1004', text: one() }] });
  t.same(await post('{"measurements":[]}'), { collection: true, documents: [] });
  t.same(await post('{"measurements":[]}', { wantsBody: true }), { collection: true, documents: [] });
  t.equal(stored().length, 1);
  t.same(await post(`{"self":"x","measurements":[${one()}],"statistics":{}}`), { collection: true, documents: [] });
  t.equal((await post(`{"source":{"id":"251"},"time":"${TIME}","type":"no series"}`)).documents.length, 1);
  t.match(stored().at(-1), { type: 'no series', values: [] });
  const escaped = await post(one().replace('"T"', '"\\u0054"'));
  t.equal(escaped.documents[0].id, String(stored().at(-1)?.id), 'the id in the answer is the id that is stored');
});

for (const isAsync of [false, true]) {
  t.test(`an inventory permission for a type, documents later: ${isAsync}`, async (t) => {
    const { post, stored } = newIntake({ async: isAsync });
    const grant = (type: string, more: Partial<InventoryGrant> = {}): InventoryGrant => ({
      root: 7,
      scope: 'MEASUREMENT',
      permission: 'ADMIN',
      type,
      ...more,
    });
    const of = (type: string, fragments: string[], source = '251'): string =>
      JSON.stringify({
        source: { id: source },
        time: TIME,
        type,
        ...Object.fromEntries(fragments.map((name) => [name, { s: { value: 1 } }])),
      });
    const rows: [what: string, grants: InventoryGrant[], body: string, isTaken: boolean][] = [
      ['the type', [grant('T')], of('T', ['f']), true],
      ['the fragment', [grant('f')], of('T', ['f']), true],
      ['another one', [grant('U')], of('T', ['f']), false],
      ['a fragment beside it', [grant('f')], of('T', ['f', 'g']), false],
      ['both fragments', [grant('f'), grant('g')], of('T', ['f', 'g']), true],
      ['by the general path', [grant('f')], of('T', ['f']).replace('"f"', '"\\u0066"'), true],
      ['refused by it', [grant('g')], of('T', ['f']).replace('"f"', '"\\u0066"'), false],
      ['a type without values', [grant('T')], of('T', []), true],
      ['nothing that it is about', [grant('f')], of('T', []), false],
      ['all types', [grant('*')], of('T', ['f', 'g']), true],
      ['to read', [grant('T', { permission: 'READ' })], of('T', ['f']), false],
      ['of another scope', [grant('T', { scope: 'EVENT' })], of('T', ['f']), false],
      ['at another object', [grant('T', { root: 8 })], of('T', ['f']), false],
      ['each of a collection', [grant('T')], `{"measurements":[${of('T', ['f'])},${of('T', ['g'])}]}`, true],
      ['one of a collection', [grant('T')], `{"measurements":[${of('T', ['f'])},${of('U', ['f'])}]}`, false],
      ['not below the object', [grant('T')], of('T', ['f'], '252'), false],
    ];
    for (const [what, grants, body, isTaken] of rows) {
      const posted = post(body, { user: 'eve', roles: [], grants });
      if (isTaken) await posted;
      else await t.rejects(posted, { code: 'security/forbidden' }, what);
      t.equal(stored().length > 0, isTaken, what);
    }
  });
}

for (const isAsync of [false, true]) {
  t.test(`whose measurements keep a device available, documents later: ${isAsync}`, async (t) => {
    const { post, heard } = newIntake({ async: isAsync });
    const rows: [what: string, user: string, body: string, devices: number[]][] = [
      ['its owner', 'ada', one(), [251]],
      ['a user of devices', 'device_9', one(), [251]],
      ['an operator', 'eve', one(), []],
      ['by the general path', 'ada', one().replace('"T"', '"\\u0054"'), [251]],
      ['an operator there', 'eve', one().replace('"T"', '"\\u0054"'), []],
      ['once', 'ada', `{"measurements":[${one()},${one()}]}`, [251]],
      ['the owner of one of two', 'bob', `{"measurements":[${one()},${one('1', '252')}]}`, [252]],
    ];
    for (const [what, user, body, devices] of rows) {
      heard.length = 0;
      await post(body, { user });
      t.same([...new Set(heard)], devices, what);
    }
    heard.length = 0;
    await t.rejects(post(one(), { user: 'device_9', roles: [] }), { code: 'security/forbidden' });
    t.same(heard, [], 'what is refused tells nothing');
  });
}

t.test('a body that is wrong anywhere stores nothing and says what is wrong', async (t) => {
  const { post, stored, groups } = newIntake();
  const check = async (
    body: string | Buffer,
    code: string,
    settings: Parameters<typeof post>[1] = {},
  ): Promise<void> => {
    await t.rejects(
      post(body, settings),
      { code },
      `${code}: ${String(body)
        .slice(0, 60)
        .replace(/[^ -~]/g, '?')}`,
    );
    t.equal(groups.length, 0);
  };
  for (const body of ['[]', 'null', '{"measurements":[1]}', `[${one()}]`, `{"measurements":[[${one()}]]}`])
    await check(body, 'validation/not-an-object');
  for (const body of [
    '',
    ' ',
    '{',
    'x',
    `${one()}x`,
    `${one()},${one()}`,
    `{"measurements":[${one()}`,
    `{"measurements":[${one()},]}`,
    `{"measurements":[${one()}]}}`,
    `["measurements":[${one()}]}`,
    `{"measurements":[${one()}]]`,
    `\v${one()}`,
    one().replace(',"f"', ',\f"f"'),
    one('01'),
    one('+1'),
    one('1.'),
    one('NaN'),
    one('- 1'),
    one().replace('"T"', '"\n"'),
  ]) {
    await check(body, 'general/bad-json');
  }
  await check(
    Buffer.concat([Buffer.from(one().slice(0, -3)), Buffer.from([0xc3, 0x28]), Buffer.from('"}}}')]),
    'general/bad-json',
  );
  await check(Buffer.from(one().replace('"T"', '"\u00ff"'), 'latin1'), 'general/bad-json');
  await check('{}', 'validation/mandatory-fields');
  for (const name of ['source', 'time', 'type'])
    await check(one().replace(`"${name}"`, '"other"'), 'validation/mandatory-fields');
  for (const [from, to] of [
    ['"251"', '"abc"'],
    ['"251"', '"0251"'],
    ['"251"', '"-1"'],
    ['"251"', '1.5'],
    ['"251"', '["251"]'],
    ['"251"', '9007199254740993'],
    [TIME, 'yesterday'],
    [`"${TIME}"`, '1714644000000'],
    ['"T"', '7'],
    ['"T"', '""'],
    ['"f"', '"f.g"'],
    ['"s"', '"s s"'],
    ['"s"', '"$"'],
    ['"s"', '""'],
    ['21.5', '"21.5"'],
    ['21.5', 'true'],
    ['21.5', '1e400'],
    ['"T"', `"${'T'.repeat(1_001)}"`],
    ['"s"', '"\\u00a0"'],
  ]) {
    await check(one().replace(from, to), 'validation/invalid-field');
  }
  await check(`{"measurements":[${one()},${one()},${one().replace('"f"', '"f*"')}]}`, 'validation/invalid-field');
  await check(one('1', '999'), 'source/not-found');
  await check(one('1', '300'), 'source/not-found');
  await check(`{"measurements":[${one()},${one('1', '999')}]}`, 'source/not-found');
  await check(one('1', '252'), 'security/forbidden', { roles: [] });
  await check(`{"measurements":[${one()},${one('1', '252')}]}`, 'security/forbidden', {
    roles: ['ROLE_MEASUREMENT_READ'],
  });
  await post(one('1', '251'), { roles: [] });
  await post(one('1', '252'));
  await post(one('1', '300'), { tenant: 2 });
  await t.rejects(post(one('1', '300')), { code: 'source/not-found' }, 'of another tenant, also when it is remembered');
  t.same(
    stored().map(({ source }) => source),
    [251, 252, 300],
  );
});

t.test('names, units, types and times have the same limits on both paths', async (t) => {
  const { post, stored, groups } = newIntake();
  const long = (letter: string, bytes: number): string => letter.repeat(bytes / Buffer.byteLength(letter));
  const withText = (name: string, text: string): string => one().replace(`"${name}"`, `"${text}"`);
  for (const [name, field] of [
    ['f', 'name of a fragment'],
    ['s', 'name of a series of f'],
    ['C', 'f.s.unit'],
    ['T', 'type'],
  ]) {
    for (const letter of ['x', 'ä']) {
      await post(withText(name, long(letter, 1_000)));
      t.equal(stored().length, 1, `1,000 bytes of ${letter} as ${field}`);
      for (const bytes of [1_002, 65_536, 65_546, 131_072]) {
        await t.rejects(
          post(withText(name, long(letter, bytes))),
          {
            code: 'validation/invalid-field',
            status: 422,
            message: new RegExp(`^The field ${field} has the value "?${letter}{199,200}…; it takes .*1000 bytes`),
          },
          `${bytes} bytes of ${letter} as ${field}`,
        );
      }
    }
  }
  // Behind one of the same form, and with more values than one insert of lengths would tell.
  const several = (fragment: string): string =>
    one().replace(
      '"f":{',
      `"${fragment}":{${Array.from({ length: 16 }, (_, index) => `"s${index}":{"value":1},`).join('')}`,
    );
  await post(several('f'));
  await t.rejects(post(several(long('x', 65_546))), { code: 'validation/invalid-field' });
  await t.rejects(post(`{"measurements":[${one()},${several(long('x', 65_546))}]}`), {
    code: 'validation/invalid-field',
  });
  t.equal(stored().length, 1);
  const at = (time: string): string => one().replace(TIME, time);
  const times = [
    '0000-06-01T00:00:00Z',
    '0001-01-01T00:00:00.000Z',
    '1899-12-31T23:59:59.999Z',
    '1900-01-01T00:00:00+00:01',
    '2300-01-01T00:00:00.000Z',
    '2299-12-31T23:59:59.999-00:01',
    '9999-12-31T23:59:59.999Z',
  ];
  for (const time of times) {
    for (const body of [at(time), at(time).replace('"T"', '"\\u0054"')]) {
      await t.rejects(post(body), {
        code: 'validation/invalid-field',
        message: `The field time has the value "${time}"; it takes an ISO 8601 timestamp from 1900 to 2299`,
      });
    }
    await t.rejects(
      post(`{"measurements":[${one()},${at(time)}]}`),
      { code: 'validation/invalid-field' },
      'behind one of the same form',
    );
  }
  t.equal(groups.length, 0);
  for (const time of ['1900-01-01T00:00:00.000Z', '2299-12-31T23:59:59.999Z']) await post(at(time));
  t.same(
    stored().map(({ time }) => time),
    [Date.UTC(1900, 0, 1), Date.UTC(2300, 0, 1) - 1],
  );
});

t.test('names of fragments without series, other properties and reserved keys', async (t) => {
  const { post, stored, groups } = newIntake();
  const plus = (member: string): string => one().replace('"f"', `${member},"f"`);
  const bad = [
    '"a b":{}',
    '"a.b":{"x":1}',
    '"":{}',
    `"${'x'.repeat(1_001)}":{}`,
    '"a.b":5',
    '"":5',
    '"$a":"x"',
    '"text":5',
    '"name":{}',
    '"name":{"T":{"value":1}}',
    '"status":[]',
    '"severity":1',
    '"owner":true',
    '"count":"1"',
    '"count":1.5',
  ];
  for (const member of bad)
    await t.rejects(post(plus(member)), { code: 'validation/invalid-field', status: 422 }, member.slice(0, 40));
  await t.rejects(post(plus('"text":5')), { message: 'The field text has the value 5; it takes a text' });
  for (const unit of ['5', '{}', 'true'])
    await t.rejects(
      post(one().replace('"C"', unit)),
      { code: 'validation/invalid-field', message: /f\.s\.unit/ },
      `unit ${unit}`,
    );
  t.equal(groups.length, 0);
  const good = ['"a b":5', '"a":{}', '"text":"t"', '"name":null', '"count":3', '"id":"7"', '"x":{"a.b":1}'];
  for (const member of good) await post(plus(member));
  await post(one().replace('"C"', 'null'));
  t.equal(stored().length, good.length + 1);
});

t.test('a vendor type says whether the body is one or a collection', async (t) => {
  const { post, stored, groups } = newIntake();
  const list = `{"measurements":[${one()}]}`;
  for (const body of ['{"measurements":[]}', list]) {
    await t.rejects(post(body, { form: 'one' }), {
      code: 'validation/mandatory-fields',
      message: /source\.id,time,type/,
    });
  }
  await t.rejects(post(one(), { form: 'collection' }), {
    code: 'validation/mandatory-fields',
    message: /: measurements$/,
  });
  await t.rejects(post('{"measurements":{}}', { form: 'collection' }), {
    code: 'validation/invalid-field',
    message: /measurements/,
  });
  t.equal(groups.length, 0);
  t.match(await post(one(), { form: 'one' }), { collection: false });
  t.match(await post(list, { form: 'collection' }), { collection: true });
  t.match(await post('{"measurements":[]}', { form: 'collection' }), { collection: true });
  t.match(await post(`{"measurements":[],${one().slice(1)}`, { form: 'one' }), { collection: false });
  t.equal(stored().length, 3);
});

t.test('refused by name while the journal takes nothing', async (t) => {
  const { post, groups, refused } = newIntake({ refusal: 'disk/free-bytes' });
  await t.rejects(post(one()), { code: 'general/disk-full', message: /disk\/free-bytes/ });
  t.same(refused, ['disk/free-bytes']);
  t.equal(groups.length, 0);
});

t.test('modes: what is not stored has no id', async (t) => {
  const { post, stored } = newIntake();
  for (const [mode, hasId] of [
    [PROCESSING_MODE.TRANSIENT, false],
    [PROCESSING_MODE.CEP, false],
    [PROCESSING_MODE.QUIESCENT, true],
  ] as const) {
    const answers = [await post(one(), { mode }), await post(one(), { mode, wantsBody: true })];
    for (const { documents } of answers) t.equal(documents[0].id !== '', hasId, `mode ${mode}`);
    t.same(
      stored().map((measurement) => measurement.mode),
      [mode, mode],
    );
  }
});

t.test('ten thousand measurements in one body are one acknowledgement and one group', async (t) => {
  const { post, stored, groups, answers } = newIntake();
  const body = `{"measurements":[${Array.from({ length: 10_000 }, (_, index) => one(String(index))).join(',')}]}`;
  t.same(await post(body), { collection: true, documents: [] });
  t.equal(groups.length, 1);
  t.same(
    stored().map(({ values }) => values[0].value),
    Array.from({ length: 10_000 }, (_, index) => index),
  );
  const large = `{"measurements":[${Array.from({ length: 60_000 }, () => one()).join(',')}]}`;
  const both = await Promise.all([post(large), post(large), post(one())]);
  t.equal(both.length, 3, 'larger than a group, and two at once');
  t.equal(stored().length, 120_001);
  t.equal(answers(), 4, 'one answer to each body');
});

t.test('a store that answers later: the same answers, and an unknown source is looked for once', async (t) => {
  const { post, stored, reads } = newIntake({ async: true });
  await post(`{"measurements":[${one()},${one('2', '252')},${one('3')}]}`);
  t.same(
    stored().map(({ source, values }) => [source, values[0].value]),
    [
      [251, 21.5],
      [252, 2],
      [251, 3],
    ],
  );
  const before = reads();
  await t.rejects(post(one('1', '999')), { code: 'source/not-found' });
  t.equal(reads(), before + 1);
  const unread = newIntake({ async: true });
  await unread.post(
    `{"measurements":[${Array.from({ length: 1_000 }, (_, index) => one(String(index), index % 2 === 0 ? '251' : '252')).join(',')}]}`,
  );
  t.equal(unread.reads(), 2, 'sources are looked for once, however many measurements they have');
  const answers = await Promise.all([post(one(), { wantsBody: true }), post(one('5'), { wantsBody: true })]);
  t.same(
    stored().map(({ id }) => String(id)),
    answers.map(({ documents }) => documents[0].id),
  );
  await t.rejects(newIntake({ async: 'down' }).post(one()), { code: 'general/busy' });
  await t.rejects(
    newIntake({ async: 'down' }).post(`{"measurements":[${one()},{}]}`),
    { code: /^(?!general.busy)/ },
    'a body that is wrong as well',
  );
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  t.pass('the read that nobody waits for any more ends nothing');
});

interface Read {
  source: number;
  time: number;
  type: string;
  values: readonly object[];
  document: string;
  isKept: boolean;
}

/** What the general path makes of the body, undefined where it refuses. */
function general(body: Buffer): Read | undefined {
  try {
    const { collection, documents } = splitBody(body.toString('utf8'));
    if (collection) return undefined;
    const { source, time, type, values, document, form } = parseMeasurement(documents[0]);
    const decoded = { tenant: 1, source, id: 1, time, mode: 0 as const, type, values, document, form };
    return { source, time, type, values, document: documentText(decoded), isKept: document !== '' };
  } catch (error) {
    if (error instanceof PlatformError) return undefined;
    throw error;
  }
}

/** The same from the scanner, 'declined' where it leaves the body to the general path. */
function scanned(body: Buffer, out = new ScannedMeasurement()): Read | 'declined' {
  const end = scanMeasurement(body, skipSpace(body, 0), out);
  if (end < 0 || skipSpace(body, end) !== body.length) return 'declined';
  const text = (from: number, to: number): string => body.toString('utf8', from, to);
  const values = Array.from({ length: out.valueCount }, (_, index) => {
    const [f0, f1, s0, s1, u0, u1] = out.texts.subarray(index * 6, index * 6 + 6);
    return { fragment: text(f0, f1), series: text(s0, s1), value: out.values[index], unit: text(u0, u1) };
  });
  const type = text(out.typeStart, out.typeEnd);
  const kept = Buffer.alloc(body.length);
  const document = out.needsDocument ? kept.toString('utf8', 0, copyCompact(body, out.start, out.end, kept, 0)) : '';
  const form = out.needsDocument ? 0 : out.layoutForm + out.timeForm + out.numberForm;
  if (!out.hasSpace && document !== '' && document !== text(out.start, out.end)) throw new Error('there was space');
  const decoded = {
    tenant: 1,
    source: out.source,
    id: 1,
    time: out.time,
    mode: 0 as const,
    type,
    values,
    document,
    form,
  };
  return {
    source: out.source,
    time: out.time,
    type,
    values,
    document: documentText(decoded),
    isKept: out.needsDocument,
  };
}

/** Times as clients write them; the last ones have no form. */
const TIMES = [
  '"2024-05-02T12:00:00+02:00"',
  '"2024-05-02T12:00:00Z"',
  '"2024-05-02T12:00:00.5Z"',
  '"2024-05-02T12:00:00.120"',
  '"2024-05-02 12:00:00.000001+0530"',
  '"2024-05-02T00:30:00.123456789-08"',
  '"2024-02-29T23:59:59.999000-03:30"',
  '"1900-01-01T18:00:00+18:00"',
  '"2299-12-31T05:59:59.999-18:00"',
  '"2024-05-02"',
  '"2024-05-02T12:00Z"',
  '"2024-05-02t12:00:00Z"',
  '"2024-05-02T12:00:00,5Z"',
  '"2024-05-02T12:00:00z"',
  '"2024-05-02T12:00:00-00:00"',
  '"2024-05-02T12:00:00.1234567890Z"',
];

t.test('a measurement comes back as it was sent, and with the form alone where clients write it as most do', (t) => {
  const random = new Random();
  const numbers = [
    '21.5',
    '20.0',
    '0.0',
    '-7',
    '0',
    '21.50',
    '-0.10',
    '100',
    '0.0000010',
    '1e3',
    '-0',
    '-0.0',
    '12345678901234567890',
    '1E+2',
    '0.1234567890123456',
    '1e-7',
  ];
  const kept = new Set<string>();
  /** Knows the form of the one before. */
  const repeating = new ScannedMeasurement();
  const check = (body: string): void => {
    const want = joinMembers(parseMembers(body));
    const fast = scanned(Buffer.from(body));
    const again = [scanned(Buffer.from(body), repeating), scanned(Buffer.from(` ${body}`), repeating)];
    for (const read of again)
      if (JSON.stringify(read) !== JSON.stringify(fast))
        t.fail(`${body}: ${JSON.stringify(read)} behind another, seed ${random.seed}`);
    const slow = general(Buffer.from(body));
    if (slow?.document !== want) t.fail(`${body}: general path ${JSON.stringify(slow)}, seed ${random.seed}`);
    if (fast !== 'declined' && fast.document !== want)
      t.fail(`${body}: scanned ${JSON.stringify(fast)}, seed ${random.seed}`);
    if (fast !== 'declined' && slow?.isKept && !fast.isKept)
      t.fail(`${body}: kept by the general path only, seed ${random.seed}`);
    if (slow?.isKept) kept.add(body);
  };
  const parts = (time: string, number: string, isUnitFirst: boolean): string[] => [
    `"source": {"id": "251"}`,
    `"time": ${time}`,
    '"type": "c8y_T"',
    isUnitFirst
      ? `"c8y_T": {"T": {"unit": "° C", "value": ${number}}}`
      : `"c8y_T": {"T": {"value": ${number}, "unit": "° C"}}`,
  ];
  for (let round = 0; round < rounds(700, 5_000); round += 1) {
    const members = parts(random.pick([`"${TIME}"`, ...TIMES]), random.pick(numbers), random.below(2) === 0);
    for (let index = 3; index > 0; index -= 1) members.splice(index, 0, ...members.splice(random.below(index + 1), 1));
    check(`{${members.join(', ')}}`);
    // Of the same form, with another time and number.
    const body = members.join(', ').replace(/"value": [^,}]*/, () => `"value": ${random.pick(numbers)}`);
    check(`{${body.replace(/"time": "[^"]*"/, () => `"time": ${random.pick([`"${TIME}"`, ...TIMES])}`)}}`);
  }
  const isKept = (time: string, number: string): boolean => {
    const body = `{${parts(time, number, false).join(', ')}}`;
    check(body);
    return kept.has(body);
  };
  t.same(
    [`"${TIME}"`, ...TIMES].filter((time) => isKept(time, '1')),
    TIMES.slice(9),
    'times whose text is kept',
  );
  t.same(
    numbers.filter((number) => isKept(`"${TIME}"`, number)),
    numbers.slice(9, 14),
    'numbers whose text is kept',
  );
  for (const body of [`{"id":"7","self":"x",${one().slice(1)}`])
    t.equal(general(Buffer.from(body))?.document, one(), 'what the server adds is not kept');
  check(`{"a":null,"b":{},"c":[],"d":"\u0041ä\/",${one().slice(1)}`);
  check(one().replace('"T"', '"\u0054"'));
  check(`{"source":{"id":"251"},"time":"${TIME}","type":"T"}`);
  t.end();
});

t.test('the scanner declines or gives what the general path gives', (t) => {
  const random = new Random();
  const numbers = [
    '0',
    '-0',
    '1',
    '21.5',
    '21.50',
    '1e3',
    '-1.5E-7',
    '0.1',
    '0.000001',
    '0.0000001',
    '123456789012345',
    '1234567890123456',
    '9007199254740993',
    '0.1234567890123456',
    '00',
    '1.0',
    '-12.25',
    '100',
    '1e400',
    '0.30000000000000004',
    '5e-324',
    '-',
    '.5',
    '1.',
    '+1',
    '999999999999999.9',
  ];
  const names = [
    'f',
    's',
    'c8y_Temperature',
    'T',
    'value',
    'unit',
    'id',
    'type',
    'text',
    'a b',
    'a.b',
    'Länge',
    '__proto__',
    '1',
    '\\u0041',
    'time',
    'source',
    '',
  ];
  const space = (): string =>
    random.below(150) === 0 ? random.pick(['\v', '\f', '\u00a0']) : random.pick(['', '', '', ' ', '\n', '\t ', '\r']);
  const name = (): string => random.pick(random.below(6) === 0 ? names : names.slice(0, 4));
  const number = (): string => random.pick(random.below(8) === 0 ? numbers : numbers.slice(0, 13));
  const series = (): string => {
    const unit =
      random.below(4) > 0
        ? random.pick(['', ',"unit":"C"', ',"unit":"°C"'])
        : random.pick([',"unit":""', ',"unit":"\\"x"', ',"unit":7', ',"x":1', ',"value":7', ',"unit":"C","unit":"F"']);
    if (random.below(5) === 0) return `"${name()}":{${space()}"unit":${space()}"C"${space()},"value":${number()}}`;
    return `${space()}"${name()}":${space()}{"value":${number()}${unit}}`;
  };
  const fragment = (): string =>
    `"${name()}":{${Array.from({ length: 1 + random.below(3) }, series).join(',')}${space()}}`;
  const extras = [
    '"x":1',
    '"x":{}',
    '"x":{"a":1}',
    '"id":"7"',
    '"self":"x"',
    '"text":"t"',
    '"time":"2024-01-01"',
    '"type":"U"',
    '"source":{"id":"252"}',
  ];
  const unusual = ['{"id":251}', '{"id":"0251"}', '{"self":"x","id":"1"}', '{"id":"0"}', '{"id":"9999999999999999"}'];
  let taken = 0;
  for (let round = 0; round < rounds(2_000, 40_000); round += 1) {
    const parts = [
      `"source":${random.pick(random.below(4) > 0 ? ['{"id":"251"}', '{ "id" : "251" }'] : unusual)}`,
      `"time":${random.pick(random.below(8) > 0 ? [`"${TIME}"`, ...TIMES] : ['"x"', '7'])}`,
      `"type":${random.pick(random.below(6) > 0 ? ['"T"', '"ü°"'] : ['"Länge \\\\"', '""', 'null'])}`,
      fragment(),
    ];
    if (random.below(3) === 0) parts.push(fragment());
    if (random.below(6) === 0) parts.push(random.pick(extras));
    if (random.below(3) === 0) parts.sort(() => random.below(3) - 1);
    if (random.below(20) === 0) parts.splice(random.below(parts.length), 1);
    const body = Buffer.from(`${space()}{${parts.map((part) => space() + part).join(',')}${space()}}${space()}`);
    if (random.below(4) === 0) {
      const at = random.below(body.length);
      if (random.below(2) === 0) body[at] = random.pick([0x20, 0x22, 0x7b, 0x7d, 0x2c, 0x3a, 0x30, 0x5c, 0x0b]);
      else body.copyWithin(at, Math.min(at + 1, body.length - 1));
    }
    const fast = scanned(body);
    if (fast === 'declined') continue;
    taken += 1;
    const slow = general(body);
    // Keeping a document that the form would give back costs room, not truth.
    if (fast.isKept && slow) slow.isKept = true;
    if (fast.document !== joinMembers(parseMembers(body.toString()))) {
      t.fail(`${JSON.stringify(body.toString())} comes back as ${fast.document}, seed ${random.seed}`);
      break;
    }
    if (JSON.stringify(fast) !== JSON.stringify(slow)) {
      t.fail(
        `${JSON.stringify(body.toString())}: ${JSON.stringify(fast)}, general path ${JSON.stringify(slow)}, seed ${random.seed}`,
      );
      break;
    }
  }
  t.ok(taken > 100, `${taken} taken, seed ${random.seed}`);
  t.end();
});

t.test('the ordinary forms are scanned', (t) => {
  const check = (body: string, takes: boolean): void => {
    t.equal(scanned(Buffer.from(body)) !== 'declined', takes, body.replace(/[^ -~]/g, '?'));
  };
  check(one(), true);
  check(one('-7'), true);
  check(one('1.0'), true);
  check(
    '{"type":"T","time":"2024-05-02","source":{"id":"251"},"f":{"s":{"value":1}},"g":{"s":{"value":2},"t":{"value":3}}}',
    true,
  );
  check(one().replace('"unit"', '"einheit"'), false);
  check(one().replace('"f"', '"\\u0066"'), false);
  check(`{"source":{"id":"251"},"time":"${TIME}","type":"T"}`, false);
  t.end();
});

t.test('measurements of very many months that are far from now', async (t) => {
  const { post, stored, refused } = newIntake();
  const from = (month: number, count: number, source = '251'): string =>
    `{"measurements":[${Array.from({ length: count }, (_, index) =>
      one('1', source).replace(TIME, new Date(Date.UTC(1_970, month + index, 5)).toISOString()),
    ).join()}]}`;
  await post(from(0, 24));
  await t.rejects(post(from(24, 3)), {
    code: 'measurement/months',
    status: 429,
    message: /More than 2 months a second of one user, .* more than 62 days away from now; try again after 2 s/,
  });
  await t.rejects(post(from(24, 25)), {
    code: 'measurement/too-many-months',
    status: 422,
    message: /than 24 different/,
  });
  t.same(refused, ['measurement/months', 'measurement/months']);
  await post(from(0, 24));
  t.equal(stored().length, 48, 'what was refused changes nothing, and months that were just there cost nothing');
  await post(one().replace(TIME, new Date(NOW - 86_400_000).toISOString()));
  await post(from(24, 24), { user: 'bob' });
  await t.rejects(post(from(48, 24), { user: 'eve' }), { code: 'measurement/months' }, 'together the tenant has 60');
  await post(from(48, 24, '300'), { tenant: 2 });
  t.equal(stored().length, 49, 'measurements of now, other users and other tenants go on');
});
