/** Bodies of SmartREST 1.0 and their answers (docs/spec/smartrest-one.md). */
import t from 'tap';
import { PlatformError } from '../../../src/model/errors.ts';
import { answerBody, type RequestAnswer, type RowPort } from '../../../src/smartrest/one/answer.ts';
import { COLLECTION_BYTES_MAX, TEMPLATES_MAX } from '../../../src/smartrest/one/collection.ts';
import { Collections } from '../../../src/smartrest/one/collections.ts';
import type { FilledRequest } from '../../../src/smartrest/one/request-template.ts';
import type { Command } from '../../../src/model/commands/command.ts';
import type { Principal } from '../../../src/model/access/principal.ts';
import { rounds } from '../../helpers/rounds.ts';
import { Random } from '../random.ts';

const NO_TEMPLATE = '"No template for this X-ID."';
const ADA: Principal = { tenant: 't1', tenantNumber: 2, userName: 'ada', roles: new Set() };
const NOW = 0;

/** Documents of two tenants, and requests that a test answers. */
class Place implements RowPort {
  readonly documents = new Map<string, string>();
  readonly requests: FilledRequest[] = [];
  readonly counted: string[] = [];
  readonly reads: string[] = [];
  answers: (RequestAnswer | PlatformError)[] = [];
  isOver = false;
  nextId = 100;
  readonly collections = new Collections({
    documents: {
      get: (collection, tenant, id) => {
        this.reads.push(collection);
        return this.documents.get(`${tenant} ${collection} ${id}`);
      },
      getMany: () => [],
      list: (collection, tenant, prefix, { limit }) =>
        [...this.documents]
          .filter(([key]) => key.startsWith(`${tenant} ${collection} ${prefix}`))
          .slice(0, limit)
          .map(([id, value]) => ({ id, value })),
    },
    commands: {
      request: async <Answer>({ tenant, body }: Command): Promise<Answer> => {
        const { type, externalId, id, doc, by } = body as Record<string, string>;
        this.documents.set(`${tenant} managedObject ${id}`, doc);
        this.documents.set(`${tenant} externalId ${type}\n${externalId}`, JSON.stringify({ managedObject: id, by }));
        return { id, created: true } as Answer;
      },
    },
    ids: {
      next: () => (this.nextId += 1),
      peek: () => 0,
      nextBeside: () => 0,
      nextInOrder: async () => 0,
      nextBesideInOrder: async () => [],
    },
    refusals: { count: (limit) => void this.counted.push(limit) },
    now: () => NOW,
  });

  find(xid: string) {
    return this.collections.find(2, xid);
  }

  create(xid: string, rows: string) {
    return this.collections.create(ADA, xid, rows);
  }

  async run(request: FilledRequest): Promise<RequestAnswer> {
    this.requests.push(request);
    const answer = this.answers.shift() ?? { status: 200, text: '' };
    if (answer instanceof PlatformError) throw answer;
    return answer;
  }

  builtIn({ line, fields }: { line: number; fields: readonly string[] }) {
    return fields[0] === '61' ? Promise.resolve(`70,${line}`) : undefined;
  }

  room = Infinity;
  hold(length: number): boolean {
    this.room -= length;
    return this.room >= 0;
  }

  refused(limit: string): void {
    this.counted.push(limit);
  }

  now(): number {
    return NOW;
  }

  answer(text: string, xid = ''): Promise<string> {
    return answerBody(Buffer.from(text), xid, this);
  }
}

const TEMPLATES = [
  '10,200,GET,/inventory/managedObjects/&&,,application/json,&&,UNSIGNED,',
  '10,201,DELETE,/inventory/managedObjects/&&,,,&&,UNSIGNED,',
  '10,202,GET,/inventory/managedObjects,,application/json,,,',
  '11,300,,$.c8y_IsDevice,$.id,$.name,$.c8y_Hardware.model',
  '11,301,$.managedObjects,$.c8y_IsDevice,$.id,$.name',
  '11,302,,,$.id',
].join('\n');
const ok = (value: unknown): RequestAnswer => ({ status: 200, text: JSON.stringify(value) });

