/** What marks a prediction, so that bindings do not score their own results for ever (docs/spec/scoring.md#bindings). */
import { MARK } from '../../scoring-workers/measurements/plan.ts';

/** Predictions of predictions of … a measurement of a device. */
export const DEPTH_MAX = 3;

const NAME = Buffer.from(`"${MARK}"`);
/** Behind the name, in all marks that the server writes. */
const DEPTH = Buffer.from(':{"depth":');
const ZERO = 0x30;

export interface Mark {
  /** 1: of a measurement of a device. */
  readonly depth: number;
  readonly model: string;
  /** Of the content of the model: another one with each upload. */
  readonly version: string;
  readonly bindingId: string;
}

/** As JSON, the depth first. */
export const markText = ({ depth, model, version, bindingId }: Mark): string =>
  JSON.stringify({ depth, model, version, bindingId });

/**
 * @param bytes of the document of a measurement, `[start, end)` @returns 0 for one that is not marked, DEPTH_MAX where
 * the mark is not one that the server has written
 */
export function depthOf(bytes: Buffer, start: number, end: number): number {
  if (start === end) return 0;
  const document = bytes.subarray(start, end);
  const at = document.indexOf(NAME);
  if (at < 0) return 0;
  const depthAt = at + NAME.length;
  const digitAt = depthAt + DEPTH.length;
  if (digitAt >= document.length || document.compare(DEPTH, 0, DEPTH.length, depthAt, digitAt) !== 0) return DEPTH_MAX;
  const depth = (document[digitAt] as number) - ZERO;
  return depth >= 1 && depth < DEPTH_MAX ? depth : DEPTH_MAX;
}
