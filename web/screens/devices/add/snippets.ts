/** Commands and programs that send the first measurement of a device, complete with its credentials. */
import { shellWord } from '../../../parts/copy.tsx';

export interface DeviceAccess {
  /** Without port. */
  readonly host: string;
  readonly mqttPort: number;
  /** Ports with TLS, where the server has both. */
  readonly tls?: { readonly mqttPort: number; readonly httpsPort: number };
  /** URL of the API. */
  readonly url: string;
  readonly tenant: string;
  /** The id that the device calls itself: MQTT's client id. */
  readonly clientId: string;
  readonly password: string;
  /** Id of its managed object. */
  readonly source: string;
}

export const SNIPPETS = ['mosquitto', 'curl', 'python', 'node', 'c', 'thin-edge'] as const;
export type Snippet = (typeof SNIPPETS)[number];

/** Whether it can reach the server: thin-edge takes no port without TLS. */
export const canReach = (kind: Snippet, { tls }: DeviceAccess): boolean => kind !== 'thin-edge' || tls !== undefined;

export interface SnippetText {
  /** A command to run before, once. */
  readonly install: string;
  readonly text: string;
}

/** The name that the device logs in with. */
export const deviceUser = ({ tenant, clientId }: Pick<DeviceAccess, 'tenant' | 'clientId'>): string =>
  `${tenant}/device_${clientId}`;

const ROW = '200,c8y_Water,T,61.5,C';

function mosquitto(access: DeviceAccess): SnippetText {
  const { host, mqttPort, clientId, password } = access;
  const text = [
    `mosquitto_pub -h ${shellWord(host)} -p ${mqttPort} -i ${shellWord(clientId)} -q 1`,
    `-u ${shellWord(deviceUser(access))} -P ${shellWord(password)}`,
    `-t s/us -m ${shellWord(ROW)}`,
  ].join(' \\\n  ');
  return { install: 'apt-get install mosquitto-clients', text };
}

function curl(access: DeviceAccess): SnippetText {
  const body = `{"source":{"id":"${access.source}"},"type":"c8y_Water","time":"'"$(date -u +%Y-%m-%dT%H:%M:%SZ)"'","c8y_Water":{"T":{"value":61.5,"unit":"C"}}}`;
  const text = [
    `curl -u ${shellWord(`${deviceUser(access)}:${access.password}`)} ${shellWord(`${access.url}/measurement/measurements`)}`,
    "-H 'Content-Type: application/json' -H 'Accept: application/json'",
    `-d '${body}'`,
  ].join(' \\\n  ');
  return { install: 'apt-get install curl', text };
}

function python(access: DeviceAccess): SnippetText {
  const [host, id, user, password] = [access.host, access.clientId, deviceUser(access), access.password].map((value) =>
    JSON.stringify(value),
  );
  return {
    install: 'pip install paho-mqtt',
    text: `import paho.mqtt.publish as publish

auth = {"username": ${user}, "password": ${password}}
publish.single("s/us", "${ROW}", qos=1, hostname=${host}, port=${access.mqttPort}, client_id=${id}, auth=auth)
`,
  };
}

function node(access: DeviceAccess): SnippetText {
  const { host, mqttPort, clientId, password } = access;
  const options = JSON.stringify({ clientId, username: deviceUser(access), password });
  return {
    install: 'npm install mqtt',
    text: `import mqtt from 'mqtt';

const client = await mqtt.connectAsync('mqtt://${host}:${mqttPort}', ${options});
await client.publishAsync('s/us', '${ROW}', { qos: 1 });
await client.endAsync();
`,
  };
}

function c(access: DeviceAccess): SnippetText {
  const [host, id, user, password, row] = [access.host, access.clientId, deviceUser(access), access.password, ROW].map(
    (value) => JSON.stringify(value),
  );
  return {
    install: 'apt-get install libmosquitto-dev; gcc device.c -lmosquitto',
    text: `#include <mosquitto.h>
#include <stdlib.h>
#include <string.h>

static void published(struct mosquitto *client, void *data, int id) { mosquitto_disconnect(client); }

int main(void) {
  const char *row = ${row};
  mosquitto_lib_init();
  struct mosquitto *client = mosquitto_new(${id}, true, NULL);
  mosquitto_username_pw_set(client, ${user}, ${password});
  mosquitto_publish_callback_set(client, published);
  if (mosquitto_connect(client, ${host}, ${access.mqttPort}, 60) != MOSQ_ERR_SUCCESS) return EXIT_FAILURE;
  mosquitto_publish(client, NULL, "s/us", (int)strlen(row), row, 1, false);
  return mosquitto_loop_forever(client, -1, 1) == MOSQ_ERR_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}
`,
  };
}

function thinEdge(access: DeviceAccess): SnippetText {
  const { host, tls } = access;
  if (tls === undefined) throw new Error('thin-edge needs the ports with TLS');
  return {
    install: 'curl -fsSL https://thin-edge.io/install.sh | sh -s',
    text: `sudo tedge config set c8y.url ${shellWord(host)}
sudo tedge config set c8y.mqtt ${shellWord(`${host}:${tls.mqttPort}`)}
sudo tedge config set c8y.http ${shellWord(`${host}:${tls.httpsPort}`)}
sudo tedge config set c8y.auth_method basic
sudo tedge config set device.id ${shellWord(access.clientId)}
printf '[c8y]\\nusername = "%s"\\npassword = "%s"\\n' ${shellWord(deviceUser(access))} ${shellWord(access.password)} | sudo tee /etc/tedge/credentials.toml
sudo tedge connect c8y
tedge mqtt pub te/device/main///m/ '{"temperature": 61.5}'
`,
  };
}

const MAKERS: Readonly<Record<Snippet, (access: DeviceAccess) => SnippetText>> = {
  mosquitto,
  curl,
  python,
  node,
  c,
  'thin-edge': thinEdge,
};

export const snippetOf = (kind: Snippet, access: DeviceAccess): SnippetText => MAKERS[kind](access);
