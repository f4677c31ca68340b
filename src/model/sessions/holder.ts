/**
 * Names of those that have a session in memory, one after the other: `<number>-<name>`. The number grows with each,
 * also over the end of a session and the beginning of the next one under its key, so that what two of them say can be
 * put in order.
 */

/**
 * The next holder, which goes on from the state of `former` ('' = a new session). @param name unique.
 * @param now ms since 1970.
 */
export function holderAfter(former: string, name: string, now: number): string {
  return `${Math.max(numberOf(former) + 1, now)}-${name}`;
}

/** Whether `other` has come after `holder`. */
export function isFormerHolder(holder: string, other: string): boolean {
  return numberOf(holder) < numberOf(other);
}

function numberOf(holder: string): number {
  return holder === '' ? 0 : Number.parseInt(holder, 10);
}
