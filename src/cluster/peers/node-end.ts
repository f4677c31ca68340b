/** How what a node gives out ends (client ids, connection keys), so that other nodes find the node by it. */
import { createHash } from 'node:crypto';

/** Bytes of the node's id that are told. */
const END_BYTES = 4;

export const nodeEnd = (nodeId: string): string =>
  createHash('sha256')
    .update(nodeId)
    .digest('hex')
    .slice(0, 2 * END_BYTES);