t.test('registration, the question for a collection, and bodies with row 15', async (t) => {
  const place = new Place();
  t.equal(await place.answer('', 'x_1'), `40,${NO_TEMPLATE}`);
  t.equal(await place.answer(''), `40,${NO_TEMPLATE}`, 'without X-Id');
  t.equal(await place.answer(TEMPLATES, 'x_1'), '20,101');
  t.equal(await place.answer('', 'x_1'), '20,101');
  t.equal(await place.answer(TEMPLATES, 'x_1'), '41,1,Cannot create templates for already existing template object');
  const stored = JSON.parse(place.documents.get('2 managedObject 101') as string);
  t.same(stored, { name: 'x_1', type: 'c8y_SmartRestTemplate', c8y_SmartRestTemplate: { rows: TEMPLATES } });
  t.equal(
    await place.answer('15,x_1\n15,x_2\n\n15,x_1'),
    `20,1,101\n40,2,${NO_TEMPLATE}\n20,3,101`,
    'checks only; empty lines are no rows',
  );
  place.answers = [
    ok({ id: '7', c8y_IsDevice: {}, name: 'a,"b"' }),
    { status: 404, text: '' },
    { status: 204, text: '' },
  ];
  t.equal(
    await place.answer('15,x_1\n200,7\n200,8\n201,9\n15,x_2\n200,1\n61,a\n15,x_1\n1'),
    [
      '87,3,x_1',
      '300,2,7,"a,""b""",',
      '302,2,7',
      '50,3,404',
      '87,3,x_2',
      `40,5,${NO_TEMPLATE}`,
      `40,6,${NO_TEMPLATE}`,
      '70,7',
      '87,1,x_1',
      '43,9,Invalid message identifier',
    ].join('\n'),
  );
  t.same(
    place.requests.map(({ method, uri }) => `${method} ${uri}`),
    ['GET /inventory/managedObjects/7', 'GET /inventory/managedObjects/8', 'DELETE /inventory/managedObjects/9'],
  );
  t.equal(await place.answer('15,x_1', 'x_1'), '45,1,A body whose request has an X-Id takes no row 15');
  t.equal(
    await place.answer('15\n15,a,b\n200,1'),
    '45,1,Wrong number of arguments\n45,2,Wrong number of arguments\n43,3,Invalid message identifier',
  );
});

t.test('rows of a collection: faults stop no other', async (t) => {
  const place = new Place();
  await place.answer(TEMPLATES, 'x');
  place.answers = [
    ok({
      managedObjects: [
        { id: '1', c8y_IsDevice: {}, name: 'a' },
        { id: '2' },
        { id: '3', c8y_IsDevice: {}, name: 'b\nc' },
      ],
    }),
    ok({ id: '5' }),
    { status: 200, text: 'no JSON' },
    { status: 201, text: '' },
  ];
  t.equal(
    await place.answer('202\n200,x\n1,2\n"a\n200,5\n200,6\n200,7', 'x'),
    '301,1,1,a\n301,1,3,"b\nc"\n302,1,\n45,2,Value is not a UNSIGNED: x\n43,3,Invalid message identifier\n42,4,Malformed Request',
    'what is behind a quote that is never closed is not read',
  );
  t.equal(
    await place.answer('200,5\n200,6\n200,7', 'x'),
    '302,1,5',
    'nothing to tell of an empty answer, or of one that is no JSON',
  );
  t.equal(await place.answer('200,1\n61\n202', 'other'), `40,${NO_TEMPLATE}\n70,2`, 'told once');
  t.equal(await place.answer('200,1'), '43,1,Invalid message identifier', 'without any X-Id');
});

