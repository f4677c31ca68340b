/** The documents of all shards on Redis, for the owners of this node and for its gateways. */
import type { ClusterDocuments, ShardDocuments } from '../../ports/cluster/documents.ts';
import type { Log } from '../../ports/log.ts';
import type { RedisConnection } from './connection.ts';
import { RedisDocumentReader } from './document-reader.ts';
import { RedisDocuments } from './documents.ts';
import type { RedisDurability } from './durability.ts';

export interface RedisClusterDocumentsOptions {
  /** For owners: each commit is sent at once. */
  readonly owners: RedisConnection;
  /** For gateways: with `autoPipelining`. */
  readonly gateways: RedisConnection;
  readonly prefix: string;
  /** This process, see RedisDocumentsOptions. */
  readonly owner: string;
  readonly durability: RedisDurability;
  readonly log: Log;
}

export class RedisClusterDocuments implements ClusterDocuments {
  readonly reader: RedisDocumentReader;
  readonly #options: RedisClusterDocumentsOptions;
  /** Opened last for each shard. */
  readonly #opened = new Map<number, RedisDocuments>();

  constructor(options: RedisClusterDocumentsOptions) {
    this.#options = options;
    this.reader = new RedisDocumentReader(options.gateways, options.prefix);
  }

  open(shard: number, onLostState: () => void): ShardDocuments {
    const { owners, prefix, owner, durability, log } = this.#options;
    const documents = new RedisDocuments({
      connection: owners,
      prefix,
      shard,
      owner,
      durability,
      log,
      onLostState: () => onLostState(),
    });
    this.#opened.set(shard, documents);
    return documents;
  }

  /**
   * What Redis answers to a shard of this node instead of taking its commits (full, read-only, loading), and whether it
   * says so to all of them.
   */
  get refused(): { readonly problem: string; readonly isAll: boolean } | undefined {
    const answers = [...this.#opened.values()]
      .filter(({ isStopped }) => !isStopped)
      .map(({ unavailable }) => unavailable);
    const problem = answers.find((answer) => answer !== undefined);
    return problem === undefined ? undefined : { problem, isAll: !answers.includes(undefined) };
  }
}
