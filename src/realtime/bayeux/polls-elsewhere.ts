/**
 * Port of long polls whose session is on another node of the cluster (docs/spec/realtime.md#sessions: a session is the
 * client's, wherever its requests come in).
 */
import type { LongPollResponder } from './long-polling.ts';
import type { Request } from './message.ts';
import type { Requester } from './protocol.ts';

export interface LongPollRequest {
  /** The body as it came. */
  readonly text: string;
  readonly requests: readonly Request[];
  readonly requester: Requester;
}

/** Answers a long poll of a client of another node. @throws PlatformError when the text is not a Bayeux request. */
export type LongPollAnswerer = (text: string, requester: Requester, responder: LongPollResponder) => void;

export interface PollsElsewhere {
  /** How the client ids of this node's sessions end, so that the others find it. */
  readonly clientIdEnd: string;
  /** Begins to answer the polls that other nodes hand on. */
  start(answerer: LongPollAnswerer): void;
  /**
   * Hands a poll to the node that has the session. @returns false when that is this node: answer it here.
   */
  relay(poll: LongPollRequest, responder: LongPollResponder): boolean;
  /** Answers what waits for other nodes: this one is stopping. */
  close(): void;
}
