/**
 * Results of the query language on ClickHouse against a plain evaluation in JavaScript, over tables of cases and over
 * random documents.
 */
import t from 'tap';
import { managedObjectRow } from '../../../src/actors/runtime/rows.ts';
import type { JournalCommand } from '../../../src/ingest/journal/command-record.ts';
import { parseTime } from '../../../src/model/documents/iso-time.ts';
import { parseMembers } from '../../../src/model/documents/json-document.ts';
import { parseInventoryQuery } from '../../../src/history/inventory-query/parser.ts';
import type { Expression, Literal, Operator, OrderBy, Path } from '../../../src/history/inventory-query/parser.ts';
import { QueryCompiler } from '../../../src/history/inventory-query/sql.ts';
import { conditionOfAccess } from '../../../src/history/access.ts';
import type { HistoryStatement } from '../../../src/ports/history-reader.ts';
import { HistoryFilter } from '../../../src/history/filter.ts';
import { childrenCondition, lookUpHierarchy } from '../../../src/history/inventory-query/hierarchy.ts';
import { openClickHouse } from '../../helpers/stores/clickhouse.ts';
import { FakePlatform } from '../../api/helpers/fake-platform.ts';
import { Random } from '../../smartrest/random.ts';
import { rounds } from '../../helpers/rounds.ts';

const { client, writer } = await openClickHouse(t);
let tenant = 0;
let version = 0;

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Doc = { [name: string]: Json };

/** Stores documents for a tenant of its own. @returns ids that fulfil a query, in its order. */
async function inventory(documents: readonly Doc[], parents: Record<string, string[]> = {}) {
  tenant += 1;
  const own = tenant;
  const rows = documents.map((doc) => {
    version += 1;
    const command = {
      tenant: own,
      seq: version,
      shard: 0,
      receivedAt: Date.UTC(2024, 0, 1),
    } as unknown as JournalCommand;
    return managedObjectRow(command, String(doc.id), parseMembers(JSON.stringify(doc)), parents[String(doc.id)] ?? [])
      .text;
  });
  await writer.insertRows('managed_objects', rows);
  const fake = new FakePlatform();
  return {
    fake,
    tenant: own,
    async ask(query: string): Promise<string[]> {
      const params: Record<string, unknown> = { tenant: own };
      const binder = {
        bind: (type: string, value: unknown) => {
          const name = `p${Object.keys(params).length}`;
          params[name] = value;
          return `{${name}:${type}}`;
        },
      };
      const { filter, order } = parseInventoryQuery(query);
      const history = {
        query: <Row>({ sql, params: more, tenant }: HistoryStatement) => client.query<Row>(sql, { ...more, tenant }),
      };
      const conditions = await lookUpHierarchy(
        filter,
        { tenant: own, documents: fake.platform().documents, history: history as never },
        binder,
      );
      const compiler = new QueryCompiler(binder, { conditions });
      const where = filter === undefined ? '1' : compiler.condition(filter);
      const found = await client.query<{ id: number }>(
        `SELECT id FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND ${where} ORDER BY ${compiler.order(order)}`,
        params,
      );
      return found.map(({ id }) => String(id));
    },
  };
}

// --- a plain evaluation ---

function found(value: Json | undefined, path: Path): Json[] {
  if (value === undefined) return [];
  if (path.length === 0) return [value];
  const inside = Array.isArray(value) ? value : [value];
  return inside.flatMap((item) =>
    typeof item === 'object' && item !== null && !Array.isArray(item) && Object.hasOwn(item, path[0])
      ? found(item[path[0]], path.slice(1))
      : [],
  );
}
const valuesAt = (doc: Doc, path: Path): Json[] =>
  found(doc, path).flatMap((value) => (Array.isArray(value) ? value : [value]));
const storedTime = (value: string): number | undefined =>
  /^(19|2[012])/.test(value) && !value.includes(',') ? parseTime(value) : undefined;
