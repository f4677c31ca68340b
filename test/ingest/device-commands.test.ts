/** Commands of devices: one contract for the command bus of one process and the command gateway of a cluster's node. */
import t from 'tap';
import { SessionReceipts } from '../../src/cluster/session-receipts.ts';
import { shardOf } from '../../src/ingest/command-record.ts';
import { SessionDocuments } from '../../src/mqtt/session-documents.ts';
import { NOW, TENANT, openPlatform } from '../actors/platform.ts';
import { TestCluster } from '../cluster/nodes.ts';
import { deviceCommandsContract } from './device-commands-contract.ts';

const now = (): number => NOW;

deviceCommandsContract(t, 'one process', async (t) => {
  const { commands, documents, group } = openPlatform(t);
  return {
    commands, sessions: new SessionDocuments({ commands, documents, now }), announce: async () => undefined,
    objectOf: async (id) => documents.get('managedObject', TENANT, String(id)),
    refuse: () => {
      Object.defineProperty(group, 'refusal', { configurable: true, get: () => 'journal/bytes' });
      return () => { delete (group as { refusal?: string }).refusal; };
    },
  };
});

deviceCommandsContract(t, 'a node of a cluster', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const [{ node: { commands }, documents: { reader: documents }, ports: { journal } }] = cluster.nodes;
  const receipts = new SessionReceipts(commands, now);
  return {
    commands, sessions: new SessionDocuments({ commands, documents, receipts, now }),
    announce: async (session, keys) => { for (const key of keys) await receipts.announce(TENANT, session, shardOf(TENANT, key)); },
    objectOf: async (id) => documents.get('managedObject', TENANT, String(id)),
    refuse: () => {
      Object.defineProperty(journal, 'unavailable', { configurable: true, get: () => 'journal/bytes' });
      return () => { delete (journal as { unavailable?: string }).unavailable; };
    },
  };
});
