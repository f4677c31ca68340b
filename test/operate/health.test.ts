/** What /health/ready reports: each part that is not ready makes the whole so, and each stage tells its lag. */
import t from 'tap';
import { healthOf, singleNodeParts } from '../../src/operate/health.ts';
import type { NodeParts } from '../../src/operate/health.ts';

const WELL = {
  journal: { lastSeq: 90, sizeBytes: 1_234 },
  intake: { lastAppendedSeq: 95, refusal: undefined },
  actors: { committedSeq: 70, pendingCount: 2 },
  projector: { position: () => 40, lastError: undefined },
  disk: { refusal: undefined, freeBytes: 5_000 },
  engine: { state: 'ready', restartsCount: 3 },
  backups: { isEngineStopped: false },
  handledSeq: () => 88,
  watchedDocuments: { fault: () => undefined },
  quarantine: { isFull: false, count: 1, sizeBytes: 100 },
};

const reportOf = (changes: object = {}): ReturnType<typeof healthOf> =>
  healthOf(singleNodeParts({ ...WELL, ...changes } as unknown as NodeParts));

t.test('the parts, with the lag of each stage', async (t) => {
  t.same(reportOf(), {
    ready: true,
    parts: {
      journal: { ready: true, lastSequence: 90, sizeBytes: 1_234, lagRecords: 5 },
      documents: { ready: true, sequence: 70, lagRecords: 20, followUps: 2 },
      clickhouse: { ready: true, state: 'ready', restarts: 3, sequence: 40, lagRecords: 48 },
      quarantine: { ready: true, count: 1, sizeBytes: 100 },
      disk: { ready: true, freeBytes: 5_000 },
    },
  });
});

t.test('a part that is not ready: the whole is not, and the part says why', async (t) => {
  const cases = [
    ['journal', { intake: { ...WELL.intake, refusal: 'journal/bytes' } }, { refusal: 'journal/bytes' }],
    [
      'documents',
      { watchedDocuments: { fault: () => 'a commit failed: no space' } },
      { fault: 'a commit failed: no space' },
    ],
    ['clickhouse', { engine: { ...WELL.engine, state: 'down' } }, { state: 'down' }],
    ['quarantine', { quarantine: { ...WELL.quarantine, isFull: true } }, {}],
    ['disk', { disk: { refusal: 'disk/free-bytes', freeBytes: 1 } }, { freeBytes: 1 }],
  ] as const;
  for (const [name, changes, details] of cases) {
    const report = reportOf(changes);
    t.equal(report.ready, false, name);
    t.match(report.parts[name], { ready: false, ...details }, name);
    t.same(
      Object.entries(report.parts)
        .filter(([, { ready }]) => !ready)
        .map(([part]) => part),
      [name],
      'only this one',
    );
  }
  t.match(
    reportOf({ engine: { ...WELL.engine, state: 'stopped' }, backups: { isEngineStopped: true } }),
    { ready: true, parts: { clickhouse: { ready: true, state: 'backup' } } },
    'a backup is not an outage',
  );
  t.match(reportOf({ projector: { position: () => 40, lastError: 'refused' } }), {
    ready: true,
    parts: { clickhouse: { lastError: 'refused' } },
  });
});
