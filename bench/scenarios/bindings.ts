/** What scoring measurements as they come in takes, and what it takes from the intake beside it. */
import { basicAuthorization } from '../generator/http-request.ts';
import { sourceOfSerial, RestClient } from '../generator/rest.ts';
import type { WindowResult } from '../generator/job.ts';
import { generate } from '../generators.ts';
import type { Context, Scenario } from '../scenario.ts';
import { encodeMeasurement } from '../../src/ingest/measurements/record.ts';
import { scoreMeasurements } from '../../src/scoring-workers/measurements/score.ts';
import type { Plan } from '../../src/scoring-workers/measurements/plan.ts';
import { readPmml } from '../../src/scoring-workers/pmml/read.ts';
import { untilQuiet, type Subject } from '../subjects/subject.ts';

const NAME = 'bindings';
const ROW = '200,c8y_Temperature,T,21.5,C';
const CONNECTIONS = 100;
/** What is to be scored a second; the binding takes as many devices as measure a little more, not much more. */
const SCORED_PER_SECOND = 20_000;
const OFFERED = 1.08 * SCORED_PER_SECOND;
const OFFERED_MAX = 1.16 * SCORED_PER_SECOND;
/** The least rate beside the binding, against the one without: devices measure less then. */
const RATIO_MIN = 0.8;
/** Of one round, each with other devices than the one before. */
const TRIES = 4;
/** Of one task, and of all of them. */
const CHUNK = 1_000;
const CHUNKS = 200;
const WARM_UP_CHUNKS = 20;

/** A logistic regression of one field. */
export const SMALL_MODEL = `<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="t" optype="continuous" dataType="double"/><DataField name="hot" optype="categorical" dataType="string"><Value value="yes"/><Value value="no"/></DataField></DataDictionary>
<RegressionModel modelName="bench" functionName="classification" normalizationMethod="logit"><MiningSchema><MiningField name="hot" usageType="target"/><MiningField name="t"/></MiningSchema>
<Output><OutputField name="risk" optype="continuous" dataType="double" feature="probability" value="yes"/></Output>
<RegressionTable targetCategory="yes" intercept="-20"><NumericPredictor name="t" coefficient="1"/></RegressionTable><RegressionTable targetCategory="no" intercept="0"/></RegressionModel></PMML>`;

const BINDING = {
  bindingName: 'bench',
  modelName: 'bench',
  modelToDeviceMappings: { t: 'c8y_Temperature.T.value' },
  output: { measurement: { type: 'risk', outputs: { risk: 'risk' } } },
};

/** Measurements in a second of CPU time, from records to records, as a worker does it. */
function workerRate(): number {
  const { model } = readPmml([SMALL_MODEL]);
  if (model === undefined) throw new Error('the model of the scenario bindings is refused');
  const mark = JSON.stringify({ depth: 1, model: 'bench', version: '0'.repeat(36), bindingId: '1000' });
  const plan: Plan = {
    inputs: [{ name: 't', type: 'c8y_Temperature', series: 'T' }],
    allowsMissing: false,
    measurement: { type: 'risk', fragment: 'risk', outputs: [{ name: 'risk', series: 'risk' }], mark },
  };
  const records = Buffer.concat(
    Array.from({ length: CHUNK }, (_, index) =>
      encodeMeasurement({
        tenant: 1,
        source: 1_000 + index,
        id: index,
        time: Date.now(),
        receivedAt: Date.now(),
        mode: 0,
        type: 'c8y_Temperature',
        document: '',
        values: [{ fragment: 'c8y_Temperature', series: 'T', value: 15 + (index % 10), unit: 'C' }],
      }),
    ),
  );
  const run = (count: number): void => {
    for (let index = 0; index < count; index++) scoreMeasurements(model, records, plan, () => {});
  };
  run(WARM_UP_CHUNKS);
  const before = process.cpuUsage();
  run(CHUNKS);
  const { user, system } = process.cpuUsage(before);
  return ((CHUNK * CHUNKS) / (user + system)) * 1_000_000;
}

