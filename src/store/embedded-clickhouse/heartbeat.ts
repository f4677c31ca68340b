/**
 * Asks the process of the embedded ClickHouse once a second for a sign of life over its channel. A process that stands
 * still does not end its requests. Without this it would look like a process with a long statement, which answers
 * here.
 */
import type { ChildProcess } from 'node:child_process';
import type { ChildMessage, ParentMessage } from './child.ts';

const EVERY_MS = 1_000;

export interface HeartbeatEvents {
  /** No answer for `silentAfter` questions. */
  readonly onSilent: () => void;
  /** The first answer after that. */
  readonly onAnswer: () => void;
  /** No answer for `deadAfter` questions; told once. */
  readonly onDead: () => void;
}

export interface HeartbeatLimits {
  /** In seconds in which this process has run itself: if both were halted, both are forgiven. */
  readonly silentAfter: number;
  readonly deadAfter: number;
}

/** Until `stop`. One question at most is under way. */
export class Heartbeat {
  readonly #child: ChildProcess;
  readonly #timer: NodeJS.Timeout;
  #unanswered = 0;
  #isSilent = false;

  constructor(child: ChildProcess, { silentAfter, deadAfter }: HeartbeatLimits, events: HeartbeatEvents) {
    this.#child = child;
    child.on('message', (message: ChildMessage) => {
      if (!('isAlive' in message)) return;
      this.#unanswered = 0;
      if (!this.#isSilent) return;
      this.#isSilent = false;
      events.onAnswer();
    });
    this.#timer = setInterval(() => {
      if (this.#unanswered === 0) this.#ask();
      this.#unanswered += 1;
      if (this.#unanswered === silentAfter + 1) {
        this.#isSilent = true;
        events.onSilent();
      }
      if (this.#unanswered === deadAfter + 1) events.onDead();
    }, EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A channel that is closed belongs to a process that ends: its `exit` follows. */
  #ask(): void {
    this.#child.send({ isAlive: true } satisfies ParentMessage, () => {
      /* The exit tells. */
    });
  }
}
