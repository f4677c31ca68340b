/**
 * Which devices receive their operations through another node: a gateway must not get what its child gets itself. The
 * connection registry knows where the session of a serial is, the node there whether it receives operations now. Asked
 * when an operation for a child comes by.
 */
import type { Log } from '../../ports/log.ts';
import type { ReceiversElsewhere } from '../../mqtt/devices/operation-delivery.ts';
import type { ConnectionRegistry } from '../../ports/cluster/connection-registry.ts';
import { NodeUnreachable } from '../../ports/cluster/node-messages.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';

const SUBJECT = 'operation-receivers';
/** A node that does not answer within this time has lost its connections, or is about to. */
const TIMEOUT_MS = 1_000;

export interface OperationReceiversOptions {
  readonly registry: Pick<ConnectionRegistry, 'holder'>;
  readonly messages: NodeMessages;
  /** Whether the node takes part now; what one that has died held is free. */
  readonly isMember: (nodeId: string) => boolean;
  readonly log: Log;
}

interface Question {
  readonly tenant: number;
  readonly sources: readonly number[];
}

export class OperationReceivers implements ReceiversElsewhere {
  readonly #options: OperationReceiversOptions;

  constructor(options: OperationReceiversOptions) {
    this.#options = options;
  }

  /**
   * Begins to answer other nodes. @param isReceivedHere whether a connection of this node receives the operations of
   * the device.
   */
  start(isReceivedHere: (tenantNumber: number, source: number) => boolean): void {
    this.#options.messages.answer(SUBJECT, (payload) => {
      const { tenant, sources } = JSON.parse(Buffer.from(payload).toString()) as Question;
      return Buffer.from(JSON.stringify(sources.filter((source) => isReceivedHere(tenant, source))));
    });
  }

  /** @throws PlatformError `general/documents-unavailable` when the registry is away. */
  async receivedElsewhere(
    tenantNumber: number,
    devices: ReadonlyMap<number, readonly string[]>,
  ): Promise<ReadonlySet<number>> {
    const { registry, messages, isMember } = this.#options;
    const byNode = new Map<string, Set<number>>();
    await Promise.all(
      Array.from(devices, ([source, serials]) =>
        Promise.all(
          serials.map(async (serial) => {
            const nodeId = (await registry.holder(tenantNumber, serial))?.nodeId;
            if (nodeId === undefined || nodeId === messages.nodeId || !isMember(nodeId)) return;
            byNode.set(nodeId, (byNode.get(nodeId) ?? new Set()).add(source));
          }),
        ),
      ),
    );
    const received = await Promise.all(
      Array.from(byNode, ([nodeId, sources]) => this.#ask(nodeId, { tenant: tenantNumber, sources: [...sources] })),
    );
    return new Set(received.flat());
  }

  async #ask(nodeId: string, question: Question): Promise<number[]> {
    const { messages, log } = this.#options;
    try {
      const answer = await messages.request(nodeId, SUBJECT, Buffer.from(JSON.stringify(question)), TIMEOUT_MS);
      return JSON.parse(Buffer.from(answer).toString()) as number[];
    } catch (error) {
      if (!(error instanceof NodeUnreachable)) throw error;
      log.warn(
        { ...question, node: nodeId, error: error.message },
        'the node that had the sessions of devices does not answer: their gateway gets their operations',
      );
      return [];
    }
  }
}
