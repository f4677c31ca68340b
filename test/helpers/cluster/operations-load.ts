/**
 * Operations for the children of an agent, which the agent carries out over MQTT: the child's shard has the operation,
 * that of the agent hears of it, and each change goes from one to the other as a follow-up.
 */
import { delay } from '../process/server.ts';
import { RawMqtt } from '../process/mqtt.ts';
import { Ledger } from '../process/load.ts';
import type { LoadTarget, Sender } from '../process/load.ts';

const CHILDREN = 5;
const RETRY_MS = 20;

/** Nothing is sent twice: what has no answer has been done at most once. */
export class OperationsSender implements Sender {
  readonly name: string;
  readonly ledger = new Ledger();
  /** Numbers whose operation was made EXECUTING, and SUCCESSFUL afterwards, by acknowledged messages. */
  readonly begun = new Set<number>();
  readonly ended = new Set<number>();
  readonly otherAnswers = new Map<string, number>();
  agent = '';
  readonly children: string[] = [];
  readonly #server: LoadTarget;
  readonly #gapMs: number;
  #client: RawMqtt | undefined;
  #packetId = 0;
  #isStopped = false;

  constructor(server: LoadTarget, name: string, options: { gapMs?: number } = {}) {
    this.#server = server;
    this.name = name;
    this.#gapMs = options.gapMs ?? 0;
  }

  /** Before `run`, on a running server. */
  async open(): Promise<void> {
    this.agent = await this.#create('/inventory/managedObjects', {
      name: this.name,
      c8y_IsDevice: {},
      com_cumulocity_model_Agent: {},
    });
    await this.#create(`/identity/globalIds/${this.agent}/externalIds`, { type: 'c8y_Serial', externalId: this.name });
    for (let index = 0; index < CHILDREN; index += 1) {
      const child = await this.#server.createDevice(`${this.name}-child-${index}`);
      await this.#create(`/inventory/managedObjects/${this.agent}/childDevices`, { managedObject: { id: child } });
      this.children.push(child);
    }
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    while (!this.#isStopped && !this.#server.isDisposed) {
      const number = this.ledger.next();
      const body = { deviceId: this.children[number % CHILDREN], description: `operation ${number}`, c8y_Restart: {} };
      try {
        const answer = await this.#server.http('POST', '/devicecontrol/operations', body);
        if (answer.status === 201) {
          this.ledger.acknowledged.add(number);
          const { id } = answer.json<{ id: string }>();
          if (await this.#publish(`504,${id}`)) {
            this.begun.add(number);
            if (await this.#publish(`506,${id}`)) this.ended.add(number);
          }
        } else {
          const what = `${answer.status} ${answer.text}`;
          this.otherAnswers.set(what, (this.otherAnswers.get(what) ?? 0) + 1);
          await delay(RETRY_MS);
        }
      } catch {
        await delay(RETRY_MS);
      }
      await delay(this.#gapMs);
    }
    this.#client?.disconnect();
  }

  /** @returns false when the connection ended before the acknowledgement. */
  async #publish(row: string): Promise<boolean> {
    if (this.#client === undefined || this.#client.isClosed)
      this.#client = await RawMqtt.connect(this.#server.mqttPort, { clientId: this.name });
    const client = this.#client;
    this.#packetId = (this.#packetId % 60_000) + 1;
    return await new Promise((done) => {
      client.onPuback = () => done(true);
      client.onClose = () => done(false);
      if (client.isClosed) done(false);
      client.publish('s/us', row, 1, this.#packetId);
    });
  }

  async #create(path: string, body: object): Promise<string> {
    const answer = await this.#server.http('POST', path, body);
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`);
    return answer.json<{ id?: string }>().id ?? '';
  }
}
