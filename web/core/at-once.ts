/** Requests of one screen that are many. */

/** Requests under way at a time: browsers keep six connections. */
const AT_ONCE = 4;

/** As `Promise.allSettled`, with at most `AT_ONCE` under way, in their order. */
export async function settledInLots<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly PromiseSettledResult<Result>[]> {
  const results: PromiseSettledResult<Result>[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(...(await Promise.allSettled(items.slice(at, at + AT_ONCE).map(work))));
  return results;
}
