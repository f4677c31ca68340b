/** Predictions on their way in: measurements, events and alarms (docs/spec/scoring.md#bindings). */
import t from 'tap';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import type { BindingOutput } from '../../../src/model/entities/scoring/binding.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import { Delivery } from '../../../src/scoring/bindings/delivery.ts';
import type { Measured, OutputValue } from '../../../src/scoring-workers/measurements/plan.ts';
import { measurementsOf, recordOf } from '../../helpers/scoring/measured.ts';
import { untilTurn } from '../../helpers/until.ts';

const MARK = { depth: 1, model: 'm', version: 'v', bindingId: '5' };
const GONE = 13;

function deliveryOf(open: readonly string[] = []) {
  const commands: any[] = [];
  const counted: string[] = [];
  const appended: number[][] = [];
  const refused: Error[] = [];
  const intake: any = {
    refusal: undefined,
    appendAll: (records: Buffer, bytes: number, count: number, sink: any) => {
      const all = [...measurementsOf(records.subarray(0, bytes))];
      appended.push(...all.map(({ id, source }) => [id, source]));
      if (all.length !== count) throw new Error('another count');
      sink.flushDurable();
    },
  };
  let id = 100;
  const term = { current: 1 };
  const delivery = new Delivery({
    intake,
    ids: { next: () => (id += 1), nextBeside: () => (id += 1) },
    sources: { find: (_tenant, source) => (source === GONE ? undefined : false) },
    termOf: () => term.current,
    documents: {
      get: (_collection: string, _tenant: number, key: string) => (open.includes(key) ? '1' : undefined),
    } as any,
    commands: {
      request: async (command) => {
        commands.push(command);
        const error = refused.shift();
        if (error !== undefined) throw error;
        if (command.key === GONE) throw new PlatformError('source/not-found', { area: 'alarm', id: String(GONE) });
      },
    },
    refusals: { count: (limit) => counted.push(limit) },
    now: () => 42,
  });
  const tell = async (output: BindingOutput, values: OutputValue[], source = 7, mode = 0) => {
    const all = values.map(() => source);
    const told = {
      sources: all,
      times: all.map((_, index) => index),
      modes: all.map(() => mode),
      events: output.event === undefined ? [] : values,
      alarms: output.alarm === undefined ? [] : values,
    };
    const measured: Measured = {
      records: new Uint8Array(),
      scored: all.length,
      incomplete: 0,
      refused: 0,
      tooLarge: 0,
      told,
    };
    await delivery.deliver({ tenant: 1, generation: 1, user: 'u', output }, measured, MARK);
    const found = commands.splice(0);
    return found.map(({ kind, body }) => [kind, JSON.parse(body.doc)] as const);
  };
  return { delivery, intake, counted, appended, tell, commands, refused, term };
}

t.test('measurements get their ids, and none are for devices that are gone', async (t) => {
  const { delivery, intake, counted, appended } = deliveryOf();
  const records = Buffer.concat([recordOf({ source: 7 }), recordOf({ source: GONE }), recordOf({ source: 8 })]);
  const measured: any = { records, tooLarge: 1, told: { sources: [], times: [], modes: [], events: [], alarms: [] } };
  const sender = { tenant: 1, generation: 1, user: 'u', output: {} };
  await (await delivery.deliver(sender, measured, MARK)).durable;
  t.same(appended, [
    [101, 7],
    [102, 8],
  ]);
  intake.refusal = 'journal/bytes';
  await t.rejects(delivery.deliver(sender, { ...measured, records: recordOf() }, MARK), { message: /journal\/bytes/ });
  t.same(
    counted,
    ['scoring/binding-prediction-bytes', 'scoring/binding-prediction-bytes', 'journal/bytes'],
    'nothing is written while writes are refused',
  );
});

t.test('many predictions are appended in pieces, each when the one before it is durable', async (t) => {
  const { delivery, intake, appended } = deliveryOf();
  const { appendAll } = intake;
  const sinks: any[] = [];
  intake.appendAll = (records: Buffer, bytes: number, count: number, sink: any) => {
    t.ok(bytes <= 1_048_576);
    appendAll(records, bytes, count, { flushDurable: () => sinks.push(sink) });
  };
  const document = JSON.stringify({ text: 'x'.repeat(400_000) });
  const records = Buffer.concat([1, 2, 3, 4, 5].map((source) => recordOf({ source, document })));
  const measured: any = { records, tooLarge: 0, told: { sources: [], times: [], modes: [], events: [], alarms: [] } };
  const delivered = delivery.deliver({ tenant: 1, generation: 1, user: 'u', output: {} }, measured, MARK);
  for (const count of [2, 4]) {
    await untilTurn('a piece', () => sinks.length > 0);
    t.equal(appended.length, count);
    sinks.shift().flushDurable();
  }
  const { durable } = await delivered;
  t.equal(appended.length, 5, 'the next task may follow');
  sinks.shift().flushDurable();
  await durable;
});

t.test('an event for each value, or each change', async (t) => {
  const { tell } = deliveryOf();
  const event = { type: 'state', text: 'now {value}', isForEach: false };
  const events = await tell({ event }, ['a', 'a', null, 'b', 'b', true]);
  t.same(
    events.map(([kind, { text }]) => [kind, text]),
    ['a', 'b', 'true'].map((value) => [COMMAND.EVENT_CREATE, `now ${value}`]),
  );
  t.match(events[0]![1], { time: '1970-01-01T00:00:00.000Z', c8y_Scoring: { ...MARK, value: 'a' } });
  t.equal((await tell({ event }, ['x'], 8)).length, 1, 'each device has its own');
  t.equal((await tell({ event: { ...event, isForEach: true } }, ['a', 'a'])).length, 2);
});