/** `….date` is also a stored time itself. */
const values = (doc: Doc, path: Path): Json[] =>
  path.length === 1 || path.at(-1) !== 'date'
    ? valuesAt(doc, path)
    : [
        ...valuesAt(doc, path),
        ...valuesAt(doc, path.slice(0, -1)).filter(
          (value) => typeof value === 'string' && storedTime(value) !== undefined,
        ),
      ];
const undated = (path: Path): Path =>
  path.length === 2 && path[1] === 'date' && ['creationTime', 'lastUpdated'].includes(path[0]) ? [path[0]] : path;
const bytes = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right));

function compared(order: number, operator: Operator): boolean {
  switch (operator) {
    case 'eq':
    case 'ne':
      return order === 0;
    case 'gt':
      return order > 0;
    case 'ge':
      return order >= 0;
    case 'lt':
      return order < 0;
    default:
      return order <= 0;
  }
}

function matches(value: Json, operator: Operator, literal: Literal): boolean {
  if (literal.kind === 'number') return typeof value === 'number' && compared(value - literal.value, operator);
  if (literal.kind === 'boolean') return value === literal.value;
  if (literal.kind === 'null') return value === null;
  if (typeof value !== 'string') return false;
  const wanted = literal.pieces.length === 1 ? parseTime(literal.pieces[0], { spaceIsPlus: true }) : undefined;
  const time = storedTime(value);
  if (wanted !== undefined && time !== undefined) return compared(time - wanted, operator);
  if (literal.pieces.length === 1 || (operator !== 'eq' && operator !== 'ne'))
    return compared(bytes(value, literal.pieces.join('*')), operator);
  const pattern = literal.pieces.map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^]*');
  return new RegExp(`^${pattern}$`, 'u').test(value);
}

function fulfils(doc: Doc, expression: Expression): boolean {
  switch (expression.kind) {
    case 'and':
      return expression.operands.every((operand) => fulfils(doc, operand));
    case 'or':
      return expression.operands.some((operand) => fulfils(doc, operand));
    case 'not':
      return !fulfils(doc, expression.operand);
    case 'has':
      return expression.paths.some((path) => found(doc, path).length > 0);
    case 'comparison': {
      const { operator, literal } = expression;
      const inside = values(doc, undated(expression.path));
      const isMatch =
        inside.some((value) => matches(value, operator, literal)) || (literal.kind === 'null' && inside.length === 0);
      return operator === 'ne' ? !isMatch : isMatch;
    }
    default:
      throw new Error(`${expression.kind} is no matter of one document`);
  }
}

function inOrder(documents: readonly Doc[], order: readonly OrderBy[]): string[] {
  const rank = (value: Json | undefined): number =>
    value === undefined || value === null ? 0 : typeof value === 'number' ? 1 : typeof value === 'string' ? 2 : 3;
  return [...documents]
    .sort((left, right) => {
      for (const { path, isDescending } of order) {
        // An empty name, type or owner comes with those that are missing.
        const isColumn = ['name', 'type', 'owner'].includes(path.join('.'));
        const [a, b] = [left, right]
          .map((doc) => values(doc, undated(path))[0])
          .map((value) => (isColumn && value === '' ? undefined : value));
        const difference =
          rank(a) - rank(b) ||
          (typeof a === 'number' && typeof b === 'number'
            ? a - b
            : typeof a === 'string' && typeof b === 'string'
              ? bytes(a, b)
              : 0);
        if (difference !== 0) return isDescending ? -difference : difference;
      }
      return Number(left.id) - Number(right.id);
    })
    .map(({ id }) => String(id));
}

// --- cases ---

