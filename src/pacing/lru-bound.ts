/**
 * The bound of an LRUCache that begins empty: for `max` lru-cache prepares the room of all entries at once, which for our
 * caches together took half a second and 20 MB of each start.
 * @param entries at most.
 */
export const upTo = (entries: number): { maxSize: number; sizeCalculation: () => number } => ({
  maxSize: entries,
  sizeCalculation: () => 1,
});
