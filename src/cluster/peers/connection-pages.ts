/**
 * Connections of a tenant on all nodes that take devices, one node after the other in the order of their ids. Each node
 * tells its rows of the page and how many match there: so the next one knows where the page goes on.
 */
import { PlatformError } from '../../model/errors.ts';
import type {
  ConnectionPage,
  ConnectionQuery,
  DeviceConnectionRow,
  DeviceConnections,
} from '../../ports/device-connections.ts';
import type { Member } from '../../ports/cluster/leases.ts';
import { NodeUnreachable } from '../../ports/cluster/node-messages.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';

const SUBJECT = 'connections';
const TIMEOUT_MS = 2_000;

interface Asked {
  readonly tenant: number;
  readonly query: ConnectionQuery;
}
/** `tooLarge`: the rows do not fit into a message. */
type Told = ConnectionPage | { readonly tooLarge: true };

export interface ConnectionPagesOptions {
  readonly messages: Pick<NodeMessages, 'nodeId' | 'request' | 'answer' | 'payloadBytesMax'>;
  readonly leases: { readonly members: readonly Member[] };
  /** Of this node. */
  readonly local: (tenant: number, query: ConnectionQuery) => ConnectionPage;
}

export class ConnectionPages implements DeviceConnections {
  readonly #options: ConnectionPagesOptions;

  /** Begins to answer other nodes. */
  constructor(options: ConnectionPagesOptions) {
    this.#options = options;
    const { messages, local } = options;
    messages.answer(SUBJECT, (payload) => {
      const { tenant, query } = JSON.parse(Buffer.from(payload).toString()) as Asked;
      const bytes = Buffer.from(JSON.stringify(local(tenant, query) satisfies Told));
      if (bytes.length <= messages.payloadBytesMax) return bytes;
      return Buffer.from(JSON.stringify({ tooLarge: true } satisfies Told));
    });
  }

  async page(
    tenant: number,
    query: ConnectionQuery,
  ): Promise<ConnectionPage & { readonly silentNodes: readonly string[] }> {
    const { messages, leases } = this.#options;
    const nodes = new Set(leases.members.filter(({ roles }) => roles.includes('gateway')).map(({ nodeId }) => nodeId));
    nodes.add(messages.nodeId);
    const rows: DeviceConnectionRow[] = [];
    const silentNodes: string[] = [];
    let total = 0;
    for (const nodeId of [...nodes].sort()) {
      const rest = { ...query, offset: Math.max(0, query.offset - total), limit: query.limit - rows.length };
      try {
        const told = await this.#ask(nodeId, { tenant, query: rest });
        total += told.total;
        rows.push(...told.rows);
      } catch (error) {
        // It may have died, or is of a version that does not know the question.
        if (!(error instanceof NodeUnreachable)) throw error;
        silentNodes.push(nodeId);
      }
    }
    return { total, rows, silentNodes };
  }

  async #ask(nodeId: string, asked: Asked): Promise<ConnectionPage> {
    const { messages, local } = this.#options;
    if (nodeId === messages.nodeId) return local(asked.tenant, asked.query);
    const answer = await messages.request(nodeId, SUBJECT, Buffer.from(JSON.stringify(asked)), TIMEOUT_MS);
    const told = JSON.parse(Buffer.from(answer).toString()) as Told;
    if ('tooLarge' in told) throw new PlatformError('general/page-too-large', { limit: messages.payloadBytesMax });
    return told;
  }
}
