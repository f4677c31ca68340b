/**
 * The will of one connection: handed to the application as an ordinary publish when the connection ends without
 * DISCONNECT [MQTT-3.1.2-8], in 5.0 after its delay [MQTT-3.1.3-9]. The link is told of its end after that, so it may
 * outlive the connection by the delay.
 */
import { PUBLISH_RESULT } from './application.ts';
import type { DeviceLink } from './application.ts';
import type { Log } from '../../ports/log.ts';
import { NOT_WAITING } from './timer-wheel.ts';
import type { Timed, TimerWheel } from './timer-wheel.ts';

export class Will implements Timed {
  wheelSlot: number = NOT_WAITING;
  readonly delaySeconds: number;
  /** Topic and payload, one behind the other: what `publish` takes offsets into. */
  readonly #bytes: Buffer;
  readonly #topicEnd: number;
  readonly #qos: number;
  #link: DeviceLink | undefined = undefined;
  #wheel: TimerWheel | undefined = undefined;
  #log: Log | undefined = undefined;
  #onEnd: (() => void) | undefined = undefined;
  #mayPublish: (() => boolean | Promise<boolean>) | undefined = undefined;
  #isChecking = false;

  constructor(content: { topic: string; payload: Uint8Array; qos: number; delaySeconds: number }) {
    const topic = Buffer.from(content.topic);
    this.#bytes = Buffer.concat([topic, content.payload]);
    this.#topicEnd = topic.length;
    // At least once is as much as there is: no packet id tells a second will from the first.
    this.#qos = Math.min(content.qos, 1);
    this.delaySeconds = content.delaySeconds;
  }

  get payloadBytes(): number {
    return this.#bytes.length - this.#topicEnd;
  }

  /**
   * The connection has ended. @param delaySeconds 0 = at once.
   * @param shared.onEnd is called when the link is closed. @param shared.mayPublish whether the user's rights have not
   * ended; asked when the will is due.
   */
  start(
    link: DeviceLink,
    delaySeconds: number,
    shared: { wheel: TimerWheel; log: Log; onEnd: () => void; mayPublish: () => boolean | Promise<boolean> },
  ): void {
    this.#link = link;
    this.#mayPublish = shared.mayPublish;
    this.#wheel = shared.wheel;
    this.#log = shared.log;
    this.#onEnd = shared.onEnd;
    if (delaySeconds > 0) shared.wheel.schedule(this, delaySeconds);
    else this.#publish();
  }

  /** The client is back in time: no will. */
  sessionContinues(): void {
    this.#close();
  }

  /** Nothing is left to wait for. */
  sessionEnds(): void {
    this.#publish();
  }

  /** The application was busy and can take it now. */
  resume(): void {
    if (this.wheelSlot === NOT_WAITING && !this.#isChecking) this.#publish();
  }

  /** The application was busy and will not take it: the link closes without it. */
  abandon(): void {
    if (this.wheelSlot === NOT_WAITING) this.#close();
  }

  due(): number {
    this.#publish();
    return 0;
  }

  #publish(): void {
    const link = this.#link;
    if (link === undefined) return;
    this.#wheel?.cancel(this);
    if (!this.#isAllowed()) return;
    try {
      const bytes = this.#bytes;
      const result = link.publish({
        chunk: bytes,
        topicStart: 0,
        topicEnd: this.#topicEnd,
        payloadStart: this.#topicEnd,
        payloadEnd: bytes.length,
        qos: this.#qos,
        packetId: 0,
      });
      // A refused topic is ignored (docs/spec/mqtt.md#will).
      if (result === PUBLISH_RESULT.BUSY) return;
      link.endOfRead();
    } catch (error) {
      this.#log?.error({ err: error }, 'mqtt will failed');
    }
    this.#close();
  }

  /**
   * @returns false when the will is not published, or not yet. A user whose rights cannot be told at present has no
   * will.
   */
  #isAllowed(): boolean {
    if (this.#isChecking) return false;
    const answer = this.#mayPublish?.() ?? true;
    this.#mayPublish = undefined;
    if (answer === true) return true;
    if (answer === false) {
      this.#close();
      return false;
    }
    this.#isChecking = true;
    const decided = (mayPublish: boolean): void => {
      this.#isChecking = false;
      if (mayPublish) this.#publish();
      else this.#close();
    };
    answer.then(decided, (error: Error) => {
      this.#log?.warn({ error: error.message }, 'the rights of a user could not be read: its will is not published');
      decided(false);
    });
    return false;
  }

  #close(): void {
    const link = this.#link;
    if (link === undefined) return;
    this.#link = undefined;
    this.#wheel?.cancel(this);
    try {
      link.closed(false);
    } catch (error) {
      this.#log?.error({ err: error }, 'mqtt link failed to close');
    }
    this.#onEnd?.();
  }
}
