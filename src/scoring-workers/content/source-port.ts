/**
 * The way of a content from the server's thread, which reads it from the store, to a worker, which parses it: piece by
 * piece over a port, with a few under way, so that neither side holds the whole.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** Pieces that are under way. */
const AHEAD_MAX = 8;

type Message = { readonly piece: Uint8Array } | { readonly end: true } | { readonly failure: string };

/** A port for a worker, and the promise of the end of sending. */
export interface SentContent {
  /** To be handed over in the list of transferred objects. */
  readonly port: MessagePort;
  /** Ends the sending, whatever the worker has read. */
  close(): void;
}

/** Sends a content over a new port. An error of `content` is thrown again where it is received. */
export function sendContent(content: AsyncIterable<Uint8Array>): SentContent {
  const { port1, port2 } = new MessageChannel();
  let credit = AHEAD_MAX;
  let isClosed = false;
  let wake: (() => void) | undefined;
  const woken = (): void => {
    wake?.();
    wake = undefined;
  };
  port1.on('message', () => {
    credit += 1;
    woken();
  });
  port1.on('close', () => {
    isClosed = true;
    woken();
  });
  const send = async (): Promise<void> => {
    for await (const piece of content) {
      while (credit === 0 && !isClosed)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (isClosed) return;
      credit -= 1;
      // A view would take the whole memory behind it along.
      const own = new Uint8Array(piece);
      port1.postMessage({ piece: own }, [own.buffer]);
    }
    port1.postMessage({ end: true });
  };
  send().catch((error: Error) => port1.postMessage({ failure: error.message }));
  return { port: port2, close: () => port1.close() };
}

/** What was sent, in a worker. @throws Error as the sender's content did, or when the sender closed. */
export async function* receiveContent(port: MessagePort): AsyncGenerator<Uint8Array> {
  const waiting: Message[] = [];
  let isClosed = false;
  let wake: (() => void) | undefined;
  port.on('message', (message: Message) => {
    waiting.push(message);
    wake?.();
  });
  port.on('close', () => {
    isClosed = true;
    wake?.();
  });
  try {
    for (;;) {
      const message = waiting.shift();
      if (message === undefined) {
        if (isClosed) throw new Error('the content was not sent to its end');
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      } else if ('piece' in message) {
        port.postMessage(undefined);
        yield message.piece;
      } else if ('failure' in message) throw new Error(message.failure);
      else return;
    }
  } finally {
    port.close();
  }
}
