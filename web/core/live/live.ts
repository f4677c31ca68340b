/**
 * Live data for screens: `useLive(['/alarms/*'], { onMessages, onGap })`. All tabs share one connection; a channel is
 * left 5 s after the last screen that wants it; messages come once a frame.
 */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { handshakeExtension, isBasic } from '../api/session.ts';
import { CONSOLE_PATH, socketUrl } from '../places.ts';
import type { LiveMessage, LiveState } from './bayeux.ts';
import { LiveHub } from './hub.ts';
import type { FromHub, ToHub } from './hub.ts';

const REALTIME_PATH = '/notification/realtime';
const ALIVE_MS = 20_000;
const LINGER_MS = 5_000;
/** Messages that wait for the next frame of one screen; of more the oldest are dropped and counted. */
const WAITING_MAX = 1_000;

export const liveState = signal<LiveState>('off');
/** What the server said when it refused. */
export const liveRefusal = signal('');
/** Messages that were dropped since the page was opened. */
export const lostCount = signal(0);

export interface LiveListener {
  /** Called at most once a frame, with what came since. */
  readonly onMessages: (messages: readonly LiveMessage[]) => void;
  /** Messages may be missing: ask the server again. */
  readonly onGap?: () => void;
  /** The server has refused one of the channels, with its words. */
  readonly onDenied?: (told: string) => void;
}

interface Listening extends LiveListener {
  readonly channels: ReadonlySet<string>;
  waiting: LiveMessage[];
}

const listeners = new Set<Listening>();
/** Screens that want a channel. */
const counts = new Map<string, number>();
let tell: ((message: ToHub) => void) | undefined;
let isFrameAsked = false;

function deliver(): void {
  isFrameAsked = false;
  for (const listener of listeners) {
    if (listener.waiting.length === 0) continue;
    const messages = listener.waiting;
    listener.waiting = [];
    listener.onMessages(messages);
  }
}

/** A hidden page has no frames: what waits for it is bounded. */
function askForFrame(): void {
  if (isFrameAsked) return;
  isFrameAsked = true;
  requestAnimationFrame(deliver);
}

function keep(message: LiveMessage): void {
  const wildcard = `${message.channel.slice(0, message.channel.lastIndexOf('/'))}/*`;
  for (const listener of listeners) {
    if (!listener.channels.has(message.channel) && !listener.channels.has(wildcard)) continue;
    listener.waiting.push(message);
    if (listener.waiting.length <= WAITING_MAX) continue;
    listener.waiting.shift();
    lostCount.value += 1;
  }
}

function take(message: FromHub): void {
  if (message.kind === 'state') {
    liveState.value = message.state;
    liveRefusal.value = message.told ?? '';
  } else if (message.kind === 'messages') {
    message.messages.forEach(keep);
    askForFrame();
  } else if (message.kind === 'lost') lostCount.value += message.count;
  else if (message.kind === 'denied') {
    for (const { channels, onDenied } of listeners) if (channels.has(message.channel)) onDenied?.(message.told);
  } else for (const { onGap } of listeners) onGap?.();
}

function joinHub(): (message: ToHub) => void {
  if (typeof SharedWorker !== 'undefined' && !isBasic()) {
    const { port } = new SharedWorker(`${CONSOLE_PATH}${__WORKER_FILE__}`, { type: 'module', name: 'millrace' });
    port.onmessage = ({ data }: MessageEvent<FromHub>) => take(data);
    return (message) => port.postMessage(message);
  }
  const hub = new LiveHub({
    open: (url) => new WebSocket(url),
    later: (run, ms) => Number(setTimeout(run, ms)),
    cancel: (timer) => clearTimeout(timer),
    now: Date.now,
  });
  return hub.join(take);
}

const hello = (): ToHub => ({ kind: 'hello', url: socketUrl(REALTIME_PATH), extension: handshakeExtension() });

/** Called after each login: tells the connection who is there. */
export function startLive(): void {
  if (tell === undefined) {
    tell = joinHub();
    setInterval(() => tell?.({ kind: 'alive' }), ALIVE_MS);
    addEventListener('pagehide', () => tell?.({ kind: 'bye' }));
    addEventListener('pageshow', ({ persisted }) => {
      if (!persisted) return;
      for (const channel of counts.keys()) tell?.({ kind: 'subscribe', channel });
      for (const { onGap } of listeners) onGap?.();
    });
  }
  tell(hello());
  for (const channel of counts.keys()) tell({ kind: 'subscribe', channel });
}

function want(channel: string): void {
  const count = counts.get(channel) ?? 0;
  counts.set(channel, count + 1);
  if (count === 0) tell?.({ kind: 'subscribe', channel });
}

function leave(channel: string): void {
  setTimeout(() => {
    const count = (counts.get(channel) ?? 1) - 1;
    if (count > 0) counts.set(channel, count);
    else {
      counts.delete(channel);
      tell?.({ kind: 'unsubscribe', channel });
    }
  }, LINGER_MS);
}

/** Listens while the component is on the page. @param channels `/alarms/*`, `/managedobjects/42`; empty for none. */
export function useLive(channels: readonly string[], listener: LiveListener): void {
  const latest = useRef(listener);
  latest.current = listener;
  const key = channels.join(' ');
  useEffect(() => {
    const wanted = key === '' ? [] : key.split(' ');
    if (wanted.length === 0) return undefined;
    const listening: Listening = {
      channels: new Set(wanted),
      waiting: [],
      onMessages: (messages) => latest.current.onMessages(messages),
      onGap: () => latest.current.onGap?.(),
      onDenied: (told) => latest.current.onDenied?.(told),
    };
    listeners.add(listening);
    wanted.forEach(want);
    return () => {
      listeners.delete(listening);
      wanted.forEach(leave);
    };
  }, [key]);
}

/** `data` of messages of the usual URL. */
export interface LiveChange {
  readonly realtimeAction: 'CREATE' | 'UPDATE' | 'DELETE';
  /** The entity; of a DELETE its id alone. */
  readonly data: unknown;
}

/** What a message tells; undefined for one of another form. */
export function changeOf({ data }: LiveMessage): LiveChange | undefined {
  const told = data as Partial<LiveChange> | null | undefined;
  return typeof told === 'object' && told?.realtimeAction !== undefined ? (told as LiveChange) : undefined;
}
