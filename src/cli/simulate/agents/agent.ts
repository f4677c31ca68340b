/** A simulated agent: gets operations as rows and as JSON, carries them out one by one, and tells what came of each. */
import { CsvRows } from '../../../smartrest/rows/csv.ts';
import { encodeRow } from '../../../smartrest/rows/csv-encode.ts';
import { JSON_OPERATIONS, PartlyDone, ROW_OPERATIONS, type AgentContext, type Outcome } from './operations.ts';

/** Where the agent sends, and how it restarts. */
export interface AgentLink {
  publish(topic: string, payload: string): void;
  /** @returns when it is connected again. */
  restart(): Promise<void>;
}

export interface AgentOptions extends AgentContext {
  readonly link: AgentLink;
  /** An operation is under way for this long, so that it is seen. */
  readonly workMs: number;
}

/** Operations that wait; what comes beyond them is asked for when they are done (500). */
const WAITING_MAX = 100;
/** What a failure may say (docs/spec/mqtt.md). */
const REASON_LENGTH_MAX = 500;
/** Bytes of one message: a server ends the connection for more (docs/spec/mqtt.md). */
const MESSAGE_BYTES_MAX = 16_000;

/** @returns what the device is told to do. */
type Job = { readonly fragment: string; readonly run: () => Outcome | Promise<Outcome> };

export class Agent {
  succeeded = 0;
  failed = 0;
  readonly #options: AgentOptions;
  readonly #jobs: Job[] = [];
  #isWorking = false;
  #hasMissed = false;

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  /** To be called with each message; those that are no operations for it are passed over. */
  received(topic: string, payload: string): void {
    if (topic === 's/ds') for (const row of rowsOf(payload)) this.#receivedRow(row);
    else if (topic === 'devicecontrol/notifications') this.#receivedJson(payload);
  }

  /** The server sends again what waits: operations that are not begun. */
  reconnected(): void {
    this.#jobs.length = 0;
    this.#hasMissed = false;
  }

  #receivedRow([id, serial, ...values]: readonly string[]): void {
    if (!Object.hasOwn(ROW_OPERATIONS, id) || serial !== this.#options.state.serial) return;
    const { fragment, work } = ROW_OPERATIONS[id];
    this.#add({ fragment, run: () => work(values, this.#options) });
  }

  #receivedJson(payload: string): void {
    const operation = JSON.parse(payload) as Record<string, unknown>;
    // Those of its children are not its own.
    const source = operation['externalSource'] as { readonly externalId?: string } | undefined;
    if (source?.externalId !== this.#options.state.serial) return;
    for (const [fragment, work] of Object.entries(JSON_OPERATIONS))
      if (Object.hasOwn(operation, fragment))
        this.#add({ fragment, run: () => work(operation[fragment], this.#options) });
  }

  #add(job: Job): void {
    if (this.#jobs.length >= WAITING_MAX) this.#hasMissed = true;
    else this.#jobs.push(job);
    if (!this.#isWorking) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let job = this.#jobs.shift(); job !== undefined; job = this.#jobs.shift()) await this.#carryOut(job);
    this.#isWorking = false;
    if (!this.#hasMissed) return;
    this.#hasMissed = false;
    this.#options.link.publish('s/us', '500');
  }

  async #carryOut({ fragment, run }: Job): Promise<void> {
    const { link, workMs, state } = this.#options;
    link.publish('s/us', encodeRow(['501', fragment]));
    await new Promise((resolve) => {
      setTimeout(resolve, workMs);
    });
    try {
      const { rows = [], object, result = [], restarts = false } = await run();
      if (restarts) await link.restart();
      if (object !== undefined)
        this.#publish(`inventory/managedObjects/update/${state.serial}`, JSON.stringify(object));
      this.#publish('s/us', [...rows, encodeRow(['503', fragment, ...result])].join('\n'));
      this.succeeded += 1;
    } catch (error) {
      if (error instanceof PartlyDone) for (const row of error.rows) if (isSendable(row)) link.publish('s/us', row);
      link.publish('s/us', encodeRow(['502', fragment, (error as Error).message.slice(0, REASON_LENGTH_MAX)]));
      this.failed += 1;
    }
  }

  /** @throws Error for a message that is too large: sent again after each reconnect, it would end each connection. */
  #publish(topic: string, payload: string): void {
    if (!isSendable(payload))
      throw new Error(`the result has ${Buffer.byteLength(payload)} bytes; one message takes ${MESSAGE_BYTES_MAX}`);
    this.#options.link.publish(topic, payload);
  }
}

const isSendable = (payload: string): boolean => Buffer.byteLength(payload) <= MESSAGE_BYTES_MAX;

function rowsOf(payload: string): string[][] {
  const reader = new CsvRows(Buffer.from(payload));
  const rows: string[][] = [];
  while (reader.next()) rows.push(Array.from({ length: reader.count }, (_, index) => reader.field(index)));
  return rows;
}
