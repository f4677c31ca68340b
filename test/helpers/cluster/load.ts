/** Load on a cluster that runs, and the exact account of it from the shared history. */
import { AUTHORIZATION, PASSWORD } from '../process/server.ts';
import type { HttpAnswer } from '../process/server.ts';
import { account } from '../process/load.ts';
import type { DeviceSender, HttpSender, Ledger, LoadTarget, NewDevicesSender } from '../process/load.ts';
import type { OperationsSender } from './operations-load.ts';
import { MANAGEMENT_PASSWORD, eventually } from '../running/server.ts';
import { RunningCluster } from './running.ts';
import type { ClusterOptions } from './running.ts';

const HTTP_TIMEOUT_MS = 40_000;

/** Acknowledged new devices whose external IDs are read one by one. */
const LOOKED_UP = 20;
const FOLLOWED_MS = 10_000;
/** What the audit log tells of an operation that was begun and ended, in this order. */
const LIFE = ['PENDING', 'EXECUTING', 'SUCCESSFUL'];

interface Row {
  source: number;
  value: number;
  seq: number;
  shard: number;
}

export interface MixedSenders {
  readonly devices: readonly DeviceSender[];
  readonly single: HttpSender;
  readonly fresh: NewDevicesSender;
  readonly operations: OperationsSender;
}

export class ClusterLoad implements LoadTarget {
  readonly cluster: RunningCluster;
  /** The test is over: who sends stops. */
  isDisposed = false;

  private constructor(cluster: RunningCluster) {
    this.cluster = cluster;
  }

  static async start(
    t: { teardown(action: () => unknown): void },
    nodes: number,
    environment: Record<string, string> = {},
    options: Pick<ClusterOptions, 'areServersClustered' | 'within' | 'jetStream' | 'appendfsync' | 'main'> = {},
  ): Promise<ClusterLoad> {
    const cluster = await RunningCluster.start(t, {
      ...options,
      nodes,
      environment,
      passwords: { admin: PASSWORD, management: MANAGEMENT_PASSWORD },
    });
    const load = new ClusterLoad(cluster);
    t.teardown(() => {
      load.isDisposed = true;
    });
    return load;
  }

  get mqttPort(): number {
    return this.cluster.mqttPort;
  }

