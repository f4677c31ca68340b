/** Jobs of tenants: whose turn it is, and what is left alone for how long, by a clock of the test's own. */
import t from 'tap';
import { TenantJobs } from '../../src/pacing/tenant-jobs.ts';
import type { JobPage } from '../../src/pacing/tenant-jobs.ts';

const PREFIX = 'job/';

/** Jobs by tenant, and what their pages do. */
class World {
  now = 1_000;
  readonly jobs = new Map<number, Map<string, () => JobPage | 'done'>>();
  readonly pages: string[] = [];
  readonly warnings: { job: string; failures: number; retryMs: number }[] = [];
  foreign = new Set<number>();
  listError: Error | undefined;
  readonly ended: { job: string; failures: number }[] = [];
  giveUp: (job: { readonly id: string }, failures: number) => boolean = () => false;
  readonly tenantJobs = new TenantJobs({
    prefix: PREFIX,
    name: 'a test',
    now: () => this.now,
    tenants: () => [...this.jobs.keys()],
    isMine: (tenant) => !this.foreign.has(tenant),
    documents: {
      list: async (
        _collection: string,
        tenant: number,
        _prefix: string,
        { after = '', limit }: { after?: string; limit: number },
      ) => {
        if (this.listError !== undefined) throw this.listError;
        return [...(this.jobs.get(tenant)?.keys() ?? [])]
          .filter((id) => id > after)
          .sort()
          .slice(0, limit)
          .map((id) => ({ id, value: '{}' }));
      },
    } as never,
    page: async (tenant, { id }) => {
      this.pages.push(`${tenant} ${id.slice(PREFIX.length)}`);
      const result = this.jobs.get(tenant)?.get(id)?.() ?? 'done';
      if (result !== 'done') return result;
      this.jobs.get(tenant)?.delete(id);
      return 'more';
    },
    giveUp: async (tenant, job, _error, failures) =>
      this.giveUp(job, failures) && this.jobs.get(tenant)?.delete(job.id) === true,
    log: {
      warn: (details: never) => void this.warnings.push(details),
      error: (details: never) => void this.ended.push(details),
      debug() {},
      info() {},
    } as never,
  });

  add(tenant: number, name: string, page: () => JobPage | 'done'): void {
    const jobs = this.jobs.get(tenant) ?? new Map<string, () => JobPage | 'done'>();
    this.jobs.set(tenant, jobs.set(PREFIX + name, page));
    this.tenantJobs.recordsChanged(tenant, [
      { collection: 'job', id: PREFIX + name, expected: undefined, value: '{}' },
    ]);
  }

  /** Steps until nothing is to be done at this time. */
  async work(): Promise<string[]> {
    for (let steps = 0; await this.tenantJobs.step(); steps += 1) if (steps > 1_000) throw new Error('it never rests');
    return this.pages.splice(0);
  }
}

const fail = (): never => {
  throw new Error('the store is away');
};

t.test('a page of each tenant in turn, the jobs of one after the other', async (t) => {
  const world = new World();
  let left = 3;
  world.add(1, 'a', () => {
    left -= 1;
    return left > 0 ? 'more' : 'done';
  });
  world.add(1, 'b', () => 'done');
  world.add(2, 'a', () => 'done');
  world.foreign.add(3);
  world.add(3, 'a', () => 'done');
  t.same(await world.work(), ['1 a', '2 a', '1 a', '1 a', '1 b']);
});

t.test(
  'what fails is tried again after a while that doubles up to five minutes; other jobs of its tenant go on',
  async (t) => {
    const world = new World();
    let isAway = true;
    world.add(1, 'a', () => (isAway ? fail() : 'done'));
    world.add(1, 'b', () => 'done');
    t.same(await world.work(), ['1 a', '1 b']);
    t.match(world.warnings, [{ job: 'job/a', failures: 1, retryMs: 1_000 }]);
    world.now += 999;
    t.same(await world.work(), []);
    world.now += 1;
    t.same(await world.work(), ['1 a']);
    world.now += 1_999;
    world.add(1, 'c', () => 'done');
    t.same(await world.work(), ['1 c'], 'a new one does not wait for it');
    for (let tries = 0; tries < 12; tries += 1) {
      world.now += world.warnings.at(-1)?.retryMs ?? 0;
      t.same(await world.work(), ['1 a']);
    }
    t.equal(world.warnings.at(-1)?.retryMs, 300_000);
    t.equal(world.tenantJobs.failuresCount, world.warnings.length);
    isAway = false;
    world.now += 300_000;
    t.same(await world.work(), ['1 a']);
    isAway = true;
    world.add(1, 'a', fail);
    await world.work();
    t.match(world.warnings.at(-1), { failures: 1, retryMs: 1_000 }, 'another job begins anew');
  },
);

t.test('a job that fails for good is ended, told and counted; one that cannot be ended is tried again', async (t) => {
  const world = new World();
  world.giveUp = (_job, failures) => {
    if (failures === 2) throw new Error('the documents are away');
    return failures > 2;
  };
  world.add(1, 'a', fail);
  world.add(1, 'b', () => 'done');
  for (let tries = 0; tries < 4; tries += 1) {
    await world.work();
    world.now += 10_000;
  }
  t.match(world.ended, [{ job: 'job/a', failures: 3 }]);
  t.same([world.jobs.get(1)?.size, world.tenantJobs.givenUpCount, world.tenantJobs.failuresCount], [0, 1, 3]);
  world.add(1, 'a', fail);
  await world.work();
  t.match(world.warnings.at(-1), { failures: 1 }, 'another job begins anew');
});

t.test('what waits is looked at again twice a second, and its failures in between count on', async (t) => {
  const world = new World();
  const results = ['later', fail, 'later', fail, 'later', 'more', fail, 'done'];
  world.add(1, 'a', () => {
    const result = results.shift() as JobPage | 'done' | (() => never);
    return typeof result === 'function' ? result() : result;
  });
  world.add(1, 'b', () => 'later');
  t.same(await world.work(), ['1 a', '1 b']);
  t.same(await world.work(), []);
  world.now += 500;
  t.same(await world.work(), ['1 a', '1 b']);
  for (let rest = 0; rest < 20; rest += 1) {
    world.now += 500;
    await world.work();
  }
  t.same(
    world.warnings.map(({ failures }) => failures),
    [1, 2, 1],
  );
  t.equal(world.jobs.get(1)?.has('job/a'), false);
});

t.test('jobs that cannot be read leave their tenant alone, and what is gone is forgotten', async (t) => {
  const world = new World();
  world.add(1, 'a', fail);
  await world.work();
  world.listError = new Error('the documents are away');
  world.now += 1_000;
  t.same(await world.work(), []);
  t.match(world.warnings.at(-1), { job: '', failures: 1 });
  world.listError = undefined;
  world.jobs.get(1)?.clear();
  world.now += 1_000;
  t.same(await world.work(), []);
  world.add(1, 'a', fail);
  t.same(await world.work(), ['1 a'], 'at once');
});

t.test('a failing job does not spin: the loop rests until it is due', async (t) => {
  const world = new World();
  world.add(1, 'a', fail);
  world.tenantJobs.start();
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
  await world.tenantJobs.stop();
  t.same(world.pages, ['1 a']);
});
