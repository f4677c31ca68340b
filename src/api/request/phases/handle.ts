/** The handler of a request's route, and its answer. */
import { findChildrenOfDevice, isListOfDevice } from '../../lists/owner.ts';
import { ANSWERED } from '../answer.ts';
import { DONE, type Outcome, type Passage } from './passage.ts';

/** The last phase. @throws PlatformError of the handler. */
export function handle({ compiled, request, parts: { answers } }: Passage): Outcome {
  if (compiled === undefined) throw new Error('a path without a route is refused before');
  const { route } = compiled;
  const answer = isListOfDevice(request)
    ? findChildrenOfDevice(request).then(() => route.handle(request))
    : route.handle(request);
  if (answer instanceof Promise) {
    answer
      .then((later) => {
        if (later !== ANSWERED) answers.answer(request, later);
      })
      .catch((error: unknown) => answers.fail(request, error));
  } else if (answer !== ANSWERED) answers.answer(request, answer);
  return DONE;
}
