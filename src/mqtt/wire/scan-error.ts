/** The error of a packet that the scanner refuses. */
import { LIMIT } from './limits.ts';
import { PacketError } from './packet-error.ts';
import { SCAN } from './publish-scanner.ts';
import type { ScanResult } from './publish-scanner.ts';
import { REASON } from './reason-codes.ts';

export function scanError(result: ScanResult, packetBytesMax: number): PacketError {
  switch (result) {
    case SCAN.TOO_LARGE:
      return new PacketError(
        REASON.PACKET_TOO_LARGE,
        `the packet has more than ${packetBytesMax} bytes`,
        LIMIT.PACKET_BYTES,
      );
    case SCAN.TOPIC_INVALID:
      return new PacketError(REASON.TOPIC_NAME_INVALID, 'the topic is empty, or has a wildcard, NUL or invalid UTF-8');
    default:
      return new PacketError(REASON.MALFORMED_PACKET, 'the packet has wrong flags, lengths or packet identifier');
  }
}
