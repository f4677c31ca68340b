/** Port of where generated secrets are kept, readable by the server's user only. */
export interface SecretsStore {
  add(secrets: ReadonlyMap<string, string>): Promise<void>;
  /** @returns undefined when there is none of the name. */
  read(name: string): Promise<string | undefined>;
}
