/**
 * Turns: tenants and users of a tenant do not hold up each other, running work is bounded by tenant and user, waits
 * end.
 */
import t from 'tap';
import { PlatformError } from '../../src/model/errors.ts';
import { Turns } from '../../src/pacing/turns.ts';
import type { TurnsOptions } from '../../src/pacing/turns.ts';

const settled = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** Work by name `<tenant>/<user>/<anything>`, begun in the order of `begun`. */
function world(options: Partial<TurnsOptions> = {}) {
  const counted: string[] = [];
  const turns = new Turns({
    refusals: { count: (limit) => void counted.push(limit) },
    running: { all: 3, ofTenant: 2, ofUser: 1 },
    waiting: { all: 10, ofUser: 5 },
    limits: { all: 'x/waiting', ofUser: 'x/of-user', wait: 'x/wait' },
    ...options,
  });
  const begun: string[] = [];
  const refused: string[] = [];
  const partsOf = (name: string): [number, string] => [Number(name.split('/')[0]), name.split('/')[1]];
  const begin = (name: string, signal?: AbortSignal): void => {
    const refuse = (error: Error): void =>
      void refused.push(`${name} ${error instanceof PlatformError ? String(error.details.limit) : error.message}`);
    try {
      const turn = turns.begin(...partsOf(name), signal);
      if (turn === undefined) begun.push(name);
      else turn.then(() => begun.push(name), refuse);
    } catch (error) {
      refuse(error as Error);
    }
  };
  const end = async (name: string): Promise<void> => {
    turns.end(...partsOf(name));
    await settled();
  };
  return { turns, begin, end, begun, refused, counted };
}

t.test('no user and no tenant runs everything at once', async (t) => {
  const { begin, end, begun, turns } = world();
  for (const name of ['1/a/1', '1/a/2', '1/b/1', '1/c/1', '2/z/1', '3/y/1']) begin(name);
  t.same(begun, ['1/a/1', '1/b/1', '2/z/1'], 'a second of the user a waits, and a third of tenant 1');
  await end('1/b/1');
  t.same(begun.slice(3), ['1/c/1'], 'the user a is at its bound, so the next user of its tenant runs');
  await end('1/a/1');
  t.same(begun.slice(4), ['3/y/1'], 'then the tenant that has waited');
  await end('1/c/1');
  t.same(begun.slice(5), ['1/a/2']);
  for (const name of ['1/a/2', '2/z/1', '3/y/1']) await end(name);
  t.same([turns.runningCount, turns.waitingCount], [0, 0]);
});

t.test('who is alone has its whole share again after each end', async (t) => {
  const { begin, end, begun } = world({ running: { all: 4, ofTenant: 3, ofUser: 2 } });
  for (let index = 0; index < 5; index += 1) begin(`1/a/${index}`);
  for (let index = 0; index < 5; index += 1) {
    t.equal(begun.length, Math.min(5, index + 2));
    await end(`1/a/${index}`);
  }
});

t.test('one tenant with much work delays another by one turn', async (t) => {
  const { begin, end, begun } = world({ running: { all: 1 }, waiting: { all: 100, ofUser: 50 } });
  for (let index = 0; index < 20; index += 1) begin(`1/a/${index}`);
  begin('2/z/1');
  begin('1/b/1');
  await end('1/a/0');
  await end('1/a/1');
  await end('2/z/1');
  t.same(begun.slice(1), ['1/a/1', '2/z/1', '1/b/1']);
});

t.test('a client that leaves does not wait', async (t) => {
  const { begin, end, begun, refused, counted, turns } = world();
  const left = new AbortController();
  begin('1/a/1');
  begin('1/a/2', left.signal);
  begin('1/a/3');
  left.abort(new Error('left'));
  await settled();
  t.same(refused, ['1/a/2 left']);
  await end('1/a/1');
  t.same(begun, ['1/a/1', '1/a/3']);
  t.throws(() => turns.begin(1, 'b', left.signal), /left/);
  t.same(counted, [], 'it hit no limit');
});

t.test('bounds of what waits', async (t) => {
  const { begin, refused, counted } = world({ running: { all: 1 }, waiting: { all: 4, ofUser: 3 } });
  begin('1/a/0');
  for (let index = 1; index <= 4; index += 1) begin(`1/a/${index}`);
  t.same(refused, ['1/a/4 x/of-user']);
  begin('2/z/1');
  begin('3/y/1');
  await settled();
  t.same(refused.slice(1), ['1/a/3 x/waiting'], 'the newest of the user with most');
  t.same(counted, ['x/of-user', 'x/waiting']);
});

t.test('a wait ends', async (t) => {
  const { begin, refused, counted, turns } = world({ waitMsMax: 5 });
  begin('1/a/0');
  const turn = turns.begin(1, 'a');
  await t.rejects(turn as Promise<void>, { code: 'general/busy', details: { limit: 'x/wait' } });
  t.same([refused, counted, turns.waitingCount], [[], ['x/wait'], 0]);
});
