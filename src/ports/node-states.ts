/** How each node of the server is, for operators. */
export interface NodeState {
  /** Its name; of a node that does not answer its id, `<name>-<random>`. */
  readonly node: string;
  /** `leaving`: it gives its shards away, for a planned stop. `silent`: it is a member but did not answer. */
  readonly state: 'ready' | 'not-ready' | 'leaving' | 'silent';
  readonly roles: readonly string[];
  /**
   * The rest is absent of a node that did not answer. Records, or in a cluster groups of the journal, that its slowest
   * stage has still to do.
   */
  readonly lag?: number;
  /** Open MQTT connections. */
  readonly connections?: number;
  readonly shards?: number;
  readonly uptimeSeconds?: number;
  readonly version?: string;
  /** Names of its parts that are not ready. */
  readonly notReady?: readonly string[];
}

export interface NodeStates {
  /** All nodes in the order of their names; of a single node that one. */
  all(): Promise<readonly NodeState[]>;
}
