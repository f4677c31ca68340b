/**
 * Notifications 2.0: numbered measurements of devices through persistent topics to their consumers, which acknowledge
 * each frame. `drains`: the consumers come when everything is published.
 */
import type { TopicsJob, TopicsResult } from './job.ts';
import { Histogram } from '../statistics.ts';
import { answer, sleep } from './channel.ts';
import { closeConnections, openConnections } from './mqtt-connection.ts';
import { publishPacket } from './mqtt-packets.ts';
import { RestClient, sourceOfSerial } from './rest.ts';
import { TopicConsumer } from './topic-consumer.ts';

const PARALLEL = 50;
/** What the server may take longer than the rate asks for. */
const PUBLISH_WAIT_MS = 120_000;
/** What is still on its way after the last publication, or waits in topics. */
const LAST_WAIT_MS = 60_000;
const TRIES = 40;
const PACKET_IDS = 65_535;
/** Bytes of a PUBACK. */
const PUBACK_BYTES = 4;
/** Messages that a device sends at once. */
const BURST = 4;
/** Messages without a PUBACK; beyond them the generator waits. */
const UNACKNOWLEDGED_MAX = 20_000;

export async function runTopics(job: TopicsJob): Promise<TopicsResult> {
  const { target, devices: count, topics } = job;
  const devices = await openConnections({ target, count, parallel: PARALLEL, clientPrefix: job.clientPrefix });
  let acknowledged = 0;
  for (const device of devices) {
    device.onBytes = (_connection, _bytes, length) => {
      acknowledged += length / PUBACK_BYTES;
    };
    device.socket.write(publishPacket('200,c8y_BenchOther,n,0,', 1));
  }
  const tokens = await subscribe(job);
  const latency = new Histogram();
  const messagesOf = (ms: number): number => Math.round((job.ratePerSecond * ms) / 1_000);
  const warmUpMessages = messagesOf(job.warmUpMs);
  const messages = job.messages ?? messagesOf(job.warmUpMs + job.measureMs);
  const sentMs: number[] = [];
  let received = 0;
  let again = 0;
  const take = (index: number): void => {
    const begun = sentMs[index];
    if (begun === undefined) return;
    if (begun === 0) {
      again += 1;
      return;
    }
    received += 1;
    if (index > warmUpMessages) latency.add((performance.now() - begun) * 1_000);
    sentMs[index] = 0;
  };
  const open = (): Promise<TopicConsumer[]> =>
    Promise.all(tokens.map((token) => TopicConsumer.open(target, job.httpPort, token, take)));
  const close = async (consumers: readonly TopicConsumer[]): Promise<void> => {
    for (const consumer of consumers) consumer.close();
    await sleep(500);
  };
  // The first connection begins the backlog.
  let consumers = await open();
  await sleep(500);
  if (job.drains) await close(consumers);
  answer({ kind: 'connected', count: topics });

  acknowledged = 0;
  const startMs = performance.now();
  const publishUntil = startMs + (messages * 1_000) / job.ratePerSecond + PUBLISH_WAIT_MS;
  const publishWait = async (): Promise<void> => {
    if (performance.now() > publishUntil) throw new Error(`${acknowledged} of ${messages} were acknowledged in time`);
    await sleep(1);
  };
  for (let index = 1; index <= messages; ) {
    while (
      performance.now() - startMs < (index * 1_000) / job.ratePerSecond ||
      index - acknowledged > UNACKNOWLEDGED_MAX
    )
      await publishWait();
    const device = devices[Math.floor(index / BURST) % count]!;
    const packets: Buffer[] = [];
    for (const end = Math.min(index + BURST, messages + 1); index < end; index += 1) {
      device.packetId = (device.packetId % PACKET_IDS) + 1;
      sentMs[index] = performance.now();
      packets.push(publishPacket(`200,c8y_BenchTopic,n,${index},`, device.packetId));
    }
    device.socket.write(Buffer.concat(packets));
  }
  const publishedMs = performance.now() - startMs;
  let drainedFrom = startMs;
  if (job.drains) {
    while (acknowledged < messages) await publishWait();
    drainedFrom = performance.now();
    consumers = await open();
  }
  const waitUntil = performance.now() + LAST_WAIT_MS;
  while (received < messages && performance.now() < waitUntil) await sleep(1);
  const receivedMs = performance.now() - drainedFrom;
  await close(consumers);
  await closeConnections(devices);
  return {
    sent: messages,
    received,
    again,
    publishedPerSecond: (messages * 1_000) / publishedMs,
    receivedPerSecond: (received * 1_000) / receivedMs,
    latency: latency.summary(),
  };
}

/** One subscription for each device, one token for each topic. */
async function subscribe(job: TopicsJob): Promise<string[]> {
  const rest = new RestClient({ ...job.target, port: job.httpPort });
  for (let index = 0; index < job.devices; index += 1) {
    const id = await sourceOfSerial(rest, `${job.clientPrefix}${index}`);
    const subscription = `${job.name}${index % job.topics}`;
    const filter = { apis: ['measurements'], typeFilter: 'c8y_BenchTopic' };
    const body = { context: 'mo', source: { id }, subscription, subscriptionFilter: filter };
    let made = await rest.post('/notification2/subscriptions', body);
    // The external ID is there a moment before the object.
    for (let tries = 0; made.status === 404 && tries < TRIES; tries += 1) {
      await sleep(50);
      made = await rest.post('/notification2/subscriptions', body);
    }
    if (made.status !== 201) throw new Error(`POST subscriptions: ${made.status} ${made.body}`);
  }
  const tokens: string[] = [];
  for (let topic = 0; topic < job.topics; topic += 1) {
    const body = { subscription: `${job.name}${topic}`, subscriber: 'bench' };
    const made = await rest.post('/notification2/token', body);
    tokens.push((JSON.parse(made.body) as { token: string }).token);
  }
  rest.close();
  return tokens;
}
