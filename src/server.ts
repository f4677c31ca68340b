/** The server: its core, by the configuration, and its listeners. */
import { isClustered } from './config.ts';
import type { Config } from './config.ts';
import type { Log } from './model/log.ts';
import { ClusterCore } from './server/cluster-core.ts';
import type { ServerCore } from './server/core.ts';
import { startListeners } from './server/listeners.ts';
import type { RunningServer } from './server/listeners.ts';
import { SingleNode } from './server/single-node.ts';

export { VERSION } from './version.ts';
export type { RunningServer };

/** Starts the server. Rejects when it cannot; then everything that was started is stopped. */
export async function startServer(config: Config, log: Log): Promise<RunningServer> {
  const core: ServerCore = isClustered(config) ? await ClusterCore.open(config, log) : await SingleNode.open(config, log);
  try {
    return await startListeners(core);
  } catch (error) {
    await core.close();
    throw error;
  }
}
