/** In which order users changed on this node: whether what was read of a user before still counts. */

/** Changes of users and tenants that are known one by one; what is older counts as a change of everybody. */
const CHANGES_MAX = 20_000;

const ownerKey = (tenant: number): string => `owner/${tenant}`;

export class ChangedUsers {
  #generation = 0;
  /** Everybody may have changed up to here. */
  #floor = 0;
  /** By tenant, and by tenant and user, the oldest change first. */
  readonly #changes = new Map<string, number>();
  readonly #max: number;

  constructor(max = CHANGES_MAX) {
    this.#max = max;
  }

  /**
   * Grows with each change. Taken before a user is read, it says what the reading cannot have seen: what has changed
   * `since`.
   */
  get generation(): number {
    return this.#generation;
  }

  userChanged(tenant: number, userName: string): void {
    this.#note(`${tenant}/${userName}`);
  }

  /** Something that all users of a tenant share. */
  tenantChanged(tenant: number): void {
    this.#note(String(tenant));
  }

  /** The tenant itself: all of its users, and those whom its microservices have in other tenants. */
  tenantRecordChanged(tenant: number): void {
    this.tenantChanged(tenant);
    this.#note(ownerKey(tenant));
  }

  /** Changes may have been missed, or concern everybody. */
  allChanged(): void {
    this.#generation += 1;
    this.#floor = this.#generation;
    this.#changes.clear();
  }

  /** @param owner tenant of the microservice whose user it is. */
  hasChanged(tenant: number, userName: string, since: number, owner?: number): boolean {
    if (since === this.#generation) return false;
    if (owner !== undefined && this.#isLater(ownerKey(owner), since)) return true;
    return since < this.#floor || this.#isLater(String(tenant), since) || this.#isLater(`${tenant}/${userName}`, since);
  }

  #isLater(key: string, since: number): boolean {
    return (this.#changes.get(key) ?? 0) > since;
  }

  #note(key: string): void {
    this.#generation += 1;
    // At the end again: the oldest goes first.
    this.#changes.delete(key);
    this.#changes.set(key, this.#generation);
    if (this.#changes.size <= this.#max) return;
    const [oldest, generation] = this.#changes.entries().next().value as [string, number];
    this.#changes.delete(oldest);
    this.#floor = generation;
  }
}
