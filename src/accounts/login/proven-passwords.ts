/**
 * Passwords that were right on this node. One needs no slow check while the stored hash is the one that it was checked
 * against. So a user logs in from a familiar address (guard.ts) although others fill the account's queue with wrong
 * passwords.
 */
import { LRUCache } from 'lru-cache';
import { upTo } from '../../pacing/lru-bound.ts';

const SIZE_MAX = 20_000;

export interface ProvenPassword {
  readonly userName: string;
  /** As stored, see model/access/password-hash.ts. */
  readonly hash: string;
}

/** By a key of tenant, name and password, made with a secret of the process. */
export class ProvenPasswords extends LRUCache<string, ProvenPassword> {
  constructor() {
    super(upTo(SIZE_MAX));
  }
}
