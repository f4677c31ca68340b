/** What connections hold while their CONNECT is not answered: strangers may not take the memory of the server. */
import { LIMIT } from '../wire/limits.ts';
import type { LimitName, MqttLimits } from '../wire/limits.ts';
import { encodeConnack } from '../wire/encoder.ts';
import { REASON } from '../wire/reason-codes.ts';

export interface EarlyRefusal {
  readonly reason: string;
  readonly limit: LimitName;
}

export class EarlyBytes {
  /** Of all connections. */
  bytes = 0;
  readonly #limits: Pick<MqttLimits, 'earlyBytes' | 'earlyBytesAll'>;

  constructor(limits: Pick<MqttLimits, 'earlyBytes' | 'earlyBytesAll'>) {
    this.#limits = limits;
  }

  /** @param length of what one connection holds, counted in `bytes` already. @returns the limit that it exceeds. */
  refusal(length: number): EarlyRefusal | undefined {
    const { earlyBytes, earlyBytesAll } = this.#limits;
    if (length > earlyBytes)
      return { reason: `more than ${earlyBytes} bytes wait for the answer to CONNECT`, limit: LIMIT.EARLY_BYTES };
    if (this.bytes <= earlyBytesAll) return undefined;
    return {
      reason: `more than ${earlyBytesAll} bytes of all clients wait before login`,
      limit: LIMIT.EARLY_BYTES_ALL,
    };
  }
}

export function earlyConnack(
  { reason, limit }: EarlyRefusal,
  client: { protocolVersion: 3 | 4 | 5; clientPacketBytesMax: number },
): Buffer {
  return encodeConnack({
    version: client.protocolVersion,
    reasonCode: REASON.QUOTA_EXCEEDED,
    reason: `${reason} (${limit})`,
    isSessionPresent: false,
    packetBytesMax: client.clientPacketBytesMax,
  });
}
