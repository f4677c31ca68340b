/**
 * The way of every request: phases in this order, each of which lets it go on, has it wait or answers. What a phase
 * refuses is the answer, so their order is that of errors. The whole way is synchronous when the credentials are
 * remembered, but for the wait for the body.
 */
import { authorise } from './authorise.ts';
import { awaitBody, checkContentType } from './body.ts';
import { checkCredentials, requireCredentials } from './credentials.ts';
import { handle } from './handle.ts';
import { answerPreflight, refuseHead } from './head.ts';
import { identify, refuseOtherSites, takeShare } from './identity.ts';
import { CONTINUE, type CheckedPassage, type CheckedPhase, type Passage, type Phase } from './passage.ts';
import { findRoute, overrideMethod } from './route.ts';
import { checkBody, chooseMediaType, readMode, readQuery } from './validation.ts';

const PHASES: readonly Phase[] = [
  refuseHead,
  answerPreflight,
  overrideMethod,
  findRoute,
  requireCredentials,
  checkCredentials,
  identify,
  refuseOtherSites,
  takeShare,
  authorise,
  checkContentType,
  awaitBody,
  readQuery,
  chooseMediaType,
  readMode,
  checkBody,
  handle,
];

/** Those of a request that this server asks of itself for a user: its body is there, and its mode is set. */
const INNER_PHASES: readonly CheckedPhase[] = [
  authorise,
  checkContentType,
  readQuery,
  chooseMediaType,
  checkBody,
  handle,
];

/** The way of a request without a client of its own; an error that a phase throws is the answer. */
export function proceedWithin(passage: CheckedPassage): void {
  try {
    for (const phase of INNER_PHASES) if (phase(passage) !== CONTINUE) return;
  } catch (error) {
    passage.request.fail(error);
  }
}

/** Runs phases from `next` on, until one waits or has answered; an error that one throws is the answer. */
export function proceed(passage: Passage): void {
  try {
    for (let index = passage.next; index < PHASES.length; index += 1) {
      passage.next = index + 1;
      if (PHASES[index](passage) !== CONTINUE) return;
    }
  } catch (error) {
    passage.parts.answers.fail(passage.request, error);
  }
}
