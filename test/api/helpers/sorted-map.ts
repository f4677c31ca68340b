/** A map whose keys are sorted once and not for each list: a list of all tenants reads a hundred thousand of them. */
export class SortedMap extends Map<string, string> {
  #sorted: readonly string[] | undefined;

  override set(key: string, value: string): this {
    if (!this.has(key)) this.#sorted = undefined;
    return super.set(key, value);
  }

  override delete(key: string): boolean {
    this.#sorted = undefined;
    return super.delete(key);
  }

  override clear(): void {
    this.#sorted = undefined;
    super.clear();
  }

  /** @returns entries whose keys begin with `prefix` and come behind `after`, in order, at most `limit`. */
  list(prefix: string, after: string | undefined, limit: number): { id: string; value: string }[] {
    const keys = (this.#sorted ??= [...this.keys()].sort());
    const found: { id: string; value: string }[] = [];
    let [at, end] = [0, keys.length];
    while (at < end) {
      const middle = (at + end) >> 1;
      if (keys[middle] < prefix || (after !== undefined && keys[middle] <= after)) at = middle + 1;
      else end = middle;
    }
    for (; at < keys.length && found.length < limit && keys[at].startsWith(prefix); at += 1)
      found.push({ id: keys[at], value: this.get(keys[at]) ?? '' });
    return found;
  }
}
