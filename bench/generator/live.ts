/** Time from the publication of a measurement to its arrival at a WebSocket subscriber (Bayeux). */
import { WebSocket } from 'ws';
import type { LiveJob, ProbeResult } from './job.ts';
import { Histogram } from '../statistics.ts';
import { answer, sleep } from './channel.ts';
import { basicAuthorization } from './http-request.ts';
import { closeConnections, openConnections, type MqttConnection } from './mqtt-connection.ts';
import { publishPacket } from './mqtt-packets.ts';
import { RestClient, sourceOfSerial } from './rest.ts';

/** What is still on its way after the last publication. */
const LAST_WAIT_MS = 2_000;
/** Values are told apart from other numbers of the message by the fragment that only this probe uses. */
const SEQUENCE = /"c8y_BenchProbe":\{"n":\{[^}]*"value":(\d+)/g;

/** A Bayeux client with just the calls of this probe. */
class BayeuxSubscriber {
  onText: (text: string) => void = () => {};
  private readonly socket: WebSocket;
  private readonly authorization: string;
  private messageId = 0;
  private clientId = '';
  private waiting: { channel: string; resolve: (message: BayeuxMessage) => void } | undefined;

  constructor(host: string, port: number, authorization: string) {
    this.authorization = authorization;
    this.socket = new WebSocket(`ws://${host}:${port}/notification/realtime`, { headers: { authorization } });
    this.socket.on('message', (data) => this.received(data.toString()));
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => this.socket.once('open', resolve).once('error', reject));
    this.socket.on('error', (error) => process.stderr.write(`bench: subscriber: ${error.message}\n`));
    const token = this.authorization.slice('Basic '.length);
    const shaken = await this.call('/meta/handshake', {
      version: '1.0',
      minimumVersion: '1.0',
      supportedConnectionTypes: ['websocket'],
      ext: { 'com.cumulocity.authn': { token } },
    });
    this.clientId = shaken.clientId ?? '';
  }

  async subscribe(subscription: string): Promise<void> {
    await this.call('/meta/subscribe', { subscription });
    this.connect();
  }

  close(): void {
    this.socket.terminate();
  }

  private connect(): void {
    this.send('/meta/connect', { connectionType: 'websocket' });
  }

  private send(channel: string, fields: object): void {
    this.messageId++;
    const clientId = this.clientId === '' ? {} : { clientId: this.clientId };
    this.socket.send(JSON.stringify([{ id: String(this.messageId), channel, ...clientId, ...fields }]));
  }

  private async call(channel: string, fields: object): Promise<BayeuxMessage> {
    const answered = new Promise<BayeuxMessage>((resolve) => {
      this.waiting = { channel, resolve };
    });
    this.send(channel, fields);
    const message = await answered;
    if (message.successful !== true) throw new Error(`${channel}: ${JSON.stringify(message)}`);
    return message;
  }

  private received(text: string): void {
    this.onText(text);
    if (!text.includes('"/meta/')) return;
    for (const message of JSON.parse(text) as BayeuxMessage[]) {
      if (message.channel === '/meta/connect') this.connect();
      else if (this.waiting !== undefined && message.channel === this.waiting.channel) this.waiting.resolve(message);
    }
  }
}

interface BayeuxMessage {
  channel: string;
  successful?: boolean;
  clientId?: string;
}

export async function runLive(job: LiveJob): Promise<ProbeResult> {
  const httpTarget = { ...job.target, port: job.httpPort };
  const [device] = (await openConnections({
    target: job.target,
    count: 1,
    parallel: 1,
    clientPrefix: job.clientId,
  })) as [MqttConnection];
  device.socket.write(publishPacket('200,c8y_BenchProbe,n,0,', 1));
  const rest = new RestClient(httpTarget);
  const source = await sourceOfSerial(rest, `${job.clientId}0`);
  rest.close();
  const subscriber = new BayeuxSubscriber(job.target.host, job.httpPort, basicAuthorization(httpTarget));
  await subscriber.open();
  await subscriber.subscribe(`/measurements/${source}`);
  await sleep(200);
  answer({ kind: 'connected', count: 1 });

  const latency = new Histogram();
  const sentMs: number[] = [];
  subscriber.onText = (text) => {
    const nowMs = performance.now();
    for (const match of text.matchAll(SEQUENCE)) {
      const begun = sentMs[Number(match[1])];
      if (begun === undefined) continue;
      latency.add((nowMs - begun) * 1000);
      sentMs[Number(match[1])] = undefined as unknown as number;
    }
  };
  const stepMs = 1000 / job.ratePerSecond;
  const startMs = performance.now();
  for (let index = 1; performance.now() - startMs < job.measureMs; index++) {
    while (performance.now() < startMs + index * stepMs) await sleep(1);
    sentMs[index] = performance.now();
    device.socket.write(publishPacket(`200,c8y_BenchProbe,n,${index},`, (index % 65535) + 1));
  }
  const sent = sentMs.length - 1;
  for (let waitedMs = 0; latency.count < sent && waitedMs < LAST_WAIT_MS; waitedMs += 10) await sleep(10);
  subscriber.close();
  await closeConnections([device]);
  return { sent, lost: sent - latency.count, latency: latency.summary() };
}
