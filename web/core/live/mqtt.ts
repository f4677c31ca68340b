/** As much of MQTT 3.1.1 over WebSocket as a page needs to play a device: CONNECT, PUBLISH with QoS 1, DISCONNECT. */

const CONNECT = 0x10;
const CONNACK = 0x20;
const PUBLISH_QOS1 = 0x32;
const PUBACK = 0x40;
const DISCONNECT = 0xe0;
/** User name, password, clean session. */
const FLAGS = 0xc2;
const KEEP_ALIVE_SECONDS = 60;
const ANSWER_MS = 10_000;

const encoder = new TextEncoder();

function field(text: string): number[] {
  const bytes = encoder.encode(text);
  return [bytes.length >> 8, bytes.length & 0xff, ...bytes];
}

/** A packet with its length in groups of seven bits. */
function packet(type: number, body: readonly number[]): Uint8Array<ArrayBuffer> {
  const length: number[] = [];
  let rest = body.length;
  do {
    length.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    rest >>= 7;
  } while (rest > 0);
  return new Uint8Array([type, ...length, ...body]);
}

export interface DeviceLogin {
  readonly clientId: string;
  readonly user: string;
  readonly password: string;
}

export const connectPacket = ({ clientId, user, password }: DeviceLogin): Uint8Array<ArrayBuffer> =>
  packet(CONNECT, [
    ...field('MQTT'),
    4,
    FLAGS,
    KEEP_ALIVE_SECONDS >> 8,
    KEEP_ALIVE_SECONDS & 0xff,
    ...[clientId, user, password].flatMap(field),
  ]);

export const publishPacket = (topic: string, text: string, id: number): Uint8Array<ArrayBuffer> =>
  packet(PUBLISH_QOS1, [...field(topic), id >> 8, id & 0xff, ...encoder.encode(text)]);

/** Logs in as the device, publishes the rows one after the other, each acknowledged, and leaves. @throws Error. */
export function publishAsDevice(url: string, login: DeviceLogin, rows: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, 'mqtt');
    socket.binaryType = 'arraybuffer';
    let sent = 0;
    const timer = setTimeout(() => fail('no answer'), ANSWER_MS);
    const fail = (reason: string): void => {
      clearTimeout(timer);
      socket.close();
      reject(new Error(`MQTT: ${reason}`));
    };
    const next = (): void => {
      if (sent < rows.length) {
        socket.send(publishPacket('s/us', rows[sent], sent + 1));
        sent += 1;
        return;
      }
      clearTimeout(timer);
      socket.send(packet(DISCONNECT, []));
      socket.close();
      resolve();
    };
    socket.onopen = () => socket.send(connectPacket(login));
    socket.onerror = () => fail('the connection failed');
    socket.onclose = () => fail('the server closed the connection');
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      // The server sends each packet as a frame of its own.
      const [type, , , code] = new Uint8Array(data);
      if (type === CONNACK && code !== 0) fail(`refused with ${code}`);
      else if (type === CONNACK || type === PUBACK) next();
    };
  });
}
