/** What simulated agents tell of their operations, whatever happens to their connections. */
import { createServer } from 'node:net';
import { generate, parser as createParser } from 'mqtt-packet';
import t from 'tap';
import { AgentFleet } from '../../src/cli/simulate/agent-fleet.ts';
import { Agent } from '../../src/cli/simulate/agents/agent.ts';
import { AgentState } from '../../src/cli/simulate/agents/state.ts';
import { until } from '../helpers/until.ts';

/** An agent without a connection, whose downloads fail. */
function agentOf(): { readonly agent: Agent; readonly sent: string[]; readonly serial: string } {
  const sent: string[] = [];
  const state = new AgentState(0, 1, 0);
  const agent = new Agent({
    state,
    files: {
      uploadEvent: async () => '',
      uploadDump: async () => undefined,
      download: async (url) => {
        throw new Error(`${url} is not there`);
      },
    },
    openTunnel: async () => undefined,
    now: () => 0,
    workMs: 0,
    link: { publish: (_topic, payload) => sent.push(payload), restart: async () => undefined },
  });
  return { agent, sent, serial: state.serial };
}

const ended = (sent: readonly string[], count = 1): Promise<void> =>
  until(`${count} ends`, () => sent.filter((row) => /^50[23],|\n503,/.test(row)).length === count);

t.test('what waited when the connection broke is carried out once', async (t) => {
  const { agent, sent, serial } = agentOf();
  for (const word of ['one', 'two']) agent.received('s/ds', `511,${serial},echo ${word}`);
  agent.reconnected();
  agent.received('s/ds', `511,${serial},echo two`);
  await ended(sent, 2);
  t.same(sent, ['501,c8y_Command', '503,c8y_Command,one', '501,c8y_Command', '503,c8y_Command,two']);
});

t.test('a result that no message takes is a failure', async (t) => {
  const { agent, sent, serial } = agentOf();
  agent.received('s/ds', `511,${serial},echo ${'x'.repeat(20_000)}`);
  await ended(sent);
  t.match(sent[1], /^502,c8y_Command,the result has 20016 bytes; one message takes 16000$/);
});

t.test('a profile that fails reports what it has changed', async (t) => {
  const { agent, sent, serial } = agentOf();
  agent.received('s/ds', `527,${serial},$FW,os,2,,$SW,vim,9,,install,$CONF,u,net.conf`);
  await ended(sent);
  t.match(sent, [/^501/, '115,os,2,', /^140,.*vim/, '502,c8y_DeviceProfile,u is not there']);
});

t.test("the operation of a child is not its parent's", async (t) => {
  const { agent, sent, serial } = agentOf();
  for (const externalId of ['a-child', serial])
    agent.received(
      'devicecontrol/notifications',
      JSON.stringify({ externalSource: { externalId, type: 'c8y_Serial' }, c8y_SendConfiguration: {} }),
    );
  await ended(sent);
  t.same(
    sent.filter((row) => row.startsWith('501')),
    ['501,c8y_SendConfiguration'],
  );
});

t.test('a new agent says once what it is, and then that it is there', async (t) => {
  const received: string[] = [];
  const broker = createServer((socket) => {
    const parser = createParser();
    parser.on('packet', (packet) => {
      if (packet.cmd === 'connect') socket.write(generate({ cmd: 'connack', returnCode: 0, sessionPresent: false }));
      if (packet.cmd === 'publish') received.push(packet.payload.toString().slice(0, 3));
    });
    socket.on('data', (chunk) => parser.parse(chunk));
    socket.on('error', () => socket.destroy());
  });
  await new Promise<void>((done) => {
    broker.listen(0, '127.0.0.1', done);
  });
  const { port } = broker.address() as { port: number };
  const login = { tenant: 't', user: 'u', password: 'p' };
  const fleet = new AgentFleet({
    agents: 1,
    url: 'http://127.0.0.1',
    host: '127.0.0.1',
    mqttPort: port,
    ...login,
    seed: 1,
    heartbeatMs: 1,
  });
  fleet.start();
  await until('heartbeats', () => received.includes('125'));
  t.same(received.slice(0, 2), ['100', '125']);
  fleet.end();
  await new Promise<unknown>((done) => {
    broker.close(done);
  });
});
