/** When the session of an MQTT client is over (MQTT 5.0 section 3.1.2.11.2). */

/** Seconds that mean: for ever. */
export const SESSION_EXPIRY_NEVER = 0xffffffff;

/** The time by which sessions end. A clock that jumped forward must not end them. */
export interface ExpiryClock {
  /** @returns ms since 1970, or undefined while the clock is not believed: then only sessions without expiry end. */
  read(): Promise<number | undefined>;
  /** The same without a look: false also until the first one. */
  readonly isBelieved: boolean;
}

/**
 * Of a session without a connection.
 * @param state.disconnectedAt ms since 1970; 0 = its end is not known yet. @param now undefined while the clock is not
 * believed.
 */
export function isSessionOver(
  state: { readonly expirySeconds: number; readonly disconnectedAt: number },
  now: number | undefined,
): boolean {
  const { expirySeconds, disconnectedAt } = state;
  // Without expiry it ended with its connection.
  if (expirySeconds === 0) return true;
  return (
    now !== undefined &&
    expirySeconds !== SESSION_EXPIRY_NEVER &&
    disconnectedAt > 0 &&
    disconnectedAt + expirySeconds * 1_000 <= now
  );
}
