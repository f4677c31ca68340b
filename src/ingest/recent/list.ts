/** The newest, or the oldest, measurements of a source or of a tenant in memory. */
import type { Edge, RecentMeasurement, RecentRange } from '../../ports/recent-measurements.ts';

/** Measurements that a list keeps, in times of its page; it is cut to the first when it has reached the second. */
const KEPT_PAGES = 2;
const TRIMMED_PAGES = 3;
/** Estimates of what the objects take. */
const MEASUREMENT_BYTES = 200;
const VALUE_BYTES = 100;

/** @returns an estimate of what it takes in memory. */
export function bytesOf({ type, document, values, tail = '' }: RecentMeasurement): number {
  let bytes = MEASUREMENT_BYTES + 2 * (type.length + document.length + tail.length);
  for (const { fragment, series, unit } of values)
    bytes += VALUE_BYTES + 2 * (fragment.length + series.length + unit.length);
  return bytes;
}

export class RecentList {
  /** Measurements of the page that it was filled for. */
  readonly page: number;
  bytes = 0;
  /** Makes times and ids ascend towards the edge. */
  readonly #sign: 1 | -1;
  /** The one at the edge is the last; equal times by id. */
  readonly #items: RecentMeasurement[];
  /** Whether there are no others; else there may be some before the first one. */
  #isWhole: boolean;

  /** @param fromEdge all from the edge to some time; none only if it is whole. */
  constructor(edge: Edge, page: number, fromEdge: readonly RecentMeasurement[], isWhole: boolean) {
    this.page = page;
    this.#sign = edge === 'newest' ? 1 : -1;
    this.#items = [...fromEdge].reverse();
    this.#isWhole = isWhole;
    for (const item of fromEdge) this.bytes += bytesOf(item);
  }

  /** Whether it has, or is to take, a measurement of this time. */
  reaches(time: number, id: number): boolean {
    return this.#isWhole || !this.#isBefore(time, id, this.#items[0]);
  }

  /** Takes one that it reaches; one that it has stays. */
  add(item: RecentMeasurement): void {
    const items = this.#items;
    let at = items.length;
    while (at > 0 && this.#isBefore(item.time, item.id, items[at - 1])) at -= 1;
    if (at > 0 && items[at - 1].id === item.id) return;
    if (at === items.length) items.push(item);
    else items.splice(at, 0, item);
    this.bytes += bytesOf(item);
    if (items.length < this.page * TRIMMED_PAGES) return;
    for (const gone of items.splice(0, items.length - this.page * KEPT_PAGES)) this.bytes -= bytesOf(gone);
    this.#isWhole = false;
  }

  /** @returns from the edge on; undefined when others may belong to the page. */
  find({ from = -Infinity, to = Infinity, offset, size }: RecentRange): readonly RecentMeasurement[] | undefined {
    const items = this.#items;
    const [near, far] = this.#sign === 1 ? [to, from] : [-from, -to];
    let at = items.length - 1;
    while (at >= 0 && this.#sign * items[at].time > near) at -= 1;
    const found: RecentMeasurement[] = [];
    for (let passed = 0; at >= 0 && this.#sign * items[at].time >= far && found.length < size; at -= 1, passed += 1)
      if (passed >= offset) found.push(items[at]);
    return found.length === size || at >= 0 || this.#isWhole ? found : undefined;
  }

  #isBefore(time: number, id: number, other: RecentMeasurement): boolean {
    return this.#sign * (time === other.time ? id - other.id : time - other.time) < 0;
  }
}
