/** A live subscriber over a bare `ws`, for tests that look at the messages themselves. */
import { WebSocket } from 'ws';
import { PASSWORD, TENANT, eventually } from './server.ts';
import type { RunningServer, Teardown } from './server.ts';

/** Tests look into messages freely. */
export type Message = Record<string, any>;

export const TOKEN = Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64');

export class BayeuxSocket {
  readonly socket: WebSocket;
  /** What is no answer to a meta message. */
  readonly messages: Message[] = [];
  readonly answers: Message[] = [];
  clientId = '';
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => {
      for (const message of JSON.parse(String(data)) as Message[]) {
        if (!String(message['channel']).startsWith('/meta/')) this.messages.push(message);
        else {
          this.answers.push(message);
          if (message['channel'] === '/meta/connect' && message['successful'] === true)
            void this.send({ channel: '/meta/connect', connectionType: 'websocket' });
        }
      }
    });
  }

  /**
   * Connects with the credentials in the handshake's `ext`, or in a header with an empty token there, and holds a
   * connect open.
   */
  static async open(
    t: Teardown,
    server: RunningServer,
    path: string,
    token = TOKEN,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<BayeuxSocket> {
    const socket = new WebSocket(`ws://127.0.0.1:${server.httpPort}${path}`, { headers });
    t.teardown(() => socket.terminate());
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    const live = new BayeuxSocket(socket);
    const answer = await live.ask({
      channel: '/meta/handshake',
      version: '1.0',
      supportedConnectionTypes: ['websocket'],
      ext: { 'com.cumulocity.authn': { token } },
    });
    if (answer['successful'] !== true) throw new Error(JSON.stringify(answer));
    live.clientId = answer['clientId'] as string;
    live.send({ channel: '/meta/connect', connectionType: 'websocket' });
    return live;
  }

  send(message: Message): string {
    this.#lastId += 1;
    const id = String(this.#lastId);
    this.socket.send(
      JSON.stringify([{ id, ...(this.clientId === '' ? {} : { clientId: this.clientId }), ...message }]),
    );
    return id;
  }

  /** Sends a meta message and waits for its answer. */
  async ask(message: Message): Promise<Message> {
    const id = this.send(message);
    return eventually(`an answer to ${String(message['channel'])}`, () =>
      this.answers.find((answer) => answer['id'] === id),
    );
  }

  async subscribe(...channels: string[]): Promise<void> {
    for (const subscription of channels) {
      const answer = await this.ask({ channel: '/meta/subscribe', subscription });
      if (answer['successful'] !== true) throw new Error(JSON.stringify(answer));
    }
  }

  message(isWanted: (message: Message) => boolean): Promise<Message> {
    return eventually('a live message', () => {
      const found = this.messages.find(isWanted);
      if (!found) throw new Error(`received ${JSON.stringify(this.messages).slice(0, 2_000)}`);
      return found;
    });
  }
}
