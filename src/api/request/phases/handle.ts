/** The handler of a request's route, and its answer. */
import { findChildrenOfDevice, isListOfDevice } from '../../lists/owner.ts';
import { ANSWERED } from '../answer.ts';
import { DONE, type CheckedPassage, type Outcome } from './passage.ts';

/** The last phase. @throws PlatformError of the handler. */
export function handle({ compiled, request }: CheckedPassage): Outcome {
  if (compiled === undefined) throw new Error('a path without a route is refused before');
  const { route } = compiled;
  const answer = isListOfDevice(request)
    ? findChildrenOfDevice(request).then(() => route.handle(request))
    : route.handle(request);
  if (answer instanceof Promise) {
    answer
      .then((later) => {
        if (later !== ANSWERED) request.answer(later);
      })
      .catch((error: unknown) => request.fail(error));
  } else if (answer !== ANSWERED) request.answer(answer);
  return DONE;
}
