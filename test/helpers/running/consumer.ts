/** A consumer of Notifications 2.0 as public clients have it: a WebSocket whose frames are taken apart by their lines. */
import { WebSocket } from 'ws';
import type { Rest, RunningServer } from './server.ts';
import { eventually } from './server.ts';

const CONFLICT = 409;
const CLOSE_POLICY = 1008;

/** A frame, by its lines. */
export interface Frame {
  readonly id: string;
  readonly channel: string;
  readonly action: string;
  readonly body: any;
  readonly text: string;
}

export function frameOf(text: string): Frame {
  const lines = text.split('\n');
  if (lines.length !== 5 || lines[3] !== '') throw new Error(`not a frame: ${text}`);
  return { id: lines[0], channel: lines[1], action: lines[2], body: JSON.parse(lines[4]), text };
}

export interface TokenRequest {
  readonly subscription: string;
  readonly subscriber: string;
  readonly nonPersistent?: boolean;
  readonly shared?: boolean;
  readonly expiresInMinutes?: number;
}

export async function tokenOf(rest: Rest, request: TokenRequest): Promise<string> {
  const reply = await rest.post('/notification2/token', request);
  if (reply.status !== 200) throw new Error(`POST /notification2/token: ${reply.status} ${reply.text}`);
  return reply.json.token as string;
}

export class NotificationConsumer {
  readonly frames: Frame[] = [];
  /** Code of the end of the connection. */
  closed: { readonly code: number; readonly reason: string } | undefined;
  readonly socket: WebSocket;
  isAcknowledging: boolean;

  constructor(socket: WebSocket, isAcknowledging: boolean) {
    this.socket = socket;
    this.isAcknowledging = isAcknowledging;
    socket.on('message', (data) => {
      const frame = frameOf((data as Buffer).toString());
      this.frames.push(frame);
      if (this.isAcknowledging) socket.send(frame.id);
    });
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
    socket.on('error', () => undefined);
  }

  /** Resolves when so many frames have come. */
  async has(count: number): Promise<readonly Frame[]> {
    await eventually(`${count} frames`, () => this.frames.length >= count || undefined);
    return this.frames;
  }

  acknowledge(frame: Frame): void {
    this.socket.send(frame.id);
  }

  async close(): Promise<void> {
    this.socket.close();
    await eventually('the end of a connection', () => this.closed);
  }
}

/** @returns the consumer, or the status with which the server refuses it. */
export function connect(
  url: string,
  token: string,
  options: { readonly query?: string; readonly isAcknowledging?: boolean; readonly path?: string } = {},
): Promise<NotificationConsumer | number> {
  const { query = '', isAcknowledging = true, path = '/notification2/consumer/' } = options;
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}?token=${token}${query}`);
  const consumer = new NotificationConsumer(socket, isAcknowledging);
  return new Promise((resolve, reject) => {
    socket.on('open', () => resolve(consumer));
    socket.on('unexpected-response', (request, response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
    socket.on('error', reject);
  });
}

const connectedCount = async (server: RunningServer): Promise<number> =>
  Number(/^millrace_notifications_connected_total (\d+)$/m.exec(await server.metricsText())?.[1] ?? 0);

/**
 * Resolves when the subscriber has its backlog, in a cluster too. There another node may not know yet that a former
 * connection has ended: then it is tried again.
 */
export async function consume(
  server: RunningServer,
  token: string,
  options: Parameters<typeof connect>[2] = {},
): Promise<NotificationConsumer> {
  return eventually('a connected consumer', async () => {
    const before = await connectedCount(server);
    const consumer = await connect(server.url, token, options);
    if (typeof consumer === 'number') {
      if (consumer === CONFLICT) return undefined;
      throw new Error(`the consumer was refused with ${consumer}`);
    }
    await eventually(
      'the backlog',
      async () => consumer.closed ?? ((await connectedCount(server)) > before || undefined),
    );
    return consumer.closed === undefined ? consumer : undefined;
  });
}

/** Resolves with 409 when the subscriber is connected already; in a cluster it is told once the socket is open. */
export async function refusalOf(server: RunningServer, token: string): Promise<number> {
  const consumer = await connect(server.url, token);
  if (typeof consumer === 'number') return consumer;
  const { code } = await eventually('the end of a connection', () => consumer.closed);
  return code === CLOSE_POLICY ? CONFLICT : code;
}
