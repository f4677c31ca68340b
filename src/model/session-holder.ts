/**
 * Names of those that have a session in memory, one after the other: `<number>-<name>`. The number grows by one with each that goes on from the one
 * before it, so that what two of them say can be put in order.
 */

/** The next holder, which goes on from the state of `former` ('' = there was no session). @param name of nobody else. */
export function holderAfter(former: string, name: string): string {
  return `${numberOf(former) + 1}-${name}`;
}

/** Whether the session has gone on from `holder` to `other`. */
export function isFormerHolder(holder: string, other: string): boolean {
  return numberOf(holder) < numberOf(other);
}

function numberOf(holder: string): number {
  return holder === '' ? 0 : Number.parseInt(holder, 10);
}
