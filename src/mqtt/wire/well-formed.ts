/** Text of a packet (MQTT 5.0 section 1.5.4). Pure. */

/**
 * @param text as mqtt-packet decoded it from `frame`: it replaces invalid UTF-8 by U+FFFD.
 * @returns false for NUL [MQTT-1.5.4-2] and for bytes that were not UTF-8 [MQTT-1.5.4-1].
 */
export function isWellFormed(text: string, frame: Buffer): boolean {
  if (text.includes('\0')) return false;
  // A genuine U+FFFD is in the packet as it is here; a replaced byte is not.
  return !text.includes('\uFFFD') || frame.includes(text);
}
