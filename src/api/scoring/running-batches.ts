/** Batches under way (docs/spec/scoring.md#batch). */
import Type from 'typebox';
import { formatTime } from '../../model/documents/iso-time.ts';
import { open } from '../../model/schema/parts.ts';
import type { RunningBatch } from '../../scoring/running-batches.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { answers, json, READ, SCORING_PATH, scoringOf } from './parts.ts';

const Running = open({
  batches: Type.Array(
    open({
      id: Type.String(),
      userName: Type.String(),
      groupName: Type.Optional(Type.String()),
      modelName: Type.String(),
      records: Type.Integer(),
      startTime: Type.String(),
    }),
  ),
});
const EXAMPLE = {
  batches: [
    { id: '12', userName: 'ann', modelName: 'Iris', records: 1_250_000, startTime: '2026-11-26T12:00:00.000Z' },
  ],
};

const shown = ({ id, user, groupName, modelName, records, startedAt }: RunningBatch): object => ({
  id,
  userName: user,
  ...(groupName === undefined ? {} : { groupName }),
  modelName,
  records,
  startTime: formatTime(startedAt),
});

async function list(request: ApiRequest): Promise<Answer> {
  return json({ batches: scoringOf(request).batches.of(request.tenant).map(shown) });
}

export const runningBatchRoutes = (): Route[] => [
  {
    method: 'GET',
    path: `${SCORING_PATH}/batches`,
    ...READ,
    summary:
      'List the batches of the tenant that are under way on the node that answers, with the records scored so far',
    answers: [answers('The batches, the oldest first', Running, EXAMPLE)],
    handle: list,
  },
];
