/** Whose models are used or changed, and by whom. */
export interface Asker {
  /** Number of the tenant. */
  readonly tenant: number;
  readonly user: string;
  /** Aborts when the client has gone. */
  readonly signal?: AbortSignal;
}
