/**
 * Receipts of QoS 2 messages over the shards of a cluster (actors/handlers/sessions/receipts.ts): where they may be,
 * and which there are.
 */
import { textKeyIn } from '../../ingest/journal/command-record.ts';
import { partName } from '../../ingest/journal/received-packet.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import { isFormerHolder } from '../../model/sessions/holder.ts';
import type { Command } from '../../model/commands/command.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { StoredReceipt } from '../../model/commands/sessions.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { SessionReceiptStore } from '../../mqtt/sessions/application.ts';

export class SessionReceipts implements SessionReceiptStore {
  readonly #commands: CommandPort;
  readonly #now: () => number;

  constructor(commands: CommandPort, now: () => number) {
    this.#commands = commands;
    this.#now = now;
  }

  async announce(tenant: number, session: string, shard: number, holder?: string): Promise<void> {
    await this.#request({
      kind: COMMAND.SESSION_RECEIVES_IN,
      tenant,
      key: `s:${session}`,
      body: { session, shard, holder },
    });
  }

  /**
   * The question is a command. So the answer has all that a dead gateway stored before, also what was not handled yet.
   */
  async read(
    tenant: number,
    session: string,
    shards: readonly number[],
    { holder, since = '' }: { holder?: string; since?: string } = {},
  ): Promise<{ received: number[]; partly: Map<number, ReadonlySet<string>> }> {
    const found = new Map<number, { readonly names: Set<string>; parts: number }>();
    await Promise.all(
      shards.map(async (shard) => {
        const receipts = await this.#request<StoredReceipt[]>({
          kind: COMMAND.SESSION_RECEIPTS,
          tenant,
          key: textKeyIn(tenant, shard),
          body: { session, holder },
        });
        for (const { id, part, parts, holder: of } of receipts) {
          if (isFormerHolder(of, since)) continue;
          const packet = found.get(id) ?? { names: new Set<string>(), parts };
          packet.names.add(partName(shard, part));
          found.set(id, packet);
        }
      }),
    );
    const packets = [...found];
    return {
      received: packets.filter(([, { names, parts }]) => names.size >= parts).map(([id]) => id),
      partly: new Map(
        packets.filter(([, { names, parts }]) => names.size < parts).map(([id, { names }]) => [id, names]),
      ),
    };
  }

  #request<Answer>(command: Pick<Command, 'kind' | 'tenant' | 'key' | 'body'>): Promise<Answer> {
    return this.#commands.request<Answer>({ ...command, mode: PROCESSING_MODE.PERSISTENT, receivedAt: this.#now() });
  }
}
