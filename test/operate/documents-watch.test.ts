/** /health/ready tells whether the documents can be read and written, and never waits for them. */
import t from 'tap';
import type { Documents } from '../../src/ports/stores/documents.ts';
import { WatchedDocuments } from '../../src/operate/documents-watch.ts';
import { healthOf, singleNodeParts } from '../../src/operate/health.ts';
import type { NodeParts } from '../../src/operate/health.ts';

class Store {
  now = 0;
  read: () => string | undefined | Promise<string | undefined> = () => '1';
  write: () => Promise<void> = () => Promise.resolve();
  reads = 0;
  readonly watched: WatchedDocuments;

  constructor() {
    const documents: Documents = {
      get: () => {
        this.reads += 1;
        return this.read();
      },
      getMany: () => ['many'],
      list: () => [{ id: 'a', value: 'b' }],
      position: () => 7,
      commit: () => this.write(),
    };
    this.watched = new WatchedDocuments(documents, () => this.now);
  }

  get report(): { ready: boolean; documents: Record<string, unknown> } {
    const parts = {
      journal: { lastSeq: 9, sizeBytes: 1 },
      intake: { lastAppendedSeq: 9, refusal: undefined },
      actors: { committedSeq: 7, pendingCount: 0 },
      projector: { position: () => 9 },
      disk: { refusal: undefined, freeBytes: 1 },
      engine: { state: 'ready', restartsCount: 0 },
      backups: { isEngineStopped: false },
      handledSeq: () => 9,
      watchedDocuments: this.watched,
      quarantine: { isFull: false, count: 0, sizeBytes: 0 },
    } as unknown as NodeParts;
    const {
      ready,
      parts: { documents },
    } = healthOf(singleNodeParts(parts));
    return { ready, documents };
  }
}

/** A promise and what ends it. */
function open<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void; reject: (error: Error) => void } {
  let resolve: (value: Value) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<Value>((done, fail) => {
    resolve = done;
    reject = fail;
  });
  return { promise, resolve, reject };
}

t.test('what works is passed on', async (t) => {
  const { watched, report } = new Store();
  t.equal(watched.get('meta', 0, 'schema'), '1');
  t.same(watched.getMany('meta', 0, []), ['many']);
  t.same(watched.list('meta', 0, '', { limit: 1 }), [{ id: 'a', value: 'b' }]);
  t.equal(watched.position(), 7);
  await watched.commit([], 1);
  t.match(report, { ready: true, documents: { ready: true, sequence: 7, lagRecords: 2, fault: undefined } });
});

t.test('a commit that fails, until the next one succeeds', async (t) => {
  const store = new Store();
  store.write = () => Promise.reject(new Error('no space'));
  await t.rejects(store.watched.commit([], 1), /no space/);
  t.match(store.report, { ready: false, documents: { ready: false, fault: 'a commit failed: no space' } });
  store.write = () => Promise.resolve();
  await store.watched.commit([], 2);
  t.match(store.report, { ready: true, documents: { ready: true } });
});

t.test('a commit that does not end', async (t) => {
  const store = new Store();
  const stuck = open<void>();
  store.write = () => stuck.promise;
  const commit = store.watched.commit([], 1);
  store.now = 4_000;
  store.write = () => Promise.resolve();
  await store.watched.commit([], 2);
  t.equal(store.report.ready, true, 'a slow one is no fault');
  store.now = 6_000;
  t.match(store.report, { ready: false, documents: { fault: 'a commit has taken 6000 ms and is not done' } });
  stuck.resolve();
  await commit;
  t.equal(store.report.ready, true);
});

t.test('reads: one at a time, never waited for', async (t) => {
  const store = new Store();
  store.read = () => {
    throw new Error('closed');
  };
  t.match(store.report, { ready: false, documents: { fault: 'a read failed: closed' } });
  store.read = () => undefined;
  t.match(store.report, { ready: false, documents: { fault: /is not there/ } });
  store.read = () => '1';
  t.equal(store.watched.fault(), undefined);
  const answer = open<string>();
  store.read = () => answer.promise;
  store.reads = 0;
  store.watched.fault();
  store.now = 5_500;
  t.equal(store.watched.fault(), 'a read has taken 5500 ms and is not done');
  t.equal(store.reads, 1, 'one is under way');
  answer.resolve('1');
  await answer.promise;
  store.read = () => '1';
  t.equal(store.watched.fault(), undefined);
  store.read = () => Promise.reject(new Error('away'));
  store.watched.fault();
  await new Promise((done) => {
    setImmediate(done);
  });
  store.read = () => open<string>().promise;
  t.equal(store.watched.fault(), 'a read failed: away');
});