t.test('the table of docs/spec/queries.md#form', async (t) => {
  const time = (minute: number): string => `2024-05-02T10:0${minute}:00.000Z`;
  const { ask } = await inventory([
    {
      id: '1',
      name: 'gateway 1',
      type: 'acme',
      owner: 'device_abc',
      c8y_IsDevice: {},
      creationTime: time(1),
      lastUpdated: time(5),
      c8y_Hardware: { model: 'M%_1', revision: 2.5 },
      c8y_SupportedOperations: ['c8y_Restart', 'c8y_Command'],
      c8y_Availability: { status: 'UNAVAILABLE', lastMessage: '2024-01-01T02:00:00.000+02:00' },
      flag: true,
    },
    {
      id: '2',
      name: "it's",
      type: 'c8y_DeviceGroup',
      owner: 'admin',
      c8y_IsDeviceGroup: {},
      creationTime: time(2),
      lastUpdated: time(4),
      customers: [
        { id: '1', size: 3 },
        { id: '2', size: 30 },
      ],
    },
    {
      id: '30',
      name: 'Gateway\\2\n*',
      type: 'acme',
      owner: 'admin',
      c8y_IsDevice: {},
      creationTime: time(3),
      lastUpdated: time(3),
      c8y_ActiveAlarmsStatus: { critical: 2 },
      flag: false,
      status: 'up',
      nested: { deep: { deeper: null } },
      count: 7,
    },
    { id: '4', creationTime: time(4), lastUpdated: time(1), owner: 'admin' },
  ]);
  const check = async (query: string, want: string): Promise<void> => {
    t.equal((await ask(query)).join(' '), want, query);
  };
  await check("type eq 'acme'", '1 30');
  await check("type eq ''", '');
  await check('type eq null', '4');
  await check("type ne 'acme'", '2 4');
  await check("name eq 'gateway*'", '1');
  await check("name eq '*ateway*'", '1 30');
  await check("name eq '*'", '1 2 30');
  await check("name eq 'it''s' or name eq 'it\\'s'", '2');
  await check("name eq 'Gateway\\\\2*\\*'", '30');
  await check("name gt 'h'", '2');
  await check("name lt 'h'", '1 30');
  await check("owner eq 'device_abc'", '1');
  await check("id eq '5'", '');
  await check("id eq '30' or id eq 4", '4 30');
  await check('id gt 3', '4 30');
  await check("$filter=(_id gt '2' and (has(c8y_IsDevice))) $orderby=_id asc", '30');
  await check("$filter=(_id gt '0') $orderby=_id desc", '30 4 2 1');
  await check('id gt 0', '1 2 4 30');
  await check("id le '0'", '');
  await check("id eq '3*'", '30');
  await check("id eq 'abc'", '');
  await check("c8y_Hardware.model eq 'M%_1'", '1');
  await check("c8y_Hardware.model eq 'M*1'", '1');
  await check("c8y_Hardware.model eq 'M_%1'", '');
  await check("c8y_Hardware.model eq '%*'", '');
  await check('c8y_Hardware.revision ge 2.5d', '1');
  await check('c8y_Hardware.revision gt 2.5', '');
  await check("c8y_Hardware.revision eq '2.5'", '');
  await check('c8y_ActiveAlarmsStatus.critical gt 0', '30');
  await check("customers.id eq '2'", '2');
  await check('customers.size gt 20', '2');
  await check('customers.size lt 2', '');
  await check("c8y_SupportedOperations eq 'c8y_Restart'", '1');
  await check('flag eq true', '1');
  await check('flag eq false', '30');
  await check('flag ne true', '2 4 30');
  await check("(c8y_Availability.lastMessage le '2024-01-01T00:00:00Z')", '1');
  await check("c8y_Availability.lastMessage eq '2024-01-01'", '1');
  await check("c8y_Availability.lastMessage lt '2024-01-01'", '');
  await check("c8y_Availability.lastMessage.date le '2024-01-01T00:00:00Z'", '1');
  await check("c8y_Availability.lastMessage.date lt '2024-01-01'", '');
  await check('c8y_Availability.lastMessage.date eq null', '2 4 30');
  await check("status.date eq 'up' or name.date eq 'gateway*'", '');
  await check('$filter=has(c8y_IsDevice) $orderby=c8y_Availability.lastMessage.date desc', '1 30');
  await check(`creationTime.date gt '${time(2)}'`, '4 30');
  await check("creationTime gt '2024-05-02T12:02:00.000+02:00'", '4 30');
  await check("creationTime gt '2024-05-02T12:02:00.000 02:00'", '4 30');
  await check(`lastUpdated.date eq '${time(4)}'`, '2');
  await check('has(c8y_IsDevice)', '1 30');
  await check('has(c8y_Hardware.model)', '1');
  await check('has(customers.id)', '2');
  await check('has(status)', '30');
  await check('has(name)', '1 2 30');
  await check('has(nested.deep.deeper)', '30');
  await check('nested.deep.deeper eq null and has(nested)', '30');
  await check('hasany(c8y_IsDeviceGroup,status)', '2 30');
  await check('not(has(c8y_IsDevice)) and not has(c8y_IsDeviceGroup)', '4');
  await check('count eq 7', '30');
  await check('$orderby=name', '4 30 1 2');
  await check('$orderby=name desc', '2 1 30 4');
  await check('$orderby=creationTime.date desc', '4 30 2 1');
  await check('$orderby=type,name desc', '4 1 30 2');
  await check('$orderby=c8y_Hardware.revision desc, id', '1 2 4 30');
  await check('$filter=has(c8y_IsDevice) $orderby=name', '30 1');
});

