/**
 * Each field of document 1 (fields.ts): mandatory, optional or kept by the server, its JSON type, default, values,
 * limits and visibility.
 */
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import type { Test } from 'tap';
import type { Reply, Rest } from '../helpers/running/server.ts';
import { RESOURCES } from './fields.ts';
import { checkHeldBy } from './held-by.ts';
import type { FieldRow, FieldType, Resource } from './rows.ts';
import { checkVisibility } from './visibility.ts';
import { World } from './world.ts';

const world = await World.start(t);
/** What is of another JSON type, or no value of the type. */
const WRONG: Readonly<Record<FieldType, readonly unknown[]>> = {
  string: [7, true, {}, ['a']],
  boolean: ['yes', 'true', 1, {}],
  integer: ['many', '7', true, {}],
  number: ['many', true, {}],
  object: [7, 'x', true],
  array: [7, 'x', {}],
  timestamp: [7, true, {}, 'soon'],
};

function isOfType(value: unknown, type: FieldType): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isSafeInteger(value);
  if (type === 'timestamp')
    return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$/.test(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

/** What was sent is there, whatever is beside it: links are added to sources. */
const holds = (value: any, sent: any): boolean =>
  isDeepStrictEqual(value, sent) ||
  (typeof sent === 'object' &&
    sent !== null &&
    !Array.isArray(sent) &&
    typeof value === 'object' &&
    Object.keys(sent).every((name) => holds(value?.[name], sent[name])));

class Sender {
  readonly rest: Rest;
  readonly resource: Resource;

  constructor(resource: Resource) {
    this.resource = resource;
    this.rest = resource.by?.(world) ?? world.rest;
  }

  async post(change: object, without?: string): Promise<Reply> {
    const body: Record<string, unknown> = { ...(await this.resource.body(world)), ...change };
    if (without !== undefined) delete body[without];
    return this.rest.post(this.resource.path.replace('<device>', world.device), body);
  }

  /** A new one, as it is read. */
  async create(change: object = {}): Promise<any> {
    const reply = await this.post(change);
    if (reply.status !== (this.resource.status ?? 201))
      throw new Error(`${JSON.stringify(change).slice(0, 200)}: ${reply.status} ${reply.text}`);
    return this.read(reply.json);
  }

  read(entity: any): Promise<any> {
    return this.rest.read(this.resource.one(entity));
  }
  put(entity: any, change: object): Promise<Reply> {
    return this.rest.put(this.resource.one(entity), { ...this.resource.always, ...change });
  }
}

const isRefused = (t: Test, reply: Reply, what: string): void =>
  void t.ok(
    [400, 409, 422].includes(reply.status) && typeof reply.json.error === 'string',
    `${what}: ${reply.status} ${reply.text.slice(0, 200)}`,
  );

/** The value is as it should be, or has the form. */
function isInitially(t: Test, value: unknown, wanted: unknown, what: string): void {
  const isForm =
    wanted instanceof RegExp || (typeof wanted === 'object' && wanted !== null && Object.keys(wanted).length > 0);
  if (isForm) t.match(value, wanted as any, what);
  else t.strictSame(value, wanted, what);
}

async function checkPost(t: Test, sender: Sender, row: FieldRow, value: unknown): Promise<void> {
  const { field, post } = row;
  const withValue = (one: unknown): object => ({ ...row.along, [field]: one });
  if (post === 'mandatory') {
    const reply = await sender.post({}, field);
    t.equal(reply.status, 422, `without it: ${reply.text.slice(0, 200)}`);
    t.match(reply.json.message, field, 'the message names it');
    isRefused(t, await sender.post({ [field]: null }), 'null');
  }
  if (post === 'no') {
    const reply = await sender.post(withValue(value));
    if (reply.status >= 300) isRefused(t, reply, 'kept by the server');
    else t.notOk(holds((await sender.read(reply.json))[field], value), 'what a client says does not count');
    return;
  }
  const created = await sender.create(withValue(value));
  if (row.isWriteOnly === true) t.equal(created[field], undefined, 'is not shown');
  else t.ok(holds(created[field], value), `comes back: ${JSON.stringify(created[field])}`);
  if (row.isAny !== true)
    for (const wrong of WRONG[row.type])
      isRefused(t, await sender.post(withValue(wrong)), `of another type: ${JSON.stringify(wrong)}`);
  for (const wrong of row.refused ?? []) isRefused(t, await sender.post(withValue(wrong)), JSON.stringify(wrong));
  if (row.isUnique === true)
    t.match(
      await sender.post(withValue(value)),
      { status: 409, json: { error: /Duplicate$/, message: new RegExp(field) } },
      'a second time',
    );
  if (row.lengthMax === undefined) return;
  const { ofLength = (length: number) => 'a'.repeat(length), lengthMax } = row;
  const { length } = (await sender.create(withValue(ofLength(lengthMax))))[field] ?? { length: lengthMax };
  t.equal(length, lengthMax, 'as long as it may be');
  t.match(
    await sender.post(withValue(ofLength(lengthMax + 1))),
    { status: 422, json: { message: new RegExp(`${field}.*${lengthMax}`) } },
    'longer; the message names field and limit',
  );
}

async function checkPut(t: Test, sender: Sender, row: FieldRow, value: unknown): Promise<void> {
  const { field, put } = row;
  const before = await sender.create();
  const reply = await sender.put(before, { [field]: value });
  if (put === 'no') {
    if (reply.status >= 300) isRefused(t, reply, 'a PUT does not change it');
    t.strictSame((await sender.read(before))[field], before[field], 'it stays');
    if (row.putWith === undefined) return;
    t.equal((await sender.put(before, { ...row.putWith, [field]: value })).status, 200);
    t.ok(holds((await sender.read(before))[field], value), `set with ${JSON.stringify(row.putWith)}`);
    return;
  }
  t.equal(reply.status, 200, reply.text.slice(0, 200));
  const after = await sender.read({ ...before, ...(row.isWriteOnly === true ? {} : reply.json) });
  if (row.isWriteOnly !== true) t.ok(holds(after[field], value), `changed: ${JSON.stringify(after[field])}`);
  const moves = [field, ...(sender.resource.moves ?? [])];
  for (const name of Object.keys(before).filter((one) => !moves.includes(one)))
    t.strictSame(after[name], before[name], `${name} is as it was`);
  for (const wrong of row.isAny === true ? [] : WRONG[row.type])
    isRefused(t, await sender.put(after, { [field]: wrong }), `PUT, of another type: ${JSON.stringify(wrong)}`);
  for (const wrong of row.refused ?? [])
    isRefused(t, await sender.put(after, { [field]: wrong }), `PUT ${JSON.stringify(wrong)}`);
  t.strictSame((await sender.read(after))[field], after[field], 'what is refused changes nothing');
  if (row.isUnique === true)
    t.equal((await sender.put(await sender.create(), { [field]: value })).status, 409, 'PUT of what another has');
  if (row.lengthMax !== undefined) {
    const { ofLength = (length: number) => 'a'.repeat(length), lengthMax } = row;
    t.match(
      await sender.put(after, { [field]: ofLength(lengthMax + 1) }),
      { status: 422, json: { message: new RegExp(`${field}.*${lengthMax}`) } },
      'PUT, longer',
    );
    t.equal(
      (await sender.put(after, { [field]: `${ofLength(lengthMax - 1)}c` })).status,
      200,
      'PUT, as long as it may be',
    );
  }
  if (put !== 'mandatory') return;
  const without = await sender.rest.put(sender.resource.one(before), { other: 'x' });
  t.equal(without.status, 422, 'a PUT without it');
  t.match(without.json.message, field);
}

async function checkValues(t: Test, sender: Sender, row: FieldRow): Promise<void> {
  if (row.oneOf === undefined) return;
  for (const value of row.oneOf) {
    const found =
      row.post === 'no'
        ? (await sender.put(await sender.create(), { [row.field]: value })).json
        : await sender.create({ [row.field]: value });
    t.equal(found[row.field], value);
  }
  const wrong = { [row.field]: 'SOMETHING_ELSE' };
  isRefused(
    t,
    row.post === 'no' ? await sender.put(await sender.create(), wrong) : await sender.post(wrong),
    'none of the values',
  );
}

for (const resource of RESOURCES) {
  t.test(resource.heading, async (t) => {
    const sender = new Sender(resource);
    const fresh = await sender.create();
    for (const row of resource.rows) {
      await t.test(row.field, async (t) => {
        checkHeldBy(t, row.heldBy);
        const [one, other] = (typeof row.values === 'function' ? await row.values(world) : row.values) ?? [];
        const isShown =
          row.isWriteOnly !== true && row.isSometimes !== true && (row.post === 'no' || row.post === 'mandatory');
        if (isShown) t.ok(isOfType(fresh[row.field], row.type), `${row.type}: ${JSON.stringify(fresh[row.field])}`);
        if ('initially' in row)
          isInitially(t, fresh[row.field], row.initially, `at first: ${JSON.stringify(fresh[row.field])}`);
        if (resource.heading === 'Tenant') await checkVisibility(t, world, row);
        t.not(one, undefined, 'the row has values');
        await checkPost(t, sender, row, one);
        if (resource.hasPut !== false) await checkPut(t, sender, row, other);
        await checkValues(t, sender, row);
      });
    }
  });
}
