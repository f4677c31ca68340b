/** 5,000 MQTT connections at a time, each a new device that publishes one QoS 1 message. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import mqttPacket from 'mqtt-packet';
import t from 'tap';
import { PASSWORD, ServerProcess, USER } from '../helpers/process/server.ts';
import { until } from '../helpers/setup-command.ts';

const CONNECTIONS = 5_000;
/** Handshakes under way at once. */
const OPENING = 250;
const PUBACK_BYTE = 0x40;
const CONNACK_BYTE = 0x20;

t.test(`${CONNECTIONS} connections`, async (t) => {
  const server = await new ServerProcess(t).start();
  const idleBytes = server.rssBytes;
  const sockets: Socket[] = [];
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  let acknowledged = 0;
  let lost = 0;
  const startMs = Date.now();
  const open = (index: number): Promise<void> =>
    new Promise((done, fail) => {
      const socket = connect({ host: '127.0.0.1', port: server.mqttPort });
      sockets.push(socket);
      socket.write(
        mqttPacket.generate({
          cmd: 'connect',
          protocolId: 'MQTT',
          protocolVersion: 4,
          clean: true,
          clientId: `many-${index}`,
          keepalive: 0,
          username: USER,
          password: Buffer.from(PASSWORD),
        }),
      );
      socket.on('data', (chunk: Buffer) => {
        if (chunk[0] === CONNACK_BYTE && chunk[3] === 0) done();
        else if (chunk[0] === PUBACK_BYTE) acknowledged += 1;
        else fail(new Error(`connection ${index} got ${chunk.toString('hex')}`));
      });
      socket.on('error', fail);
      socket.on('close', () => {
        lost += 1;
        fail(new Error(`connection ${index} was closed`));
      });
    });
  for (let from = 0; from < CONNECTIONS; from += OPENING) {
    await Promise.all(Array.from({ length: Math.min(OPENING, CONNECTIONS - from) }, (_, index) => open(from + index)));
  }
  t.comment(
    `${CONNECTIONS} connections in ${Date.now() - startMs} ms; resident ${mib(idleBytes)} before, ${mib(server.rssBytes)} with all of them`,
  );
  t.equal(await server.metric('millrace_connections{protocol="mqtt"}'), CONNECTIONS, 'all are open at a time');
  const publishMs = Date.now();
  for (const [index, socket] of sockets.entries()) {
    socket.write(
      mqttPacket.generate({
        cmd: 'publish',
        topic: 's/us',
        payload: `200,fault,n,${index}`,
        qos: 1,
        messageId: 1,
        dup: false,
        retain: false,
      }),
    );
  }
  await until('every message is acknowledged', () => acknowledged >= CONNECTIONS, 60_000);
  t.comment(`all acknowledged in ${Date.now() - publishMs} ms; resident ${mib(server.rssBytes)}`);
  t.equal(acknowledged, CONNECTIONS, 'once each');
  t.equal(lost, 0, 'no connection was lost');
  const totals = async (path: string): Promise<number> => {
    const answer = await server.http('GET', `${path}pageSize=1&withTotalElements=true`);
    return answer.json<{ statistics: { totalElements: number } }>().statistics.totalElements;
  };
  t.equal(await totals('/measurement/measurements?'), CONNECTIONS, 'every message is stored');
  t.equal(await totals('/inventory/managedObjects?type=c8y_MQTTDevice&'), CONNECTIONS, 'every device exists once');
});

const mib = (bytes: number): string => `${(bytes / 1_048_576).toFixed(0)} MiB`;