t.test('the longest orders', async (t) => {
  const nested = (value: Json): Json => Array.from({ length: 18 }).reduce<Json>((inner) => ({ a: inner }), value);
  const { ask } = await inventory([
    { id: 1, b: nested('2024-01-02T00:00:00Z') },
    { id: 2, b: nested({ date: '2024-01-01T00:00:00Z' }) },
    { id: 3 },
  ]);
  const path = `b.${Array.from({ length: 18 }, () => 'a').join('.')}.date`;
  t.same(await ask(`$orderby=${Array.from({ length: 10 }, () => path).join(',')}`), ['3', '2', '1']);
});

t.test('functions of the hierarchy', async (t) => {
  const ids = ['1', '2', '3', '4', '5', '6', '7'];
  // 1 group: 2 subgroup (asset), 3 device (device), 4 addition; 2: 5 device (asset); 5: 6 child device; 7 on its own; 3
  // is an addition of 1 as well.
  const {
    ask,
    fake,
    tenant: own,
  } = await inventory(
    ids.map((id) => ({ id, name: `o${id}` })),
    { 2: ['1'], 3: ['1'], 4: ['1'], 5: ['2'], 6: ['5'] },
  );
  for (const link of [
    '1\nchildAssets\n2',
    '1\nchildDevices\n3',
    '1\nchildAdditions\n3',
    '1\nchildAdditions\n4',
    '2\nchildAssets\n5',
    '5\nchildDevices\n6',
  ]) {
    fake.put('children', link, '1', own);
    fake.put('parents', link.split('\n').reverse().join('\n'), '1', own);
  }
  const check = async (query: string, want: string): Promise<void> => {
    t.equal((await ask(query)).join(' '), want, query);
  };
  await check('bygroupid(1)', '2 3 4');
  await check('bygroupid(1,2)', '2 3 4 5');
  await check('bygroupid(7)', '');
  await check('bygroupid(x)', '');
  await check("bygroupid('1') and name eq 'o2'", '2');
  await check('not bygroupid(1)', '1 5 6 7');
  await check('isinhierarchyof(1)', '1 2 3 4 5 6');
  await check('isinhierarchyof(2)', '2 5 6');
  await check('isinhierarchyof(6)', '6');
  await check('isinhierarchyof(x)', '');
  await check('isinhierarchyof(5) or isinhierarchyof(7)', '5 6 7');
});

