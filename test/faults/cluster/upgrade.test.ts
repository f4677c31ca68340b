/**
 * A cluster under load goes from an older version to this one, node by node, and a node goes back.
 * `npm test -- faults/cluster/upgrade` builds the version before (bin/older-version.mjs); see CONTRIBUTING.md.
 */
import t from 'tap';
import { ClusterLoad, acknowledgedAgain } from '../../helpers/cluster/load.ts';
import { MAIN } from '../../helpers/cluster/running.ts';
import type { ClusterNodeProcess } from '../../helpers/cluster/running.ts';
import { underLoad } from '../../helpers/cluster/under-load.ts';
import { missing } from '../../helpers/tools.ts';

const NODES = 3;
const DEVICES = 4;

const oldMain = process.env['MILLRACE_TEST_OLD_MAIN'];
const skip =
  oldMain === undefined
    ? 'no older version: --everywhere builds one, or MILLRACE_TEST_OLD_MAIN names one'
    : missing('nats-server', 'redis-server');

t.test('every node is replaced by one of this version, one goes back, and comes again', { skip }, async (t) => {
  const load = await ClusterLoad.start(t, NODES, {}, { main: oldMain as string });
  await underLoad(t, load, { devices: DEVICES }, async ({ nodes }, devices, t) => {
    const replace = async (node: ClusterNodeProcess, main: string): Promise<void> => {
      t.equal(await node.stop(), 0, `${node.name} stops in order`);
      node.main = main;
      node.launch();
      await node.listening();
      await load.cluster.complete();
      await acknowledgedAgain(devices);
    };
    for (const node of nodes) await replace(node, MAIN);
    await replace(nodes[0], oldMain as string);
    await replace(nodes[0], MAIN);
  });
});
