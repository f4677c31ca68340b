/** Errors of JetStream's API, by the codes that nats-server gives them. */
export const API_ERROR = {
  NO_MESSAGE: 10_037,
  NO_STREAM: 10_059,
  /** The stream refused to store; its description tells why. */
  STORE_FAILED: 10_077,
  WRONG_LAST_SEQUENCE: 10_071,
} as const;

/** @returns undefined for an error that has none, as a timeout. */
export const codeOf = (error: unknown): number | undefined => (error as { code?: number }).code;