t.test('templates that are refused: each row says why, and nothing is stored', async (t) => {
  const place = new Place();
  const check = async (rows: string, answer: string): Promise<void> => {
    t.equal(await place.answer(rows, 'x'), answer, rows.slice(0, 100));
    t.equal(await place.answer('', 'x'), `40,${NO_TEMPLATE}`);
  };
  const ten = '10,200,GET,/inventory/managedObjects,,,,,';
  await check(
    `${ten}\n200\n15,y\n"`,
    [2, 3].map((line) => `41,${line},Not a valid message identifier for template creation`).join('\n') +
      '\n42,4,Malformed Request',
  );
  await check(`${ten}\n${ten}`, '41,2,Duplicate message identifiers are not allowed');
  await check(`11,300,,,$.a\n11,300,,,$.b`, '41,2,Duplicate message identifiers are not allowed');
  await check('10,61,GET,/a,,,,,', '41,1,Not a valid message identifier for template creation');
  await check('11,300', '41,1,Bad response template definition');
  await check('11,300,,', '41,1,Bad response template definition');
  await check('11,x,,,$.a', '41,1,Not a valid message identifier for template creation');
  await check('11,300,,,$.a[', '41,1,Invalid JsonPath');
  await check('11,300,,,$.a[*].b', '41,1,Using JsonPath to refer to a list of objects is not allowed for SmartRest');
  await check('11,300,,"$.a[?(@.b)]",$.b', '41,1,Using Filters (?) in JsonPath is not allowed for SmartRest');
  await check(
    Array.from({ length: TEMPLATES_MAX + 1 }, (_, index) => `11,${index + 300},,,$.a`).join('\n'),
    `41,${TEMPLATES_MAX + 1},A collection has at most ${TEMPLATES_MAX} templates\\, not ${TEMPLATES_MAX + 1}`
      .replace(/(A .*)/, '"$1"')
      .replace('\\,', ','),
  );
  const long = `10,1,POST,/a,text/plain,,,,"${'x'.repeat(COLLECTION_BYTES_MAX)}"`;
  await check(
    long,
    `41,1,"A collection has at most ${COLLECTION_BYTES_MAX} bytes, not ${long.length} (smartrest/collection-bytes)"`,
  );
  t.match(await place.answer(ten, 'a\u0001'), /^41,1,"An X-Id is a text/);
  t.equal(await place.answer(ten), '41,1,Templates need an X-Id');
  t.equal(
    await place.answer(`${ten}\n10,300,GET,/event/events,,,,,\n11,200,,,$.id,`, 'y'),
    '20,101',
    'one of each kind may have the same id',
  );
});

t.test('collections are compiled once, and again when their object changed', async (t) => {
  const place = new Place();
  await place.answer(TEMPLATES, 'x');
  const first = await place.find('x');
  place.reads.length = 0;
  t.equal((await place.find('x'))?.collection, first?.collection);
  t.same(place.reads, ['externalId']);
  t.equal(await place.collections.find(3, 'x'), undefined, 'of another tenant');
  const changed = JSON.stringify({ c8y_SmartRestTemplate: { rows: '11,300,,,$.id' } });
  place.documents.set('2 managedObject 101', changed);
  place.collections.objectChanged(101);
  t.equal((await place.find('x'))?.collection.requests.size, 0);
  for (const broken of ['{}', '{"c8y_SmartRestTemplate":{"rows":"nothing"}}', '{"c8y_SmartRestTemplate":7}']) {
    place.documents.set('2 managedObject 101', broken);
    place.collections.objectChanged(101);
    t.equal(await place.find('x'), undefined, broken);
  }
  place.documents.delete('2 externalId c8y_SmartRestDeviceIdentifier\nx');
  t.equal(await place.answer('', 'x'), `40,${NO_TEMPLATE}`);
});

t.test('bounds: collections of a tenant, answers, a client that has gone', async (t) => {
  const place = new Place();
  await place.answer(TEMPLATES, 'x');
  for (let index = 1; index < 1_000; index += 1)
    place.documents.set(`2 externalId c8y_SmartRestDeviceIdentifier\n${index}`, '{"managedObject":"1"}');
  t.equal(
    await place.answer(TEMPLATES, 'y'),
    '41,1,A tenant has at most 1000 template collections (smartrest/collections)',
  );
  for (const [key] of [...place.documents].slice(-300)) place.documents.delete(key);
  for (let index = 0; index < 500; index += 1)
    place.documents.set(`2 externalId c8y_SmartRestDeviceIdentifier\n${index}`, '{"managedObject":"1","by":"ada"}');
  t.equal(
    await place.answer(TEMPLATES, 'y'),
    '41,1,A user makes at most 500 template collections (smartrest/collections-of-user)',
  );
  place.answers = [ok({ managedObjects: Array.from({ length: 20_000 }, () => ({ c8y_IsDevice: {} })) })];
  t.equal(await place.answer('202', 'x'), '50,1,413', 'too many rows');
  const large = ok({ id: 'x'.repeat(900_000) });
  place.answers = Array.from({ length: 6 }, () => large);
  t.same((await place.answer('202\n202\n202\n202\n202\n202', 'x')).split('\n').slice(4), ['50,5,413', '50,6,413']);
  t.same(place.counted, [
    'smartrest/collections',
    'smartrest/collections-of-user',
    'smartrest/answer-bytes',
    'smartrest/answer-bytes',
    'smartrest/answer-bytes',
  ]);
  place.room = 1_000_000;
  place.answers = [large, large];
  t.equal((await place.answer('202\n202', 'x')).split('\n')[1], '50,2,503', 'no room among all answers');
  place.requests.length = 0;
  place.isOver = true;
  await place.answer('202\n202', 'x');
  t.equal(place.requests.length, 0);
});

t.test('what fails behind a row is its answer, a fault of the server is thrown', async (t) => {
  const place = new Place();
  await place.answer(TEMPLATES, 'x');
  place.answers = [new PlatformError('security/forbidden')];
  t.equal(await place.answer('202', 'x'), '50,1,403');
  place.run = async () => {
    throw new TypeError('a fault of the server');
  };
  await t.rejects(place.answer('202', 'x'), { message: 'a fault of the server' });
});

t.test('any bytes are answered by rows', async () => {
  const random = new Random();
  const pieces = [
    '10,',
    '11,',
    '15,',
    '200,',
    '61,',
    ',',
    '\n',
    '\r\n',
    '"',
    '""',
    '&&',
    '$.id',
    '$..',
    '[*]',
    '[?(',
    'GET',
    'POST',
    '/a',
    '/a?&&',
    'STRING',
    'NOW',
    'UNSIGNED',
    'application/json',
    '{"a":&&}',
    '{"a":"&&"}',
    'x',
    '7',
    '-1',
    '\u0000',
    '\\',
    '\\"',
    'ä',
    '__proto__',
    ' ',
  ];
  for (let round = 0; round < rounds(800, 3_000); round += 1) {
    const body = Array.from({ length: random.below(40) }, () => random.pick(pieces)).join('');
    const place = new Place();
    await place.answer(TEMPLATES, 'x');
    place.answers = [ok({ id: body, c8y_IsDevice: {} })];
    try {
      const answer = await place.answer(body, random.pick(['x', '', 'new']));
      if (!/^(?:\d+,.*|)$/s.test(answer)) throw new Error(answer);
      for (const { uri } of place.requests) if (/[\s"\\]/.test(uri)) throw new Error(`URI ${uri}`);
    } catch (error) {
      throw new Error(`seed ${random.seed}: ${JSON.stringify(body)}`, { cause: error });
    }
  }
});
