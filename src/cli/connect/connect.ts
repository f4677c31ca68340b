/**
 * `millrace connect`: a port of a device, by remote access (docs/spec/remote-access.md), as standard input and output
 * for `ssh -o ProxyCommand`, or as a port of this machine.
 */
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { WebSocket } from 'ws';
import { CommandError, EXIT_FAILED, EXIT_OK } from '../../operate/exit-codes.ts';
import { RemoteApi } from '../remote/client.ts';
import { objectIdOf } from '../remote/object-id.ts';
import { printJson, say } from '../remote/output.ts';
import { joinStreams } from '../remote/tunnel-stream.ts';
import type { ConnectOptions } from './settings.ts';

const LOCAL_HOST = '127.0.0.1';
/** Connections to the local port at once. */
const CONNECTIONS_MAX = 32;
const NORMAL = 1000;
/** Of an answer that refuses. */
const REFUSAL_LENGTH_MAX = 1_000;

/** The path of the tunnel's client. */
interface Way {
  readonly device: string;
  readonly path: string;
}

/** Runs until one end closes; with `--listen` until SIGINT or SIGTERM. */
export async function connect(options: ConnectOptions, device: string): Promise<number> {
  const api = await RemoteApi.connect(options);
  const way: Way = { device, path: await pathOf(api, await objectIdOf(api, device), options) };
  if (options.listen !== undefined) return listen(options, way, options.listen);
  const end = await tunnel(api, way, process.stdin, process.stdout);
  // Nothing more is read, and a terminal would keep the process.
  process.stdin.destroy();
  if (end.code === NORMAL) return EXIT_OK;
  say(`${device} by remote access: ${end.reason || `closed with code ${end.code}`}`);
  return EXIT_FAILED;
}

/** The configuration with this address, which is created where there is none. */
async function pathOf(api: RemoteApi, id: string, { host, port }: ConnectOptions): Promise<string> {
  const path = `/service/remoteaccess/devices/${id}/configurations`;
  const all = (await api.request('GET', path)) as { id: string; hostname: string; port: number }[];
  const found = all.find((one) => one.hostname === host && one.port === port);
  const { id: configuration } =
    found ??
    (await api.request('POST', path, { name: `${host}:${port}`, hostname: host, port, protocol: 'PASSTHROUGH' }));
  return `/service/remoteaccess/client/${id}/configurations/${configuration}`;
}

/** @throws CommandError when the server refuses the tunnel. */
async function tunnel(
  api: RemoteApi,
  { path, device }: Way,
  input: Readable,
  output: Writable,
): Promise<{ readonly code: number; readonly reason: string }> {
  const socket = new WebSocket(api.url.replace(/^http/, 'ws') + path, ['binary'], {
    headers: { authorization: api.authorization },
    perMessageDeflate: false,
  });
  return new Promise((resolve, reject) => {
    // At once: the first bytes of the device may come with the answer.
    socket.on('open', () => joinStreams(socket, input, output).then(resolve, reject));
    socket.on('error', (error) => reject(new CommandError(`${device} by remote access: ${error.message}`)));
    socket.on('unexpected-response', (_request, response) => {
      textOf(response).then((text) => {
        socket.terminate();
        reject(new CommandError(`${device} by remote access: ${response.statusCode} ${text}`));
      }, reject);
    });
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response) if (text.length < REFUSAL_LENGTH_MAX) text += String(chunk);
  try {
    return (JSON.parse(text) as { message: string }).message;
  } catch {
    return text; /* a proxy answers in its own words */
  }
}

async function listen(options: ConnectOptions, way: Way, port: number): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (local) => {
    open.add(local);
    local.on('close', () => open.delete(local)).on('error', () => local.destroy());
    // A token of the control socket ends after a while: each connection gets its own.
    RemoteApi.connect(options)
      .then((api) => tunnel(api, way, local, local))
      .then(
        ({ code, reason }) => {
          if (code !== NORMAL) say(`${way.device} by remote access: ${reason || `closed with code ${code}`}`);
        },
        (error: Error) => say(error.message),
      )
      .finally(() => local.destroy());
  });
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.on('error', (error) => reject(new CommandError(`cannot listen on ${LOCAL_HOST}:${port}: ${error.message}`)));
    server.listen(port, LOCAL_HOST, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  if (options.json) printJson({ host: LOCAL_HOST, port: bound });
  else process.stdout.write(`${LOCAL_HOST}:${bound}\n`);
  say(`${options.host}:${options.port} of ${way.device} is at ${LOCAL_HOST}:${bound}; Ctrl-C ends`);
  await new Promise<void>((resolve) => {
    process.on('SIGINT', resolve).on('SIGTERM', resolve);
  });
  server.close();
  for (const local of open) local.destroy();
  return EXIT_OK;
}
