/** The messages of one request, in order, the connect last (docs/spec/realtime.md#messages). */
import { PlatformError } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import { answerText } from './message.ts';
import type { Advice, Request } from './message.ts';
import type { BayeuxProtocol, Requester } from './protocol.ts';
import type { ConnectTransport } from './session.ts';

export interface Batch {
  readonly protocol: BayeuxProtocol;
  readonly requester: Requester;
  readonly log: Log;
  /** One answer, in the order of the requests. */
  readonly onAnswer: (text: string) => void;
  /** All other messages are answered: where is the connect to be held? */
  readonly beforeConnect: () => ConnectTransport;
  /** The batch has no connect, or none that a session has taken: all answers are given. */
  readonly onNoConnect: () => void;
  readonly mayHold: boolean;
  /** The client has gone: nothing more is worth doing. */
  readonly isClosed: () => boolean;
}

export async function answerBatch(requests: readonly Request[], batch: Batch): Promise<void> {
  let connect: Request | undefined;
  for (const request of requests) {
    if (batch.isClosed()) return;
    if (request.channel !== '/meta/connect') {
      batch.onAnswer(await orFailure(request, batch.log, () => batch.protocol.answer(request, batch.requester)));
    } else if (connect === undefined) {
      connect = request;
    } else {
      batch.onAnswer(answerText(request, { successful: false, error: '400::More than one connect in a batch' }));
    }
  }
  if (batch.isClosed()) return;
  if (connect === undefined) {
    batch.onNoConnect();
    return;
  }
  const request = connect;
  const transport = batch.beforeConnect();
  const answer = await orFailure(request, batch.log, () =>
    batch.protocol.connect(request, batch.requester, { transport, mayHold: batch.mayHold, isClosed: batch.isClosed }),
  );
  if (answer === undefined) return;
  batch.onAnswer(answer);
  batch.onNoConnect();
}

/** A refusal, for instance of a login, and a failure of the server are answers too: the rest of the batch is kept. */
async function orFailure<Result>(request: Request, log: Log, work: () => Promise<Result>): Promise<Result | string> {
  try {
    return await work();
  } catch (error) {
    // A retry with the same credentials would fail the same way.
    if (error instanceof PlatformError && error.status !== 500) {
      const advice: Advice = { reconnect: error.status === 503 ? 'retry' : 'none' };
      return answerText(request, { successful: false, error: `${error.status}::${error.message}`, advice });
    }
    log.error({ err: error, channel: request.channel }, 'a Bayeux message could not be answered');
    return answerText(request, { successful: false, error: '500::The server failed to answer' });
  }
}
