import t from 'tap';
import { ANY, type RetentionRule } from '../../../src/model/entities/retention.ts';
import { keptSince } from '../../../src/scoring/jobs/expiry.ts';

const DAY_MS = 86_400_000;
const NOW = 100 * DAY_MS;
const since = (...rules: Partial<RetentionRule>[]): number | undefined => {
  const given = rules.map((rule, index) => ({
    id: String(index),
    rule: {
      dataType: ANY,
      fragmentType: ANY,
      type: ANY,
      source: ANY,
      maximumAge: 60,
      editable: true,
      ...rule,
    } as const,
  }));
  const kept = keptSince(given, { groupOrDeviceId: '7' }, NOW);
  return kept === undefined ? undefined : (NOW - kept) / DAY_MS;
};

t.test('rules for the event of a run are those for the run', async (t) => {
  t.equal(since(), undefined);
  t.equal(since({}), 60);
  t.equal(
    since({ dataType: 'ALARM' }, { dataType: 'EVENT', type: 'other' }, { source: '8' }, { fragmentType: 'x' }),
    undefined,
  );
  t.equal(
    since({}, { dataType: 'EVENT', type: 'c8y_ScoringExecution', maximumAge: 10 }, { source: '7', maximumAge: 20 }),
    10,
  );
});
