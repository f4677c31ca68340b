/**
 * Live data for screens: `useLive(['/alarms/*'], { onMessages, onGap })`. All tabs share one connection; a channel is
 * left 5 s after the last screen that wants it, at once where it has more than 20; messages come once a frame.
 */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { handshakeExtension, isBasic } from '../api/session.ts';
import { CONSOLE_PATH, socketUrl } from '../places.ts';
import type { LiveMessage, LiveState } from './bayeux.ts';
import { LiveHub } from './hub.ts';
import type { FromHub, ToHub } from './hub.ts';
import { paced } from './pace.ts';
import type { Pace } from './pace.ts';

const REALTIME_PATH = '/notification/realtime';
const ALIVE_MS = 20_000;
const LINGER_MS = 5_000;
/** A list has as many channels as rows: those of a page that was left go at once, as a session has 1,000. */
const LINGERING_MAX = 20;
/** A screen that misses messages asks the server again, once in this time. */
const GAP_MS = 5_000;
const MEASUREMENTS = '/measurements/';
/** Messages that wait for the next frame of one screen; of more the oldest are dropped and counted. */
const WAITING_MAX = 1_000;

export const liveState = signal<LiveState>('off');
/** What the server said when it refused. */
export const liveRefusal = signal('');
/** Messages that were dropped since the page was opened. */
export const lostCount = signal(0);
/** What the server said when it refused a channel of a screen that is open; '' when it did not. */
export const deniedText = signal('');

export interface LiveListener {
  /** Called at most once a frame, with what came since. */
  readonly onMessages: (messages: readonly LiveMessage[]) => void;
  /** Messages may be missing: ask the server again. */
  readonly onGap?: () => void;
  /** The server has refused one of the channels, with its words. Without it they stand beside the state of the stream. */
  readonly onDenied?: (told: string) => void;
}

interface Listening {
  readonly channels: ReadonlySet<string>;
  readonly onMessages: LiveListener['onMessages'];
  readonly gap: Pace;
  readonly onDenied: (told: string) => void;
  waiting: LiveMessage[];
  /** Messages for it were dropped. */
  hasLost: boolean;
  /** Channels that were not in force when the screen asked for what it shows first. */
  readonly late: Set<string>;
}

const listeners = new Set<Listening>();
/** Screens that want a channel. */
const counts = new Map<string, number>();
/** Channels that are in force. */
const agreed = new Set<string>();
/** When the channels last told something. */
const toldMs = new Map<string, number>();
/** Channels that were refused; another screen that wants one asks for it again. */
const denied = new Set<string>();
/** What was said of a channel of a screen that has no words of its own for it. */
const denials = new Map<Listening, string>();
let tell: ((message: ToHub) => void) | undefined;
let isFrameAsked = false;

function deliver(): void {
  isFrameAsked = false;
  for (const listener of listeners) {
    const messages = listener.waiting;
    listener.waiting = [];
    if (messages.length > 0) listener.onMessages(messages);
    if (listener.hasLost) listener.gap.ask();
    listener.hasLost = false;
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
  for (const channel of [message.channel, wildcard]) if (counts.has(channel)) toldMs.set(channel, Date.now());
  for (const listener of listeners) {
    if (!listener.channels.has(message.channel) && !listener.channels.has(wildcard)) continue;
    listener.waiting.push(message);
    if (listener.waiting.length <= WAITING_MAX) continue;
    listener.waiting.shift();
    listener.hasLost = true;
    lostCount.value += 1;
  }
}

function take(message: FromHub): void {
  if (message.kind === 'state') {
    liveState.value = message.state;
    liveRefusal.value = message.told ?? '';
    if (message.state !== 'live') agreed.clear();
  } else if (message.kind === 'messages') {
    message.messages.forEach(keep);
    askForFrame();
  } else if (message.kind === 'lost') {
    // Of which channels it does not say.
    lostCount.value += message.count;
    for (const listener of listeners) listener.hasLost = true;
    askForFrame();
  } else if (message.kind === 'subscribed') {
    agreed.add(message.channel);
    // What has changed between the first answer and now was told to no one.
    for (const { late, gap } of listeners)
      if (late.delete(message.channel) && late.size === 0 && !message.wasHeld) gap.ask();
  } else if (message.kind === 'denied') {
    denied.add(message.channel);
    for (const { channels, late, gap, onDenied } of listeners) {
      if (!channels.has(message.channel)) continue;
      // `403:/alarms/*:` stands before the words.
      onDenied(message.told.replace(/^\d{3}:[^:]*:/, ''));
      // The others may have waited for this one.
      if (late.delete(message.channel) && late.size === 0 && channels.size > 1) gap.ask();
    }
  } else {
    if (message.kind === 'forgotten') introduce();
    for (const { gap } of listeners) gap.ask();
  }
}

function deny(listener: Listening, told: string | undefined): void {
  if (told === undefined) denials.delete(listener);
  else denials.set(listener, told);
  deniedText.value = [...denials.values()][0] ?? '';
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
      if (persisted) tell?.({ kind: 'alive' });
    });
  }
  introduce();
}

