/** Port of all writes: commands to their actors. */
import type { Command } from '../model/commands/command.ts';

/** Sends commands to their actors through the journal. */
export interface CommandPort {
  /**
   * Appends, waits until the command is durable, handled and its state committed.
   * @returns the actor's answer (a JSON value; entities as `{doc: text}`).
   * @throws PlatformError as decided by the actor, `general/busy` when the journal is at its bound.
   */
  request<Answer>(command: Command): Promise<Answer>;
}