  /** Each request comes to the next node. */
  async http(method: string, path: string, body?: string | object, port = this.cluster.httpPort): Promise<HttpAnswer> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      signal: AbortSignal.timeout(HTTP_TIMEOUT_MS),
      headers: {
        authorization: AUTHORIZATION,
        accept: 'application/json',
        connection: 'close',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      text,
      json: <T>() => JSON.parse(text) as T,
    };
  }

  async createDevice(name: string): Promise<string> {
    const answer = await this.http('POST', '/inventory/managedObjects', { name, c8y_IsDevice: {} });
    if (answer.status !== 201) throw new Error(`POST managedObjects: ${answer.status} ${answer.text}`);
    return answer.json<{ id: string }>().id;
  }

  /** Waits until the node that is asked has its servers back. */
  async deviceOf(serial: string): Promise<string> {
    return eventually(`the device ${serial}`, async () => {
      const answer = await this.http('GET', `/identity/externalIds/c8y_Serial/${encodeURIComponent(serial)}`);
      if (answer.status !== 200) throw new Error(`GET externalIds: ${answer.status} ${answer.text}`);
      return answer.json<{ managedObject: { id: string } }>().managedObject.id;
    });
  }

  /**
   * Rows by source in the order of the journal, when everything acknowledged can be seen; the same for each node.
   * @param isEach waits source by source.
   */
  async rowsOf(sources: readonly string[], isEach = true): Promise<Map<string, Row[]>> {
    if (sources.length === 0) return new Map();
    // Where there are many, of all shards at once.
    for (const source of isEach ? sources : [''])
      await this.read(`/measurement/measurements?${source === '' ? '' : `source=${source}&`}pageSize=1`);
    const rows = await this.cluster.query<Row>(
      `SELECT source, value, seq, shard FROM measurements WHERE source IN (${sources.join(',')}) ORDER BY seq, id`,
    );
    const found = new Map<string, Row[]>(sources.map((source) => [source, []]));
    for (const row of rows) found.get(String(row.source))?.push(row);
    return found;
  }

  /** What is wrong; empty when the account is exact. */
  async accountOf(
    ledgers: ReadonlyMap<string, { readonly source: string; readonly ledger: Ledger }>,
  ): Promise<{ problems: string[]; stored: number }> {
    const rows = await this.rowsOf(Array.from(ledgers.values(), ({ source }) => source));
    const problems: string[] = [];
    let stored = 0;
    const sequences = new Set<number>();
    for (const [name, { source, ledger }] of ledgers) {
      const list = rows.get(source) ?? [];
      stored += list.length;
      problems.push(
        ...account(
          name,
          ledger,
          list.map(({ value }) => value),
        ),
      );
      if (new Set(list.map(({ shard }) => shard)).size > 1) problems.push(`${name} is in several shards`);
      for (const { seq } of list) {
        if (sequences.has(seq)) problems.push(`${name}: the sequence ${seq} is used twice`);
        sequences.add(seq);
      }
    }
    return { problems, stored };
  }

  /** What is wrong with everything that `underLoad` sends. */
  async accountOfAll({
    devices,
    single,
    fresh,
    operations,
  }: MixedSenders): Promise<{ problems: string[]; stored: string }> {
    const ids = new Map<string, string>();
    for (const { name } of devices) ids.set(name, await this.deviceOf(name));
    const ledgers = new Map(
      devices.map(({ name, measurements }) => [name, { source: ids.get(name) ?? '', ledger: measurements }]),
    );
    ledgers.set(single.name, { source: single.device, ledger: single.ledger });
    const { problems, stored } = await this.accountOf(ledgers);
    const entities = await this.#accountOfEntities(devices, ids);
    const objects = await this.#accountOfNewDevices(fresh);
    const ended = await this.#accountOfOperations(operations);
    problems.push(...entities.problems, ...objects.problems, ...ended.problems);
    return { problems, stored: `${stored} measurements, ${entities.stored}, ${objects.stored}, ${ended.stored}` };
  }

  /** Events and alarms in the order in which they were decided, and the last change of each object. */
  async #accountOfEntities(
    devices: readonly DeviceSender[],
    ids: ReadonlyMap<string, string>,
  ): Promise<{ problems: string[]; stored: string }> {
    for (const id of ids.values())
      for (const list of ['/event/events', '/alarm/alarms']) await this.read(`${list}?source=${id}&pageSize=1`);
    const among = `source IN (${[...ids.values()].join(',')}) ORDER BY seq`;
    const events = await this.cluster.query<{ source: number; text: string }>(
      `SELECT source, JSONExtractString(doc, 'text') AS text FROM events FINAL WHERE ${among}`,
    );
    const alarms = await this.cluster.query<{ source: number; type: string; count: number }>(
      `SELECT source, type, count FROM alarms FINAL WHERE ${among}`,
    );
    const problems: string[] = [];
    for (const { name, events: ofEvents, alarms: ofAlarms, models } of devices) {
      const isOf = ({ source }: { source: number }): boolean => String(source) === ids.get(name);
      problems.push(
        ...account(
          `${name} events`,
          ofEvents,
          events.filter(isOf).map(({ text }) => Number(text.slice('event '.length))),
        ),
      );
      problems.push(
        ...account(
          `${name} alarms`,
          ofAlarms,
          alarms.filter(isOf).map(({ type }) => Number(type.slice('fault_'.length))),
        ),
      );
      const { c8y_Hardware: hardware } = await this.read<{ c8y_Hardware?: { model: string } }>(
        `/inventory/managedObjects/${ids.get(name)}`,
      );
      const model = Number(hardware?.model ?? 0);
      if (model < Math.max(0, ...models.acknowledged) || model > models.sent)
        problems.push(`${name}: model is ${model} of ${models.sent}`);
    }
    const repeated = alarms.filter(({ count }) => Number(count) !== 1).length;
    if (repeated > 0) problems.push(`${repeated} alarms were counted twice`);
    return { problems, stored: `${events.length} events, ${alarms.length} alarms` };
  }

  /** Each was made once, has its measurement, and both ways between it and its serial. */
  async #accountOfNewDevices(fresh: NewDevicesSender): Promise<{ problems: string[]; stored: string }> {
    await this.read('/inventory/managedObjects?pageSize=1');
    const begin = `MQTT Device ${fresh.name}-`;
    const objects = await this.cluster.query<{ id: number; name: string }>(
      `SELECT id, name FROM managed_objects FINAL WHERE startsWith(name, '${begin}') ORDER BY id`,
    );
    const numbers = objects.map(({ name }) => Number(name.slice(begin.length)));
    const problems = account('new devices', fresh.ledger, numbers, false);
    const rows = await this.rowsOf(
      objects.map(({ id }) => String(id)),
      false,
    );
    for (const [index, { id, name }] of objects.entries()) {
      const count = rows.get(String(id))?.length ?? 0;
      if (count > 1 || (count === 0 && fresh.ledger.acknowledged.has(numbers[index])))
        problems.push(`${name} has ${count} measurements`);
    }
    for (const number of [...fresh.ledger.acknowledged].slice(-LOOKED_UP)) {
      const id = await this.deviceOf(fresh.serialOf(number));
      const { externalIds } = await this.read<{ externalIds: { externalId: string }[] }>(
        `/identity/globalIds/${id}/externalIds`,
      );
      if (String(objects[numbers.indexOf(number)]?.id) !== id)
        problems.push(`${fresh.serialOf(number)} is bound to ${id}`);
      if (externalIds.map(({ externalId }) => externalId).join() !== fresh.serialOf(number))
        problems.push(`${id} knows ${JSON.stringify(externalIds)}`);
    }
    return { problems, stored: `${objects.length} new devices` };
  }

  /** Each was made once, and what the agent said of it reached it once and in order. */
  async #accountOfOperations({
    name,
    agent,
    children,
    ledger,
    begun,
    ended,
  }: OperationsSender): Promise<{ problems: string[]; stored: string }> {
    interface OperationRow {
      id: number;
      number: number;
      status: string;
    }
    const read = async (): Promise<OperationRow[]> => {
      await this.read(`/devicecontrol/operations?agentId=${agent}&pageSize=1`);
      return this.cluster.query<OperationRow>(`SELECT id, status, toUInt32(substring(JSONExtractString(doc, 'description'), 11)) AS number
        FROM operations FINAL WHERE source IN (${children.join(',')}) ORDER BY id`);
    };
    // The agent's shard was told; follow-ups go on behind its acknowledgement.
    await eventually(
      'what was acknowledged has followed',
      async () => (await read()).every(({ number, status }) => status === 'SUCCESSFUL' || !ended.has(number)),
      FOLLOWED_MS,
    ).catch(() => undefined);
    const operations = await read();
    const problems = account(
      `${name} operations`,
      ledger,
      operations.map(({ number }) => number),
    );
    await this.read('/audit/auditRecords?pageSize=1');
    const audits = await this.cluster.query<{
      source: string;
      status: string;
    }>(`SELECT source, extract(JSONExtractString(doc, 'text'), 'to ([A-Z]+)$') AS status
      FROM audits FINAL WHERE type = 'Operation' AND source IN (${operations.map(({ id }) => `'${id}'`).join(',')}) ORDER BY seq`);
    const lives = new Map<string, string[]>(operations.map(({ id }) => [String(id), []]));
    for (const { source, status } of audits) lives.get(source)?.push(status === '' ? 'PENDING' : status);
    for (const { id, number, status } of operations) {
      const life = lives.get(String(id)) ?? [];
      const least = ended.has(number) ? LIFE.length : begun.has(number) ? 2 : 1;
      if (life.length < least || life.join() !== LIFE.slice(0, life.length).join())
        problems.push(`operation ${number}: the audit log tells ${life.join()}`);
      if (status !== life.at(-1)) problems.push(`operation ${number} is ${status}, the audit log tells ${life.join()}`);
    }
    return { problems, stored: `${operations.length} operations (${ended.size} carried out)` };
  }

  /** GET, again until it is answered with 200. */
  async read<Answer>(path: string): Promise<Answer> {
    return eventually(
      `GET ${path}`,
      async () => {
        const answer = await this.http('GET', path);
        if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.text}`);
        return answer.json<Answer>();
      },
      HTTP_TIMEOUT_MS,
    );
  }
}

/** Waits until each device has been acknowledged something that it sent after now. @returns how long that took. */
export async function acknowledgedAgain(devices: readonly DeviceSender[], timeoutMs = 40_000): Promise<number> {
  const startMs = Date.now();
  const before = devices.map(({ acknowledgedCount }) => acknowledgedCount);
  const WINDOW = 16;
  // Behind the whole window: none of it was on its way already.
  await eventually(
    'every device is acknowledged again',
    () => {
      const waiting = devices.filter((device, index) => device.acknowledgedCount <= before[index] + WINDOW);
      if (waiting.length > 0) throw new Error(`waiting for ${waiting.map(({ name }) => name).join(' ')}`);
      return true;
    },
    timeoutMs,
  );
  return Date.now() - startMs;
}
