/** npm `mqtt` as a device of the running server: connects, publishes, and remembers what comes down by topic. */
import mqtt from 'mqtt';
import type { IClientOptions, MqttClient } from 'mqtt';
import { PATIENCE } from '../until.ts';
import { PASSWORD, TENANT, eventually } from './server.ts';
import type { RunningServer, Teardown } from './server.ts';

export type Transport = 'tcp' | 'ws' | 'tls';

export interface DeviceOptions extends IClientOptions {
  readonly transport?: Transport;
}

export function brokerUrl(server: RunningServer, transport: Transport = 'tcp'): string {
  switch (transport) {
    case 'tcp':
      return `mqtt://127.0.0.1:${server.mqttPort}`;
    case 'ws':
      return `ws://127.0.0.1:${server.httpPort}/mqtt`;
    case 'tls':
      return `mqtts://127.0.0.1:${server.mqttTlsPort}`;
  }
}

/** A connected device. */
export class Device {
  readonly client: MqttClient;
  readonly sessionPresent: boolean;
  /** Everything received, `<topic> <payload>`. */
  readonly received: string[] = [];
  /** Publishes under way. */
  readonly #publishing = new Set<(error: Error) => void>();

  constructor(client: MqttClient, sessionPresent: boolean) {
    this.client = client;
    this.sessionPresent = sessionPresent;
    client.on('message', (topic, payload) => this.received.push(`${topic} ${payload.toString()}`));
    client.on('close', () => {
      for (const reject of this.#publishing) reject(new Error('the connection was closed'));
    });
  }

  /** Rejects when the connection closes before it is acknowledged. */
  async publish(topic: string, payload: string, qos: 0 | 1 | 2 = 1): Promise<void> {
    let onClosed: (error: Error) => void = () => undefined;
    const closed = new Promise<never>((_resolve, reject) => {
      onClosed = reject;
    });
    this.#publishing.add(onClosed);
    try {
      await Promise.race([this.client.publishAsync(topic, payload, { qos }), closed]);
    } finally {
      this.#publishing.delete(onClosed);
    }
  }

  /** Subscribes to topics that have to be granted. */
  async subscribe(...topics: string[]): Promise<void> {
    for (const grant of await this.client.subscribeAsync(topics, { qos: 1 }))
      if (grant.qos > 2) throw new Error(`${grant.topic} was refused`);
  }

  /** The rows of a topic, several of one message one by one. */
  rows(topic: string): string[] {
    return this.received
      .filter((message) => message.startsWith(`${topic} `))
      .flatMap((message) => message.slice(topic.length + 1).split('\n'));
  }

  /** Waits for a row. */
  row(topic: string, wanted: string | RegExp, timeoutMs?: number): Promise<string> {
    return eventually(
      `${String(wanted)} on ${topic}`,
      () => {
        const found = this.rows(topic).find((row) => (typeof wanted === 'string' ? row === wanted : wanted.test(row)));
        if (found === undefined) throw new Error(`received ${JSON.stringify(this.received)}`);
        return found;
      },
      timeoutMs,
    );
  }

  end(): Promise<void> {
    return this.client.endAsync();
  }
}

/** Connects; rejects with what the CONNACK says. */
export async function connectDevice(
  t: Teardown,
  server: RunningServer,
  clientId: string,
  options: DeviceOptions = {},
): Promise<Device> {
  const { transport, ...settings } = options;
  const client = mqtt.connect(brokerUrl(server, transport), {
    clientId,
    username: `${TENANT}/admin`,
    password: PASSWORD,
    reconnectPeriod: 0,
    connectTimeout: 5_000 * PATIENCE,
    protocolVersion: 4,
    ...settings,
  });
  t.teardown(() => client.endAsync(true));
  const early: [string, Buffer][] = [];
  const keep = (topic: string, payload: Buffer): void => {
    early.push([topic, payload]);
  };
  client.on('message', keep);
  const sessionPresent = await new Promise<boolean>((resolve, reject) => {
    client.once('connect', (connack) => resolve(connack.sessionPresent));
    client.once('error', reject);
    client.once('close', () => reject(new Error('closed')));
  });
  client.on('error', () => undefined);
  client.off('message', keep);
  const device = new Device(client, sessionPresent);
  for (const [topic, payload] of early) device.received.push(`${topic} ${payload.toString()}`);
  return device;
}