t.test('an alarm is raised above and cleared below, once each', async (t) => {
  const alarm = { type: 'hot', severity: 'MAJOR', text: '{value}', above: 0.9, clearBelow: 0.5 } as const;
  const { tell } = deliveryOf(['9\nhot']);
  const of = async (values: OutputValue[], source?: number, mode?: number) =>
    (await tell({ alarm }, values, source, mode)).map(([kind, { status, text }]) => [kind, text ?? status]);
  const [raised, cleared] = [COMMAND.ALARM_CREATE, COMMAND.ALARM_OF_TYPE_UPDATE];
  t.same(await of([0.1, 0.9, 0.95, 0.99, 0.7, 0.4, 0.1, 'NaN', null, 1]), [
    [raised, '0.95'],
    [cleared, 'CLEARED'],
    [raised, '1'],
  ]);
  t.same(await of([0.95, 0.4], 9), [[cleared, 'CLEARED']], 'one that is open from before is not raised again');
  t.same(await of([0.95, 0.4], 10, 1), [[raised, '0.95']], 'nothing to clear where nothing is stored');
  t.same(await of([0.95], GONE), [[raised, '0.95']], 'a device that is gone holds up nothing');
  const equals = { ...alarm, above: undefined, clearBelow: undefined, equals: 'bad' };
  const other = deliveryOf();
  t.same(
    (await other.tell({ alarm: equals as any }, ['good', 'bad', 'bad', 'good'])).map(([kind]) => kind),
    [raised, cleared],
  );
});

t.test('what a device was told is forgotten once it was on another node', async (t) => {
  const alarm = { type: 'hot', severity: 'MAJOR', text: '{value}', above: 1 } as const;
  const event = { type: 'state', text: '', isForEach: false };
  const { tell, term } = deliveryOf();
  t.equal((await tell({ alarm }, [2, 3])).length, 1);
  t.equal((await tell({ event }, ['a', 'a'])).length, 1);
  // The alarm is cleared there, and the state changes.
  term.current = 3;
  t.equal((await tell({ alarm }, [2, 3])).length, 1, 'raised again');
  t.equal((await tell({ event }, ['a', 'a'])).length, 1);
});

t.test('what could not be stored is told again', async (t) => {
  const busy = () => new PlatformError('general/busy', { limit: 'test' });
  const alarm = { type: 'hot', severity: 'MAJOR', text: '{value}', above: 1 } as const;
  const { tell, refused, commands } = deliveryOf();
  const after = async (output: BindingOutput, values: OutputValue[]) => {
    await t.rejects(tell(output, values), { message: /test/ });
    commands.length = 0;
  };
  refused.push(busy());
  await after({ alarm }, [2]);
  t.equal((await tell({ alarm }, [2])).length, 1, 'raised');
  t.same(await tell({ alarm }, [2]), []);
  refused.push(busy());
  await after({ alarm }, [0]);
  t.match(await tell({ alarm }, [2, 0]), [[COMMAND.ALARM_CREATE], [COMMAND.ALARM_OF_TYPE_UPDATE]], 'looked up again');

  const event = { type: 'state', text: '', isForEach: false };
  const long = 'x'.repeat(1_000);
  refused.push(busy());
  await after({ event }, [long]);
  t.equal((await tell({ event }, [long, long])).length, 1);
  t.equal((await tell({ event }, [`${long}y`])).length, 1, 'long texts differ at their end too');
});

t.test('an event that is refused does not undo the predictions beside it', async (t) => {
  const { delivery, refused, appended } = deliveryOf();
  refused.push(new PlatformError('general/busy', { limit: 'test' }));
  const told = { sources: [7], times: [0], modes: [0], events: ['a'], alarms: [] };
  const measured: Measured = { records: recordOf(), scored: 1, incomplete: 0, refused: 0, tooLarge: 0, told };
  const output = { event: { type: 'state', text: '', isForEach: true } };
  const { durable, failure } = await delivery.deliver({ tenant: 1, generation: 1, user: 'u', output }, measured, MARK);
  await durable;
  t.equal(appended.length, 1);
  t.match(failure, { message: /test/ });
});

t.test('values that are not stored leave the stored event and alarm as they are', async (t) => {
  const transient = 1;
  const alarm = { type: 'hot', severity: 'MAJOR', text: '{value}', above: 1 } as const;
  const { tell } = deliveryOf();
  t.match(await tell({ alarm }, [2], 7, transient), [[COMMAND.ALARM_CREATE]]);
  t.match(await tell({ alarm }, [2]), [[COMMAND.ALARM_CREATE]], 'one that is not stored hides none');
  t.same(await tell({ alarm }, [0], 7, transient), []);
  t.match(await tell({ alarm }, [0]), [[COMMAND.ALARM_OF_TYPE_UPDATE]], 'and clears none');
  const event = { type: 'state', text: '', isForEach: false };
  t.equal((await tell({ event }, ['a'], 7, transient)).length, 1);
  t.equal((await tell({ event }, ['a'])).length, 1);
});
