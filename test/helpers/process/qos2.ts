/** QoS 2 as a client must do it: exactly once over any number of connections. */
import { delay } from './server.ts';
import { Ledger } from './load.ts';
import type { LoadTarget } from './load.ts';
import { RawMqtt } from './mqtt.ts';

const PACKET_IDS = 7;

/** Sends one message after the other at QoS 2 until it has PUBCOMP, over as many connections as it takes. */
export class ExactlyOnceSender {
  readonly ledger = new Ledger();
  readonly problems: string[] = [];
  drops = 0;
  /** Connections that began with the session of an earlier one. */
  resumptions = 0;
  isStopped = false;
  readonly #server: LoadTarget;
  readonly #name: string;
  readonly #random: () => number;
  readonly #version: 4 | 5;
  #hadSession = false;

  constructor(server: LoadTarget, name: string, random: () => number, version: 4 | 5) {
    this.#server = server;
    this.#name = name;
    this.#random = random;
    this.#version = version;
  }

  async run(): Promise<void> {
    let client: RawMqtt | undefined;
    while (!this.isStopped && !this.#server.isDisposed) {
      const number = this.ledger.next();
      const packetId = (number % PACKET_IDS) + 1;
      // What a client keeps: PUBLISH until PUBREC, then PUBREL until PUBCOMP.
      let isReceived = false;
      let isComplete = false;
      for (let attempt = 0; !isComplete; attempt += 1) {
        client = client === undefined || client.isClosed ? await this.#connect() : client;
        const step = isReceived ? 'pubrel' : 'publish';
        const answered = this.#answer(client, packetId, step);
        if (isReceived) client.pubrel(packetId);
        else client.publish('s/us', `200,fault,n,${number}`, 2, packetId, attempt > 0);
        if (this.#random() < 0.1) {
          // Without waiting for the answer; sometimes it is on its way already.
          this.drops += 1;
          await delay(this.#random() * 6);
          client.drop();
        }
        if (!(await answered)) continue;
        if (isReceived) isComplete = true;
        isReceived = true;
        if (this.#random() < 0.1) {
          this.drops += 1;
          client.drop();
        }
      }
      this.ledger.acknowledged.add(number);
    }
    client?.drop();
  }

  /** @returns false when the connection ended before the answer. */
  #answer(client: RawMqtt, packetId: number, step: 'publish' | 'pubrel'): Promise<boolean> {
    return new Promise((done) => {
      if (client.isClosed) {
        done(false);
        return;
      }
      client.onClose = () => done(false);
      const onAnswer = (id: number): void => {
        if (id === packetId) done(true);
      };
      client.onPubrec = step === 'publish' ? onAnswer : undefined;
      client.onPubcomp = step === 'pubrel' ? onAnswer : undefined;
    });
  }

  async #connect(): Promise<RawMqtt> {
    for (;;) {
      if (this.#server.isDisposed) throw new Error('the test is over');
      try {
        const client = await RawMqtt.connect(this.#server.mqttPort, {
          clientId: this.#name,
          clean: false,
          version: this.#version,
        });
        if (this.#hadSession && !client.sessionPresent) this.problems.push(`${this.#name}: the session is gone`);
        if (client.sessionPresent) this.resumptions += 1;
        this.#hadSession = true;
        return client;
      } catch {
        await delay(20);
      }
    }
  }
}
