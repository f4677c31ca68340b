/**
 * Shares one Bayeux connection among the tabs of a browser: counts which tab wants which channel. It runs in the shared
 * worker, or in the tab itself where a browser has none.
 */
import { BayeuxClient } from './bayeux.ts';
import type { BayeuxOptions, LiveMessage, LiveState } from './bayeux.ts';

export type ToHub =
  | { readonly kind: 'hello'; readonly url: string; readonly extension: Readonly<Record<string, unknown>> }
  | { readonly kind: 'subscribe' | 'unsubscribe'; readonly channel: string }
  | { readonly kind: 'alive' | 'bye' };

export type FromHub =
  | { readonly kind: 'state'; readonly state: LiveState; readonly told?: string | undefined }
  | { readonly kind: 'messages'; readonly messages: readonly LiveMessage[] }
  | { readonly kind: 'lost'; readonly count: number }
  /** The server tells what happens on the channel; `wasHeld` where another tab had it before. */
  | { readonly kind: 'subscribed'; readonly channel: string; readonly wasHeld: boolean }
  | { readonly kind: 'denied'; readonly channel: string; readonly told: string }
  | { readonly kind: 'gap' }
  /** Was silent for long, and its channels were left: it says again who it is and what it wants. */
  | { readonly kind: 'forgotten' };

/** A tab says that it is there each 20 s; in the background browsers let timers run once a minute. */
const SILENT_MS = 180_000;

interface Tab {
  readonly tell: (message: FromHub) => void;
  readonly channels: Set<string>;
  heardMs: number;
}

export type HubOptions = Pick<BayeuxOptions, 'later' | 'cancel'> & {
  readonly open: (url: string) => ReturnType<BayeuxOptions['open']>;
  readonly now: () => number;
};

export class LiveHub {
  readonly #tabs = new Set<Tab>();
  readonly #options: HubOptions;
  readonly #client: BayeuxClient;
  #url = '';
  #extension: Readonly<Record<string, unknown>> = {};
  #state: LiveState = 'off';

  constructor(options: HubOptions) {
    this.#options = options;
    this.#client = new BayeuxClient({
      later: options.later,
      cancel: options.cancel,
      open: () => options.open(this.#url),
      extension: () => this.#extension,
      onMessages: (messages) => this.#share(messages),
      onState: (state, told) => {
        this.#state = state;
        this.#tellAll({ kind: 'state', state, told });
      },
      onGap: () => this.#tellAll({ kind: 'gap' }),
      onSubscribed: (channel, wasHeld) => this.#tellOf(channel, { kind: 'subscribed', channel, wasHeld }),
      onDenied: (channel, told) => this.#tellOf(channel, { kind: 'denied', channel, told }),
      onLost: (count) => this.#tellAll({ kind: 'lost', count }),
    });
  }

  /** @param tell hands a message to the tab. @returns takes the tab's messages. */
  join(tell: Tab['tell']): (message: ToHub) => void {
    const tab: Tab = { tell, channels: new Set(), heardMs: this.#options.now() };
    this.#tabs.add(tab);
    tell({ kind: 'state', state: this.#state });
    return (message) => this.#take(tab, message);
  }

  #take(tab: Tab, message: ToHub): void {
    tab.heardMs = this.#options.now();
    if (message.kind !== 'bye' && !this.#tabs.has(tab)) {
      this.#tabs.add(tab);
      tab.tell({ kind: 'state', state: this.#state });
      tab.tell({ kind: 'forgotten' });
    }
    if (message.kind === 'hello') this.#hello(message);
    else if (message.kind === 'subscribe') {
      tab.channels.add(message.channel);
      this.#client.subscribe(message.channel);
    } else if (message.kind === 'unsubscribe') this.#leave(tab, [message.channel]);
    else if (message.kind === 'bye') this.#forget(tab);
    else for (const other of this.#tabs) if (tab.heardMs - other.heardMs > SILENT_MS) this.#forget(other);
  }

  /** Another login, in any tab, is that of all: they share the cookie. */
  #hello({ url, extension }: Extract<ToHub, { kind: 'hello' }>): void {
    const isNew = JSON.stringify(extension) !== JSON.stringify(this.#extension) || url !== this.#url;
    this.#url = url;
    this.#extension = extension;
    if (isNew || this.#state === 'refused') this.#client.restart();
  }

  #leave(tab: Tab, channels: readonly string[]): void {
    for (const channel of channels) {
      tab.channels.delete(channel);
      if (![...this.#tabs].some((other) => other.channels.has(channel))) this.#client.unsubscribe(channel);
    }
  }

  #forget(tab: Tab): void {
    this.#tabs.delete(tab);
    this.#leave(tab, [...tab.channels]);
  }

  /** A message names the channel of its source: a tab gets it for that one and for its wildcard. */
  #share(messages: readonly LiveMessage[]): void {
    for (const tab of this.#tabs) {
      const own = messages.filter(
        ({ channel }) =>
          tab.channels.has(channel) || tab.channels.has(`${channel.slice(0, channel.lastIndexOf('/'))}/*`),
      );
      if (own.length > 0) tab.tell({ kind: 'messages', messages: own });
    }
  }

  #tellOf(channel: string, message: FromHub): void {
    for (const tab of this.#tabs) if (tab.channels.has(channel)) tab.tell(message);
  }

  #tellAll(message: FromHub): void {
    for (const tab of this.#tabs) tab.tell(message);
  }
}
