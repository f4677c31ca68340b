/** Nobody reads that the server is ready before every other way in is open. */
import t from 'tap';
import { loadConfig } from '../../src/config/config.ts';
import { MqttServer } from '../../src/mqtt/server.ts';
import { ControlSocket } from '../../src/operate/control-socket.ts';
import { startServer } from '../../src/server/start.ts';
import { silentLog } from '../actors/platform.ts';
import { freePort } from '../helpers/free-port.ts';
import { scratchDirectory } from '../helpers/until.ts';

t.test('HTTP opens last', async (t) => {
  const httpPort = await freePort();
  const health = (): Promise<number | 'closed'> =>
    fetch(`http://127.0.0.1:${httpPort}/health/ready`).then(
      ({ status }) => status,
      () => 'closed',
    );
  const answers: [string, number | 'closed'][] = [];
  const { listen } = MqttServer.prototype;
  MqttServer.prototype.listen = async function listenAndLook(options) {
    const opened = await listen.call(this, options);
    answers.push(['MQTT', await health()]);
    return opened;
  };
  const { listen: listenForControl } = ControlSocket.prototype;
  ControlSocket.prototype.listen = async function listenAndLook() {
    await listenForControl.call(this);
    answers.push(['control', await health()]);
  };
  t.teardown(() => Object.assign(MqttServer.prototype, { listen }));
  t.teardown(() => Object.assign(ControlSocket.prototype, { listen: listenForControl }));
  const flags = { data: scratchDirectory(t), host: '127.0.0.1', 'http-port': String(httpPort), 'mqtt-port': '0' };
  const running = await startServer(loadConfig({ flags, environment: {} }).config, silentLog);
  t.teardown(() => running.stop());
  t.same(
    answers,
    [
      ['control', 'closed'],
      ['MQTT', 'closed'],
    ],
    'no answer while another door is being opened',
  );
  t.equal(await health(), 200);
});
