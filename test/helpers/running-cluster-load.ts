/** Load on a cluster that runs, and the exact account of it from the shared history. */
import { AUTHORIZATION, PASSWORD } from './server-process.ts';
import type { HttpAnswer } from './server-process.ts';
import { account } from './server-process-load.ts';
import type { DeviceSender, Ledger, LoadTarget } from './server-process-load.ts';
import { MANAGEMENT_PASSWORD, eventually } from './running-server.ts';
import { RunningCluster } from './running-cluster.ts';

const HTTP_TIMEOUT_MS = 40_000;

interface Row { source: number; value: number; seq: number; shard: number }

export class ClusterLoad implements LoadTarget {
  readonly cluster: RunningCluster;
  /** The test is over: who sends stops. */
  isDisposed = false;

  private constructor(cluster: RunningCluster) {
    this.cluster = cluster;
  }

  static async start(t: { teardown(action: () => unknown): void }, nodes: number, environment: Record<string, string> = {}): Promise<ClusterLoad> {
    const cluster = await RunningCluster.start(t, { nodes, environment, passwords: { admin: PASSWORD, management: MANAGEMENT_PASSWORD } });
    const load = new ClusterLoad(cluster);
    t.teardown(() => { load.isDisposed = true; });
    return load;
  }

  get mqttPort(): number { return this.cluster.mqttPort; }

  /** Each request comes to the next node. */
  async http(method: string, path: string, body?: string | object, port = this.cluster.httpPort): Promise<HttpAnswer> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method, signal: AbortSignal.timeout(HTTP_TIMEOUT_MS),
      headers: { authorization: AUTHORIZATION, accept: 'application/json', connection: 'close', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: Object.fromEntries(response.headers), text, json: <T>() => JSON.parse(text) as T };
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

  /** Rows by source in the order of the journal, when everything acknowledged can be seen; the same for each node. */
  async rowsOf(sources: readonly string[]): Promise<Map<string, Row[]>> {
    for (const source of sources) {
      await eventually('measurements can be read', async () =>
        (await this.http('GET', `/measurement/measurements?source=${source}&pageSize=1`)).status === 200, HTTP_TIMEOUT_MS);
    }
    const rows = await this.cluster.query<Row>(`SELECT source, value, seq, shard FROM measurements WHERE source IN (${sources.join(',')}) ORDER BY seq, id`);
    const found = new Map<string, Row[]>(sources.map((source) => [source, []]));
    for (const row of rows) found.get(String(row.source))?.push(row);
    return found;
  }

  /** What is wrong; empty when the account is exact. */
  async accountOf(ledgers: ReadonlyMap<string, { readonly source: string; readonly ledger: Ledger }>): Promise<{ problems: string[]; stored: number }> {
    const rows = await this.rowsOf(Array.from(ledgers.values(), ({ source }) => source));
    const problems: string[] = [];
    let stored = 0;
    const sequences = new Set<number>();
    for (const [name, { source, ledger }] of ledgers) {
      const list = rows.get(source) ?? [];
      stored += list.length;
      problems.push(...account(name, ledger, list.map(({ value }) => value)));
      if (new Set(list.map(({ shard }) => shard)).size > 1) problems.push(`${name} is in several shards`);
      for (const { seq } of list) {
        if (sequences.has(seq)) problems.push(`${name}: the sequence ${seq} is used twice`);
        sequences.add(seq);
      }
    }
    return { problems, stored };
  }
}

/** Waits until each device has been acknowledged something that it sent after now. @returns how long that took. */
export async function acknowledgedAgain(devices: readonly DeviceSender[], timeoutMs = 40_000): Promise<number> {
  const startMs = Date.now();
  const before = devices.map(({ acknowledgedCount }) => acknowledgedCount);
  const WINDOW = 16;
  // Behind the whole window: none of it was on its way already.
  await eventually('every device is acknowledged again', () => {
    const waiting = devices.filter((device, index) => device.acknowledgedCount <= before[index] + WINDOW);
    if (waiting.length > 0) throw new Error(`waiting for ${waiting.map(({ name }) => name).join(' ')}`);
    return true;
  }, timeoutMs);
  return Date.now() - startMs;
}