/** @param document names its model */
export async function uploadModel({ http }: Subject, document: string): Promise<void> {
  const uploaded = await fetch(`http://${http.host}:${http.port}/service/scoring/model?file=bench.pmml`, {
    method: 'POST',
    body: document,
    headers: { authorization: basicAuthorization(http), 'content-type': 'application/octet-stream' },
  });
  if (uploaded.status !== 201) throw new Error(`the model was not taken: ${uploaded.status} ${await uploaded.text()}`);
}

class Bound {
  readonly #rest: RestClient;
  readonly #subject: Subject;
  #id = '';
  #group = '';
  /** Those that are in the group. */
  devices = 0;

  constructor(subject: Subject) {
    this.#subject = subject;
    this.#rest = new RestClient(subject.http);
  }

  close(): void {
    this.#rest.close();
  }

  /** Uploads the model and binds it, to nothing yet. */
  async create(): Promise<void> {
    await uploadModel(this.#subject, SMALL_MODEL);
    this.#id = await this.#created('/service/scoring/bindings', { ...BINDING, isActive: false });
  }

  /** Another group, with devices that have measured; from the next time that it is active. */
  async bindTo(count: number): Promise<void> {
    this.#group = await this.#created('/inventory/managedObjects', { name: 'bench', c8y_IsDeviceGroup: {} });
    this.devices = Math.min(CONNECTIONS, count);
    for (let index = 0; index < this.devices; index++) {
      const id = await sourceOfSerial(this.#rest, `bench-${index}`);
      await this.#created(`/inventory/managedObjects/${this.#group}/childAssets`, { managedObject: { id } });
    }
  }

  /** Resolves when it is so. */
  async setActive(isActive: boolean): Promise<void> {
    const path = `/service/scoring/bindings/${this.#id}`;
    const { status, body } = await this.#rest.put(path, {
      ...BINDING,
      groupOrDeviceId: Number(this.#group),
      isActive,
    });
    if (status !== 200) throw new Error(`the binding was not changed: ${status} ${body}`);
    const wanted = isActive ? 'ACTIVE' : 'INACTIVE';
    for (let state = ''; state !== wanted; ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      ({ state } = await this.#read<{ state: string }>(`${path}/metrics`));
    }
  }

  counts(): Promise<{ received: number; scored: number; shed: number }> {
    return this.#read(`/service/scoring/bindings/${this.#id}/metrics`);
  }

  async #read<Value>(path: string): Promise<Value> {
    const { status, body } = await this.#rest.get(path);
    if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
    return JSON.parse(body) as Value;
  }

  async #created(path: string, body: unknown): Promise<string> {
    const answer = await this.#rest.post(path, body);
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.body}`);
    return (JSON.parse(answer.body) as { id?: string }).id ?? '';
  }
}

/** Messages a second that are acknowledged, and measurements that are scored meanwhile. */
async function load(context: Context, subject: Subject, bound: Bound): Promise<Record<string, number>> {
  const edges: Promise<{ received: number; scored: number; shed: number; timeMs: number }>[] = [];
  const mark = (): void => {
    const edge = bound.counts().then((counts) => ({ ...counts, timeMs: performance.now() }));
    edge.catch(() => {}); // awaited below, unless the load itself fails first
    edges.push(edge);
  };
  const result = await generate<WindowResult>(
    {
      kind: 'mqtt-closed',
      target: subject.mqtt,
      connections: CONNECTIONS,
      inFlight: 16,
      published: { topic: 's/us', rows: [ROW, ROW] },
      pids: subject.pids(),
      warmUpMs: context.options.warmUpMs,
      measureMs: context.options.measureMs,
    },
    { windowStart: mark, windowEnd: mark },
  );
  const [first, last] = await Promise.all(edges);
  const seconds = (last!.timeMs - first!.timeMs) / 1000;
  await untilQuiet(subject);
  const { before, after, windowCount } = result;
  return {
    ratePerSecond: (1000 * windowCount) / result.measuredMs,
    serverMicrosPerMessage: (1e6 * (after.serverCpuSeconds - before.serverCpuSeconds)) / windowCount,
    engineMicrosPerMessage: (1e6 * (after.childCpuSeconds - before.childCpuSeconds)) / windowCount,
    offeredPerSecond: (last!.received - first!.received) / seconds,
    scoredPerSecond: (last!.scored - first!.scored) / seconds,
    shedPerSecond: (last!.shed - first!.shed) / seconds,
  };
}

const microsOf = (values: Record<string, number>): number =>
  values['serverMicrosPerMessage']! + values['engineMicrosPerMessage']!;

/**
 * What a scored measurement costs, its prediction included, and the ratio that a core would show which has nothing else
 * to do: on a machine with other work the measured one says how the scheduler shares the core.
 */
function byCpu(without: Record<string, number>, beside: Record<string, number>): Record<string, number> {
  const scoredPerMessage = beside['scoredPerSecond']! / beside['ratePerSecond']!;
  const microsPerScored = (microsOf(beside) - microsOf(without)) / scoredPerMessage;
  return { microsPerScored, ratioByCpu: 1 - (SCORED_PER_SECOND * microsPerScored) / 1e6 };
}

/** @returns false where fewer were offered than are to be scored, or many more: it does not count, and the next try has other devices */
async function pair(context: Context, subject: Subject, bound: Bound, round: number): Promise<boolean> {
  context.progress(`${NAME}: round ${round}, without and with a binding of ${bound.devices} devices`);
  await bound.setActive(false);
  const without = await load(context, subject, bound);
  await bound.setActive(true);
  const beside = await load(context, subject, bound);
  const offered = beside['offeredPerSecond']!;
  const isOffered = offered >= SCORED_PER_SECOND && offered <= OFFERED_MAX;
  const ratio = beside['ratePerSecond']! / without['ratePerSecond']!;
  const values = { ratio, ...byCpu(without, beside), ...beside, devices: bound.devices };
  const other = isOffered ? '' : ' (other load)';
  context.record({ scenario: NAME, subject: `without${other}`, round, values: without });
  context.record({ scenario: NAME, subject: `beside${other}`, round, values });
  if (!isOffered) await bound.bindTo(Math.max(1, Math.round((bound.devices * OFFERED) / Math.max(1, offered))));
  return isOffered;
}

export const bindings: Scenario = {
  name: NAME,
  standard: false,
  columns: [
    'ratio',
    'ratioByCpu',
    'microsPerScored',
    'ratePerSecond',
    'offeredPerSecond',
    'scoredPerSecond',
    'shedPerSecond',
    'devices',
    'serverMicrosPerMessage',
    'engineMicrosPerMessage',
  ],
  question: `QoS 1 measurements beside ${SCORED_PER_SECOND} a second that a binding scores with a small model, in turn with the same load without it (ratio); and how many one core of a worker scores`,
  run: async (context) => {
    for (let round = 1; round <= context.rounds; round++) {
      context.progress(`${NAME}: round ${round}, worker`);
      context.record({ scenario: NAME, subject: 'worker alone', round, values: { scoredPerSecond: workerRate() } });
    }
    if (context.chosen(['millrace']).length === 0) return;
    const subject = await context.start('millrace');
    const bound = new Bound(subject);
    await bound.create();
    const { ratePerSecond: warm } = await load(context, subject, bound);
    await bound.bindTo(Math.ceil((OFFERED * CONNECTIONS) / (RATIO_MIN * warm!)));
    for (let round = 1; round <= context.rounds; round++)
      for (let left = TRIES; left > 0; left -= 1) if (await pair(context, subject, bound, round)) break;
    bound.close();
    await subject.stop();
  },
};
