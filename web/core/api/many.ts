/** One request for each of several things. */

/** Requests under way at a time. */
const AT_ONCE = 4;

export interface ManyDone<Item, Result> {
  readonly done: readonly { readonly item: Item; readonly result: Result }[];
  readonly failed: readonly { readonly item: Item; readonly error: unknown }[];
}

/** Works on all items, a few at a time; one that fails keeps none of the others back. */
export async function workOnMany<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<ManyDone<Item, Result>> {
  const done: { item: Item; result: Result }[] = [];
  const failed: { item: Item; error: unknown }[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const part = items.slice(at, at + AT_ONCE);
    for (const [index, answer] of (await Promise.allSettled(part.map(work))).entries()) {
      if (answer.status === 'fulfilled') done.push({ item: part[index], result: answer.value });
      else failed.push({ item: part[index], error: answer.reason });
    }
  }
  return { done, failed };
}
