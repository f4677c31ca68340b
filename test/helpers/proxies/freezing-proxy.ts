/** Passes connections on to a port, and can fall silent: as a network that drops every packet and tells nobody. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export class FreezingProxy {
  port = 0;
  readonly #target: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #server = createServer({ noDelay: true }, (client) => this.#accept(client));
  #isFrozen = false;

  constructor(target: number) {
    this.#target = target;
  }

  /** Ended with the test. */
  static async start(t: { teardown(action: () => unknown): void }, target: number): Promise<FreezingProxy> {
    const proxy = new FreezingProxy(target);
    await new Promise<void>((done, fail) => {
      proxy.#server.once('error', fail).listen(0, '127.0.0.1', done);
    });
    proxy.port = (proxy.#server.address() as AddressInfo).port;
    t.teardown(() => {
      for (const pair of proxy.#pairs) for (const socket of pair) socket.destroy();
      proxy.#server.close();
    });
    return proxy;
  }

  /** Connections stay open, new ones are taken, and nothing is passed on. */
  freeze(): void {
    this.#isFrozen = true;
    for (const [client, upstream] of this.#pairs) silence(client, upstream);
  }

  /** As `freeze`, but what the target sends still comes through. */
  mute(): void {
    for (const [client, upstream] of this.#pairs) client.unpipe(upstream).pause();
  }

  /** The connections break; what was held is lost. */
  cut(): void {
    for (const pair of [...this.#pairs]) for (const socket of pair) socket.destroy();
  }

  /** What was held is passed on, in order, as if it had been slow. */
  release(): void {
    this.#isFrozen = false;
    for (const [client, upstream] of this.#pairs) {
      client.pipe(upstream);
      upstream.pipe(client);
    }
  }

  /** Only for connections that are made from now on: those there were stay silent for ever. */
  thaw(): void {
    this.#isFrozen = false;
  }

  #accept(client: Socket): void {
    const upstream = connect({ port: this.#target, host: '127.0.0.1', noDelay: true });
    const pair = [client, upstream] as const;
    this.#pairs.add(pair);
    client.pipe(upstream);
    upstream.pipe(client);
    for (const socket of pair) {
      const end = (): void => {
        this.#pairs.delete(pair);
        for (const each of pair) each.destroy();
      };
      socket.once('error', end).once('close', end);
    }
    if (this.#isFrozen) silence(client, upstream);
  }
}

function silence(client: Socket, upstream: Socket): void {
  client.unpipe(upstream).pause();
  upstream.unpipe(client).pause();
}
