/** Where an export reads on: it asks for one page after the other with one request. */
import type { ApiRequest } from '../request/request.ts';

/** How many entries of a list were read, and the id of the last one. */
interface Position {
  readonly offset: number;
  readonly after: string | undefined;
}
const positions = new WeakMap<ApiRequest, Position>();

/**
 * Where to begin for the entry `offset`: an export asks for one page after the other with one request, and reads on
 * from there.
 */
export function positionBefore(request: ApiRequest, offset: number): Position {
  const known = positions.get(request);
  return known?.offset === offset ? known : { offset: 0, after: undefined };
}

export const keepPosition = (request: ApiRequest, position: Position): void => void positions.set(request, position);
