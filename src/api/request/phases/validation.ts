/**
 * What a request says, when all of it is there: query, media type of the answer, processing mode, members of its body.
 */
import { processingModeOf } from '../../../model/commands/processing-mode.ts';
import { PlatformError } from '../../../model/errors.ts';
import { chooseKind, type MediaKind } from '../../http/media-types.ts';
import { parseQuery } from '../schema/query-values.ts';
import { CONTINUE, type CheckedPassage, type Outcome, type Passage } from './passage.ts';

const DEFAULT_PRODUCES: readonly MediaKind[] = ['vendor', 'json'];
const NO_NAMES: ReadonlySet<string> = new Set();

/** @throws PlatformError `general/invalid-parameter` and others of queries. */
export function readQuery({ compiled, request, parts }: CheckedPassage): Outcome {
  request.query = parseQuery(request.exchange.queryText);
  compiled?.checkQuery?.(request.query);
  if (compiled !== undefined) parts.unknownParameters.note(request);
  return CONTINUE;
}

/** @throws PlatformError 406. */
export function chooseMediaType({ request }: CheckedPassage): Outcome {
  if (!request.accept.isPresent || request.method === 'DELETE') return CONTINUE;
  const kind = chooseKind(request.accept, request.route.produces ?? DEFAULT_PRODUCES);
  if (kind === undefined) throw new PlatformError('general/not-acceptable', { accept: request.accept.text ?? '' });
  request.kind = kind;
  return CONTINUE;
}

/** @throws PlatformError `general/invalid-parameter`. */
export function readMode({ modeName, request }: Passage): Outcome {
  if (modeName === '') return CONTINUE;
  const mode = processingModeOf(modeName.trim());
  if (mode === undefined) {
    throw new PlatformError('general/invalid-parameter', {
      name: 'X-Platform-Processing-Mode',
      value: modeName,
      limit: 'one of PERSISTENT, TRANSIENT, QUIESCENT, CEP',
    });
  }
  request.mode = mode;
  return CONTINUE;
}

/** Gives the request its body. @throws PlatformError of bodies that are not JSON or not of their schema. */
export function checkBody(passage: CheckedPassage): Outcome {
  const { bytes, compiled, request } = passage;
  if (bytes === undefined || compiled === undefined) return CONTINUE;
  passage.bytes = undefined;
  request.receive(bytes);
  const { form = 'json', isOptional } = compiled.route.body ?? {};
  if (form !== 'json' || (isOptional === true && bytes.length === 0)) return CONTINUE;
  const { validator } = compiled;
  const value = request.leaveOutNulls(validator?.droppedNulls ?? NO_NAMES);
  validator?.checkValue(value);
  return CONTINUE;
}