/** Says who the tab is and what it wants. */
function introduce(): void {
  tell?.(hello());
  for (const channel of counts.keys()) tell?.({ kind: 'subscribe', channel });
}

function want(channel: string): void {
  const count = counts.get(channel) ?? 0;
  counts.set(channel, count + 1);
  if (denied.delete(channel) || count === 0) tell?.({ kind: 'subscribe', channel });
}

function leave(channel: string): void {
  const count = (counts.get(channel) ?? 1) - 1;
  if (count > 0) {
    counts.set(channel, count);
    return;
  }
  counts.delete(channel);
  agreed.delete(channel);
  denied.delete(channel);
  toldMs.delete(channel);
  tell?.({ kind: 'unsubscribe', channel });
}

/**
 * Listens while the component is on the page. @param channels `/alarms/*`, `/managedobjects/42`; empty for none.
 * @returns whether the server has refused one of them: a list then asks again and again (`list.look`).
 */
export function useLive(channels: readonly string[], listener: LiveListener): boolean {
  const latest = useRef(listener);
  latest.current = listener;
  const [isDenied, setDenied] = useState(false);
  const key = channels.join(' ');
  const isFirst = useRef(true);
  const [beganMs] = useState(Date.now);
  useEffect(() => {
    const wanted = key === '' ? [] : key.split(' ');
    if (wanted.length === 0) return undefined;
    // Of a chart one value may be missing until it is asked for again: its answers cost most. Rows that a list asked for
    // again would make it ask for ever.
    const isAskedAgain = isFirst.current && !key.startsWith(MEASUREMENTS);
    isFirst.current = false;
    // Of a channel that another screen has left a message may have come since this one asked for what it shows.
    const isMissed = isAskedAgain && wanted.some((channel) => (toldMs.get(channel) ?? 0) >= beganMs);
    const listening: Listening = {
      channels: new Set(wanted),
      waiting: [],
      hasLost: false,
      late: new Set(isAskedAgain ? wanted.filter((channel) => !agreed.has(channel)) : []),
      onMessages: (messages) => latest.current.onMessages(messages),
      gap: paced(() => latest.current.onGap?.(), GAP_MS),
      onDenied: (told) => {
        setDenied(true);
        if (latest.current.onDenied) latest.current.onDenied(told);
        else deny(listening, told);
      },
    };
    listeners.add(listening);
    if (isMissed) listening.gap.ask();
    let isAsked = false;
    const ask = (): void => {
      isAsked = true;
      wanted.forEach(want);
    };
    // Those of many rows are not asked for before these are drawn.
    const timer = wanted.length > LINGERING_MAX ? setTimeout(ask) : undefined;
    if (timer === undefined) ask();
    return () => {
      clearTimeout(timer);
      listeners.delete(listening);
      listening.gap.stop();
      deny(listening, undefined);
      setDenied(false);
      if (isAsked) setTimeout(() => wanted.forEach(leave), wanted.length > LINGERING_MAX ? 0 : LINGER_MS);
    };
  }, [key]);
  return isDenied;
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
