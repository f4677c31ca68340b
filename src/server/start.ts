/** The server: its core, by the configuration, and its listeners. */
import { chooseHttpEngine } from '../api/http/engines/engine.ts';
import { isClustered } from '../config/config.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../ports/log.ts';
import type { ServerCore } from './cores/core.ts';
import { checkPorts, withHosts } from './free-ports.ts';
import { startListeners } from './listeners.ts';
import type { RunningServer } from './listeners.ts';
import { SingleNode } from './cores/single-node.ts';
import type { OpenEngine } from './cores/single-node.ts';

export { VERSION } from '../config/project.ts';
export type { RunningServer };

/** The clients of NATS and Redis are loaded only where they are used: a third of the time that loading takes. */
async function openCore(config: Config, log: Log, openEngine?: OpenEngine): Promise<ServerCore> {
  if (!isClustered(config)) return SingleNode.open(config, log, openEngine);
  const { ClusterCore } = await import('./cores/cluster-core.ts');
  return ClusterCore.open(config, log);
}

/**
 * Starts the server. Rejects when it cannot; then everything that was started is stopped.
 * @param openEngine of the history of a single node; by default it starts the embedded ClickHouse.
 */
export async function startServer(configured: Config, log: Log, openEngine?: OpenEngine): Promise<RunningServer> {
  const config = await withHosts(configured, log);
  await checkPorts(config, !isClustered(config) || config.roles.split(',').includes('gateway'));
  // Beside the opening of the stores, which takes longer.
  const choosing = chooseHttpEngine({ engine: config.httpEngine, trustsProxy: config.trustProxy !== 'no' });
  // Thrown below, where it is awaited.
  choosing.catch(() => undefined);
  const core = await openCore(config, log, openEngine);
  try {
    return await startListeners(core, await choosing);
  } catch (error) {
    await core.close();
    throw error;
  }
}