t.test('members that are named like what every object of JavaScript has', async (t) => {
  const names = ['constructor', 'toString', '__proto__', 'valueOf'];
  const { ask } = await inventory([
    { id: '1' },
    JSON.parse(`{"id":"2","constructor":"a","toString":"a","valueOf":"a"}`),
  ]);
  for (const name of names) {
    t.same(await ask(`$filter=(${name} eq 'b')`), [], name);
    t.same((await ask(`$orderby=${name}`)).sort(), ['1', '2'], name);
    t.same(await ask(`$filter=(${name}.date gt '2024-01-01T00:00:00Z')`), [], name);
  }
  t.same(await ask("$filter=(constructor eq 'a')"), ['2']);
});

t.test('times in what has a column of its own are compared as times', async (t) => {
  const { ask } = await inventory([
    { id: '1', type: '2024-01-01T01:00:00.000+01:00' },
    { id: '2', type: '2024-01-01' },
    { id: '3', type: '2024-01-02' },
  ]);
  for (const [query, want] of [
    ["type eq '2024-01-01'", '1 2'],
    ["type ne '2024-01-01'", '3'],
    ["type gt '2024-01-01'", '3'],
  ]) {
    t.equal((await ask(query)).join(' '), want, query);
  }
});

t.test('random documents and queries', async (t) => {
  const random = new Random();
  const { seed } = random;
  const names = ['a', 'b', 'c8y_X', 'date', 'type', 'name', 'status', 'ä"\\'];
  const texts = [
    '',
    'x',
    'xy',
    'X%',
    '_',
    '\\',
    "'",
    'ä😀',
    'a\nb',
    'x*y',
    '5',
    'true',
    'null',
    '2024-01-01',
    '2024-01-01T01:00:00.000+01:00',
    '2024-01-01T00:00:00Z',
    '2024-13-01',
    '{"a":1}',
    '["x"]',
  ];
  const scalar = (): Json =>
    random.pick<() => Json>([
      () => null,
      () => random.below(2) === 0,
      () => random.pick([0, -1, 5, 2.5, -0.25, 1e10, 3]),
      () => random.pick(texts),
      () => random.pick(texts),
    ])();
  const value = (depth: number): Json => {
    const kind = random.below(depth === 0 ? 1 : 4);
    if (kind < 2) return scalar();
    if (kind === 2)
      return Object.fromEntries(Array.from({ length: random.below(3) }, () => [random.pick(names), value(depth - 1)]));
    return Array.from({ length: random.below(3) }, () => {
      const item = value(depth - 1);
      return Array.isArray(item) ? 1 : item;
    });
  };
  const documents: Doc[] = Array.from({ length: 120 }, (_, index) => {
    const doc: Doc = { id: String(index + 1) };
    for (const name of names) {
      if (random.below(2) === 0) continue;
      // Typed members are texts; null removes a member of the top.
      const inside = name === 'type' || name === 'name' ? random.pick(texts) : value(3);
      if (inside !== null) doc[name] = inside;
    }
    return doc;
  });
  const { ask } = await inventory(documents);
  const quoted = (text: string): string =>
    `'${text
      .replaceAll('\\', '\\\\')
      .replaceAll("'", random.below(2) === 0 ? "''" : "\\'")
      .replaceAll('*', () => (random.below(2) === 0 ? '*' : '\\*'))}'`;
  const path = (): string =>
    `'${Array.from({ length: 1 + random.below(3) }, () => random.pick(names))
      .join('.')
      .replaceAll('\\', '\\\\')}'`;
  const literal = (): string =>
    random.pick([
      () => quoted(random.pick(texts)),
      () => quoted(`${random.pick(texts)}*`),
      () => random.pick(['0', '5', '2.5d', '-1', '3f']),
    ])();
  const condition = (depth: number): string =>
    random.pick([
      () => `${path()} ${random.pick(['eq', 'ne', 'gt', 'ge', 'lt', 'le'])} ${literal()}`,
      () => `${path()} ${random.pick(['eq', 'ne'])} ${random.pick(['true', 'false', 'null'])}`,
      () => `has(${path()})`,
      () => `hasany(${path()},${path()})`,
      () => (depth === 0 ? `has(${path()})` : `not(${condition(depth - 1)})`),
      () => (depth === 0 ? `${path()} eq null` : `(${condition(depth - 1)} and ${condition(depth - 1)})`),
      () => (depth === 0 ? `${path()} gt 1` : `${condition(depth - 1)} or ${condition(depth - 1)}`),
    ])();
  let mixed = 0;
  const turns = rounds(100, 400);
  for (let turn = 0; turn < turns; turn += 1) {
    const query =
      random.below(4) === 0
        ? `$filter=${condition(2)} $orderby=${path()} ${random.pick(['asc', 'desc', ''])},name`
        : condition(2);
    const { filter, order } = parseInventoryQuery(query);
    const want = inOrder(
      documents.filter((doc) => filter === undefined || fulfils(doc, filter)),
      order,
    );
    const got = await ask(query);
    if (want.length > 0 && want.length < documents.length) mixed += 1;
    if (want.join() === got.join()) continue;
    const wrong = documents.filter(({ id }) => want.includes(String(id)) !== got.includes(String(id)));
    t.same(got, want, `seed ${seed}: ${query} ${JSON.stringify(wrong.slice(0, 3))}`);
    if (wrong.length > 0) break;
  }
  t.ok(mixed > turns / 10, `${mixed} queries took some documents and left others`);
});

