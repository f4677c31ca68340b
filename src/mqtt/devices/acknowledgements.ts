/**
 * Acknowledges the packets of a connection when they are durable and their actors have answered, in the order in which
 * they came ([MQTT-4.6.0-2]). Devices take the PUBACK as the sign that what they have asked for is there
 * (docs/spec/mqtt.md#acknowledgement).
 */
import type { OfferedRecord } from '../../ingest/journal/command-bus.ts';
import type { DeviceConnection, Refusal } from '../sessions/application.ts';

export class Acknowledgements {
  readonly #connection: Pick<DeviceConnection, 'acknowledge' | 'flush'>;
  /** Answers of actors that are still to come; replies to the device wait for them. */
  #due = 0;
  #afterAnswers: (() => void)[] | undefined;
  /** Packets with answers that are to come, and how many. */
  #unanswered: Map<number, number> | undefined;
  /** Packets that are not taken, with the reason. */
  #refusals: Map<number, Refusal> | undefined;
  /** Durable packets, oldest first, that wait for answers or behind one that does. */
  #durable: number[] = [];
  #isFlushDue = false;

  constructor(connection: Pick<DeviceConnection, 'acknowledge' | 'flush'>) {
    this.#connection = connection;
  }

  durable(packetId: number): void {
    if (this.#durable.length === 0 && !this.#unanswered?.has(packetId)) this.#acknowledge(packetId);
    else this.#durable.push(packetId);
  }

  /** The packet is to be acknowledged in its turn, and not as taken. */
  refuse(packetId: number, refusal: Refusal): void {
    if (packetId !== 0) (this.#refusals ??= new Map()).set(packetId, refusal);
  }

  get hasAnswersDue(): boolean {
    return this.#due > 0;
  }

  /** Runs when the actors have answered everything that was sent before. */
  afterAnswers(action: () => void): void {
    if (this.#due === 0) action();
    else (this.#afterAnswers ??= []).push(action);
  }

  /** The records of the packet have been taken. @param count of those that are answered. */
  expect(count: number, packetId: number): void {
    this.#due += count;
    if (count > 0 && packetId !== 0) (this.#unanswered ??= new Map()).set(packetId, count);
  }

  /** @returns the record, with an answer that counts for the packet. */
  awaited(planned: OfferedRecord, packetId: number): OfferedRecord {
    const { record, onAnswer } = planned;
    if (!onAnswer) return planned;
    return {
      record,
      onAnswer: {
        resolve: (answer) => {
          onAnswer.resolve(answer);
          this.#answered(packetId);
        },
        reject: (error) => {
          onAnswer.reject(error);
          this.#answered(packetId);
        },
        // What it would have been told is lost; its messages go on.
        over: () => this.#answered(packetId),
      },
    };
  }

  #answered(packetId: number): void {
    this.#due -= 1;
    const due = this.#unanswered?.get(packetId);
    if (due === 1) this.#unanswered?.delete(packetId);
    else if (due !== undefined) this.#unanswered?.set(packetId, due - 1);
    if (this.#durable.length > 0) this.#acknowledgeDurable();
    if (this.#due === 0) for (const action of this.#afterAnswers?.splice(0) ?? []) action();
  }

  #acknowledgeDurable(): void {
    const waiting = this.#durable.findIndex((packetId) => this.#unanswered?.has(packetId));
    for (const packetId of this.#durable.splice(0, waiting < 0 ? this.#durable.length : waiting))
      this.#acknowledge(packetId);
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    // Behind the other answers of the same commit: one write for all that they acknowledge.
    queueMicrotask(() => {
      this.#isFlushDue = false;
      this.#connection.flush();
    });
  }

  #acknowledge(packetId: number): void {
    const refusal = this.#refusals?.get(packetId);
    if (refusal !== undefined) this.#refusals?.delete(packetId);
    this.#connection.acknowledge(packetId, refusal);
  }
}
