/** A port in front of several: who knows one server meets all nodes of a cluster. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** Passes each connection on to the next node that takes it. */
export class ConnectionProxy {
  port = 0;
  readonly #server = createServer({ noDelay: true }, (socket) => this.#accept(socket, this.#targets()));
  readonly #sockets = new Set<Socket>();
  readonly #ports: () => readonly number[];
  #turn = 0;

  /** @param ports where connections can go now. */
  constructor(ports: () => readonly number[]) {
    this.#ports = ports;
  }

  async listen(): Promise<this> {
    await new Promise<void>((done, fail) => {
      this.#server.once('error', fail).listen(0, '127.0.0.1', done);
    });
    this.port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  /** All of them, the one whose turn it is first. */
  #targets(): number[] {
    const ports = this.#ports();
    this.#turn += 1;
    return ports.map((_, index) => ports[(this.#turn + index) % ports.length]);
  }

  #accept(client: Socket, targets: readonly number[]): void {
    if (targets.length === 0 || client.destroyed) return void client.destroy();
    const upstream = connect({ port: targets[0], host: '127.0.0.1', noDelay: true });
    let isConnected = false;
    this.#sockets.add(client);
    const end = (): void => {
      this.#sockets.delete(client);
      client.destroy();
      upstream.destroy();
    };
    upstream.once('connect', () => {
      isConnected = true;
      client.pipe(upstream);
      upstream.pipe(client);
    });
    upstream.once('error', () => {
      if (isConnected) return end();
      client.removeAllListeners('error').removeAllListeners('close');
      this.#accept(client, targets.slice(1));
    });
    // What the node sent before it closed has still to be read.
    upstream.once('close', (hadError) => {
      if (isConnected && hadError) end();
    });
    client.once('error', end);
    client.once('close', (hadError) => {
      this.#sockets.delete(client);
      // As above: what the client sent before it closed has still to arrive.
      if (hadError || !isConnected) end();
    });
  }
}
