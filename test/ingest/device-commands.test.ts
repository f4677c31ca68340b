/** Commands of devices: one contract for the command bus of one process and the command gateway of a cluster's node. */
import t from 'tap';
import { CommandGateway } from '../../src/cluster/gateway/command-gateway.ts';
import type { GatewayJournal } from '../../src/cluster/gateway/journal.ts';
import { SessionReceipts } from '../../src/cluster/gateway/session-receipts.ts';
import { CommandBus } from '../../src/ingest/journal/command-bus.ts';
import type { DeviceCommands } from '../../src/ingest/journal/command-bus.ts';
import { shardOf } from '../../src/ingest/journal/command-record.ts';
import type { GroupCommit } from '../../src/ingest/journal/group-commit.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { PlatformError } from '../../src/model/errors.ts';
import { SessionDocuments } from '../../src/mqtt/devices/session-documents.ts';
import { NOW, TENANT, openPlatform } from '../actors/platform.ts';
import { TestCluster } from '../cluster/memory/nodes.ts';
import { deviceCommandsContract } from './device-commands-contract.ts';

const now = (): number => NOW;

deviceCommandsContract(t, 'one process', async (t) => {
  const { commands, documents, group } = openPlatform(t);
  return {
    commands,
    sessions: new SessionDocuments({ commands, documents, now }),
    announce: async () => undefined,
    objectOf: async (id) => documents.get('managedObject', TENANT, String(id)),
    refuse: () => {
      Object.defineProperty(group, 'refusal', { configurable: true, get: () => 'journal/bytes' });
      return () => {
        delete (group as { refusal?: string }).refusal;
      };
    },
  };
});

deviceCommandsContract(t, 'a node of a cluster', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const [
    {
      node: { commands },
      documents: { reader: documents },
      ports: { journal },
    },
  ] = cluster.nodes;
  const receipts = new SessionReceipts(commands, now);
  return {
    commands,
    sessions: new SessionDocuments({ commands, documents, receipts, now }),
    announce: async (session, keys) => {
      for (const key of keys) await receipts.announce(TENANT, session, shardOf(TENANT, key));
    },
    objectOf: async (id) => documents.get('managedObject', TENANT, String(id)),
    refuse: () => {
      Object.defineProperty(journal, 'unavailable', { configurable: true, get: () => 'journal/bytes' });
      return () => {
        delete (journal as { unavailable?: string }).unavailable;
      };
    },
  };
});

/** Whose journal takes nothing: what is requested stays under way. */
const FULL: Record<
  string,
  (refusals: { count(limit: string): void }) => DeviceCommands & { readonly underWayCount: number }
> = {
  'one process': (refusals) =>
    new CommandBus({
      refusals,
      intake: { reserve: () => -1, whenFree: () => undefined } as unknown as GroupCommit,
      replies: { expectReply: () => undefined, cancelReply: () => undefined },
    }),
  'a node of a cluster': (refusals) =>
    new CommandGateway({
      refusals,
      answerTimeoutMs: 1_000,
      intake: { offer: () => false, whenFree: () => undefined, acknowledgedSeq: () => 0 } as unknown as GatewayJournal,
    }),
};

for (const [name, of] of Object.entries(FULL)) {
  t.test(`${name}: no user and no tenant takes all commands under way`, async (t) => {
    const counted: string[] = [];
    const commands = of({ count: (limit) => void counted.push(limit) });
    const refused: string[] = [];
    const request = (tenant: number, user: string): void => {
      const command = {
        kind: COMMAND.MANAGED_OBJECT_CREATE,
        tenant,
        key: 5,
        mode: 0,
        receivedAt: NOW,
        body: {},
        user,
      } as const;
      commands
        .request(command)
        .catch(({ details, mqttReason }: PlatformError) =>
          refused.push(`${tenant}/${user} ${mqttReason} ${details.limit}`),
        );
    };
    for (let count = 0; count < 16_001; count += 1) request(1, 'a');
    for (let count = 0; count < 2_001; count += 1) request(1, 'b');
    request(2, 'a');
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    t.equal(commands.underWayCount, 18_001, 'another tenant has its place');
    t.match(refused, [/^1\/a 137 commands\/under-way-of-user \(/, /^1\/b 137 commands\/under-way-of-tenant \(/]);
    t.same(counted, ['commands/under-way-of-user', 'commands/under-way-of-tenant']);
  });
}
