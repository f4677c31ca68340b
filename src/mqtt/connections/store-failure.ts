/** The store did not take a change that the client waits for: the next connection of the session tries it again. */
import { STATE } from './connection.ts';
import type { Connection } from './connection.ts';
import { LIMIT } from '../wire/limits.ts';
import { REASON } from '../wire/reason-codes.ts';

/** @param error names the limit that refuses writes, unless the fault is the store's. */
export function storeFailed(connection: Connection, error: unknown): void {
  if (connection.state >= STATE.ENDING) return;
  const { mqttReason, message } = error as { mqttReason?: number; message?: string };
  if (mqttReason !== undefined && message !== undefined) {
    connection.disconnect(mqttReason, message);
    return;
  }
  const { context, clientId, transport } = connection;
  context.log.error(
    { err: error, clientId, remoteAddress: transport.remoteAddress },
    'mqtt session could not be stored',
  );
  connection.close(REASON.UNSPECIFIED, 'the session store does not answer', LIMIT.SESSION_STORE);
}
