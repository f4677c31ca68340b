/** When the session of an MQTT client is over (MQTT 5.0 section 3.1.2.11.2). */

/** Seconds that mean: for ever. */
export const SESSION_EXPIRY_NEVER = 0xffffffff;

/** Of a session without a connection. @param state.disconnectedAt ms since 1970; 0 = its end is not known yet. */
export function isSessionOver(state: { readonly expirySeconds: number; readonly disconnectedAt: number }, now: number): boolean {
  const { expirySeconds, disconnectedAt } = state;
  // Without expiry it ended with its connection.
  if (expirySeconds === 0) return true;
  return expirySeconds !== SESSION_EXPIRY_NEVER && disconnectedAt > 0 && disconnectedAt + expirySeconds * 1_000 <= now;
}
