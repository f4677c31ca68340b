/**
 * The longest payload that is configured holds over TCP and over WebSocket, and what is longer is named and counted.
 */
import { once } from 'node:events';
import t from 'tap';
import WebSocket from 'ws';
import { brokerUrl, connectDevice } from '../../helpers/running/mqtt.ts';
import type { Transport } from '../../helpers/running/mqtt.ts';
import { eventually, startServer } from '../../helpers/running/server.ts';

const KIB = 1_024;
const server = await startServer(t, { flags: ['--mqtt-payload-max-bytes', '1MiB'] });

/** Measurements in one JSON text of so many KiB, the last one with the value. */
function bulk(kibibytes: number, value: number): string {
  const element = (number: number): string =>
    JSON.stringify({ type: 'large', time: '2024-05-02T10:00:00.000Z', f: { s: { value: number } } });
  const filler = Array.from({ length: Math.floor((kibibytes * KIB) / (element(0).length + 1)) - 1 }, () => element(0));
  return `{"measurements":[${[...filler, element(value)].join()}]}`;
}

async function refusals(limit: string): Promise<number> {
  const text = await server.metricsText();
  const line = text.split('\n').find((one) => one.startsWith('millrace_refusals_total') && one.includes(`"${limit}"`));
  return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(' ') + 1));
}

const transports: readonly Transport[] = ['tcp', 'ws'];
for (const transport of transports) {
  t.test(`over ${transport}: what the limit allows is stored, what it does not is refused with its name`, async (t) => {
    const serial = `large-${transport}`;
    const device = await connectDevice(t, server, serial, { transport, protocolVersion: 5 });
    for (const kibibytes of [300, 900])
      await device.publish('measurement/measurements/createBulk', bulk(kibibytes, kibibytes));
    const id = await server.rest.idOf(serial);
    for (const kibibytes of [300, 900]) {
      const { measurements } = await server.rest.read(
        `/measurement/measurements?source=${id}&pageSize=1&valueFragmentType=f&revert=true`,
      );
      t.equal(measurements.length, 1, `${kibibytes} KiB`);
    }
    const before = (await refusals('mqtt/payload-bytes')) + (await refusals('mqtt/packet-bytes'));
    const reason = new Promise<any>((resolve) => device.client.once('disconnect', resolve));
    device.client.publish(
      'measurement/measurements/createBulk',
      'x'.repeat(KIB * KIB + 1_000),
      { qos: 1 },
      () => undefined,
    );
    t.match(await reason, { reasonCode: 0x95, properties: { reasonString: /\(mqtt\/(payload|packet)-bytes\)/ } });
    t.equal((await refusals('mqtt/payload-bytes')) + (await refusals('mqtt/packet-bytes')), before + 1);
  });
}

t.test('a WebSocket message beyond all limits ends the connection and is counted', async (t) => {
  // npm mqtt sends a packet in several messages: its header would be refused before.
  const socket = new WebSocket(brokerUrl(server, 'ws'), 'mqtt');
  t.teardown(() => socket.terminate());
  await once(socket, 'open');
  const closed = once(socket, 'close');
  socket.send(Buffer.alloc(3 * KIB * KIB));
  const [code] = (await closed) as number[];
  t.ok([1006, 1009].includes(code), `${code}: the engine on node:http says that it was too big`);
  await eventually('the refusal is counted', async () => (await refusals('mqtt/frame-bytes')) === 1);
});
