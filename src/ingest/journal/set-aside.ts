import type { QuarantineEntry } from '../../ports/stores/quarantine.ts';
import type { JournalCommand } from './command-record.ts';

/** A command whose handler failed; see ActorSystemOptions.onSetAside. */
export function entryOfCommand(command: JournalCommand, error: Error, position: number): QuarantineEntry {
  const { seq, shard, kind, tenant, key, mode, receivedAt, pendingId, body } = command;
  const row = { kind, tenant, key, mode, receivedAt, ...(pendingId === undefined ? {} : { pendingId }), body };
  return { kind: 'command', table: 'commands', seq, shard, id: 0, position, code: 0, error: error.message, row };
}
