/**
 * A client broke the protocol: the connection ends with this reason. Thrown by decoders and handlers, caught once per
 * read.
 */
export class PacketError extends Error {
  readonly reasonCode: number;
  /** Set when a limit was hit; otherwise it counts as a protocol error. */
  readonly limit: string | undefined;

  constructor(reasonCode: number, message: string, limit?: string) {
    super(message);
    this.reasonCode = reasonCode;
    this.limit = limit;
  }
}
