/** A request that the server asks of itself for a user (phases/inner-requests.ts). */
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { CalledAs } from '../http/base-url.ts';
import type { Shares } from '../../pacing/shares.ts';
import type { RouteRules } from './route-rules.ts';

export interface InnerRequest {
  readonly principal: Principal;
  readonly method: string;
  /** Path, perhaps with a query, percent-encoded. */
  readonly uri: string;
  /** Header values; '' for none. */
  readonly contentType: string;
  readonly accept: string;
  readonly applicationKey: string;
  readonly body: string;
  readonly mode: ProcessingMode;
  /** For links. */
  readonly called: CalledAs;
  /** Of the client for which it is asked; '' when it is not known. */
  readonly remoteAddress: string;
  /** Aborts when the client for which it is asked has gone. */
  readonly signal: AbortSignal;
}

export interface InnerAnswer {
  readonly status: number;
  /** JSON; '' for none. */
  readonly text: string;
}

export interface InnerRequester {
  /** Characters of answers that are being made of what was asked. */
  readonly answers: Shares;
  /**
   * @param isOpen which routes may be asked; others are not found.
   * @returns the status of every refusal too: it never throws.
   */
  run(asked: InnerRequest, isOpen: (route: RouteRules) => boolean): Promise<InnerAnswer>;
}