t.test('what is below a permission, also where links make a cycle', async (t) => {
  // 1 ─ 2 ─ 3 ─ 1, 2 ─ 4, 3 ─ 4 ─ 5, 6 ─ 6; 7 is elsewhere.
  const parents = { 1: ['3'], 2: ['1'], 3: ['2'], 4: ['2', '3'], 5: ['4'], 6: ['6'] };
  const { tenant: own } = await inventory(
    Array.from({ length: 7 }, (_, index) => ({ id: index + 1 })),
    parents,
  );
  const below = async (...roots: number[]): Promise<number[]> => {
    const filter = new HistoryFilter(own);
    const grants = roots.map((root) => ({ type: '*', root }));
    const condition = conditionOfAccess({ owner: 'nobody', scope: 'MANAGED_OBJECT', grants }, filter, 'id', true);
    const sql = `SELECT id FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND ${condition} ORDER BY id`;
    return (await client.query<{ id: number }>(sql, filter.params)).map(({ id }) => Number(id));
  };
  t.same(await below(1), [1, 2, 3, 4, 5]);
  t.same(await below(3), [1, 2, 3, 4, 5]);
  t.same(await below(4), [4, 5]);
  t.same(await below(6, 5), [5, 6]);
  t.same(await below(7), [7]);
});

t.test('many parents and many children of another kind: few reads, and others have their turn', async (t) => {
  const fake = new FakePlatform();
  for (let child = 1; child <= 400; child += 1) {
    fake.put('children', `9999\nchildAdditions\n${child}`, '1', 1);
    fake.put('parents', `${child}\nchildAdditions\n9999`, '1', 1);
  }
  fake.put('parents', '7\nchildAssets\n900001', '1', 1);
  const { documents } = fake.platform();
  let reads = 0;
  const counting = {
    get: documents.get,
    getMany: (...of: Parameters<typeof documents.getMany>) => {
      reads += of[2].length;
      return documents.getMany(...of);
    },
    list: (...of: Parameters<typeof documents.list>) => {
      reads += 1;
      return documents.list(...of);
    },
  };
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 0);
  const bound: unknown[] = [];
  const binder = {
    bind: (_type: string, value: unknown) => {
      bound.push(value);
      return '?';
    },
  };
  const parents = [9999, ...Array.from({ length: 999 }, (_, index) => 900_000 + index)];
  await childrenCondition(
    parents,
    ['childAssets', 'childDevices'],
    { tenant: 1, documents: counting, history: undefined as never },
    binder,
  );
  clearInterval(ticking);
  t.ok(reads <= 2_000, `${reads} reads`);
  t.ok(turns > 0, 'a timer came in between');
  t.equal((bound[1] as number[]).length, 399, 'all but the one that is an asset of one of them');
});
