/** Keys that were not found, by user: looking for one costs reads, and a query of the history. */

/** Users that are remembered; beyond it the oldest is forgotten. */
const USERS_MAX = 10_000;

export class UnknownKeys {
  readonly #maximum: number;
  readonly #withinMs: number;
  readonly #found = new Map<string, { count: number; readonly since: number }>();

  /** @param maximum of a user `withinMs`. */
  constructor(maximum: number, withinMs: number) {
    this.#maximum = maximum;
    this.#withinMs = withinMs;
  }

  /** Whether a further key of the user is looked for. @param now ms, of any beginning. */
  mayLook(user: string, now: number): boolean {
    const noted = this.#found.get(user);
    return noted === undefined || now - noted.since >= this.#withinMs || noted.count < this.#maximum;
  }

  /** One of the keys that were noted was found. */
  forgive(user: string): void {
    const noted = this.#found.get(user);
    if (noted !== undefined && noted.count > 0) noted.count -= 1;
  }

  /** A key of the user is looked for, and counts unless it is found. */
  note(user: string, now: number): void {
    const noted = this.#found.get(user);
    if (noted !== undefined && now - noted.since < this.#withinMs) {
      noted.count += 1;
      return;
    }
    this.#found.delete(user);
    if (this.#found.size >= USERS_MAX) this.#found.delete(this.#found.keys().next().value as string);
    this.#found.set(user, { count: 1, since: now });
  }
}
