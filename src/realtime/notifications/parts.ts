/** Parts of a chunk between nodes: what a message of NATS takes (docs/internals/notifications.md). */
import { GROUP_BYTES_MAX } from '../../model/commands/group-bounds.ts';
import { shortened } from './message.ts';

/** Counted for each message that is too large as it is. */
export const MESSAGE_BYTES = 'notifications/message-bytes';

/**
 * The messages in order, in parts of up to GROUP_BYTES_MAX bytes, as `chunkText` joins them. @param onShortened told of
 * each message that is too large by itself: it is shortened.
 */
export function partsOf(messages: readonly string[], onShortened: () => void): string[][] {
  const parts: string[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const one of messages) {
    const isTooLarge = Buffer.byteLength(one) > GROUP_BYTES_MAX;
    if (isTooLarge) onShortened();
    const message = isTooLarge ? shortened(one) : one;
    const size = Buffer.byteLength(message) + 1;
    if (bytes + size > GROUP_BYTES_MAX) {
      parts.push([]);
      bytes = 0;
    }
    parts[parts.length - 1].push(message);
    bytes += size;
  }
  return parts;
}
