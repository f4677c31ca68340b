/** Training of clustering models (docs/spec/scoring.md#clustering). */
import Type from 'typebox';
import { PlatformError } from '../../model/errors.ts';
import { open } from '../../model/schema/parts.ts';
import { TRAINING_BYTES_MAX, SCORING_LIMIT } from '../../scoring/limits.ts';
import type { Trainings } from '../../scoring/training/trainings.ts';
import { clusteringDocument } from '../../scoring-workers/training/clustering-document.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { flag } from '../request/schema/query-parameters.ts';
import {
  ADMIN,
  JSON_CONTENT,
  READ,
  SCORING_PATH,
  XML_CONTENT,
  answers,
  askerOf,
  inLargePieces,
  json,
} from './parts.ts';

const TRAIN = `${SCORING_PATH}/train/clustering`;
const ONE = `${TRAIN}/{modelName}`;
const NAME = 'Clustering_26-11-2026_12-00-00_a1b2c';

function trainingsOf({ platform: { trainings } }: ApiRequest): Trainings {
  if (trainings === undefined) throw new Error('this node trains no models');
  return trainings;
}

const nameOf = ({ params }: ApiRequest): string => params['modelName'] ?? '';

async function post(request: ApiRequest): Promise<Answer> {
  const autoDeploy = !request.query.isFalse('autoDeploy');
  const modelName = await trainingsOf(request).begin(
    request.platform,
    askerOf(request),
    () => bodyOf(request),
    autoDeploy,
  );
  return json({ modelName, statusUrl: `${TRAIN}/${modelName}/status` }, 202);
}

async function bodyOf(request: ApiRequest): Promise<Uint8Array> {
  if (request.bodyStream === undefined) throw new Error('the route streams its body');
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of inLargePieces(request.bodyStream)) {
    bytes += part.length;
    if (bytes > TRAINING_BYTES_MAX) {
      request.refused(SCORING_LIMIT.TRAINING_BYTES);
      throw new PlatformError('general/payload-too-large', { limit: TRAINING_BYTES_MAX });
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}

async function status(request: ApiRequest): Promise<Answer> {
  const training = await trainingsOf(request).load(request.platform, request.tenant, nameOf(request));
  const { errorMessage } = training;
  return json({ status: training.status, ...(errorMessage === undefined ? {} : { errorMessage }) });
}

async function information(request: ApiRequest): Promise<Answer> {
  const clusters = await trainingsOf(request).clusters(request.platform, request.tenant, nameOf(request));
  return json({ numberOfClusters: clusters.length, clusters });
}

async function document(request: ApiRequest): Promise<Answer> {
  const name = nameOf(request);
  const clusters = await trainingsOf(request).clusters(request.platform, request.tenant, name);
  return { status: 200, text: clusteringDocument(name, clusters), contentType: `${XML_CONTENT};charset=UTF-8` };
}

export function trainingRoutes(): Route[] {
  const Begun = open({ modelName: Type.String(), statusUrl: Type.String() });
  const example = { data: { pump1: [1, 2, 3], pump2: [1.1, 2.1, 3.1], pump3: [9, 8, 7] } };
  return [
    {
      method: 'POST',
      path: TRAIN,
      ...ADMIN,
      summary: 'Begin to group series by their shape; the server chooses how many clusters there are',
      query: { autoDeploy: flag('Whether the model is there as a PMML model when it succeeds; default true') },
      body: { form: 'stream', contents: { [JSON_CONTENT]: { schema: open({}), example } } },
      answers: [
        answers('The model that is trained', Begun, { modelName: NAME, statusUrl: `${TRAIN}/${NAME}/status` }, 202),
      ],
      handle: post,
    },
    {
      method: 'GET',
      path: `${ONE}/status`,
      ...READ,
      summary: 'Read how a training is doing',
      answers: [answers('Its status', open({ status: Type.String() }), { status: 'SUCCESS' })],
      handle: status,
    },
    {
      method: 'GET',
      path: `${ONE}/pmml`,
      ...READ,
      summary: 'Read a trained model as PMML',
      answers: [{ status: 200, description: 'The PMML document', contentTypes: [XML_CONTENT] }],
      handle: document,
    },
    {
      method: 'GET',
      path: ONE,
      ...READ,
      summary: 'Read the clusters of a trained model',
      answers: [
        answers('The clusters', open({ numberOfClusters: Type.Integer() }), {
          numberOfClusters: 2,
          clusters: [
            { centroid: [1.05, 2.05, 3.05], members: ['pump1', 'pump2'] },
            { centroid: [9, 8, 7], members: ['pump3'] },
          ],
        }),
      ],
      handle: information,
    },
  ];
}
