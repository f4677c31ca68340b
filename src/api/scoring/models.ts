/** PMML models (docs/spec/scoring.md#models). */
import { createGzip } from 'node:zlib';
import { Readable, pipeline } from 'node:stream';
import Type from 'typebox';
import { VERSION } from '../../config/project.ts';
import type { StoredModel } from '../../model/entities/scoring/model.ts';
import { PlatformError } from '../../model/errors.ts';
import { Text, Timestamp, open } from '../../model/schema/parts.ts';
import { leftGroup, removeGroups } from '../../scoring/groups.ts';
import { UNPACKED_BYTES_MAX } from '../../scoring/limits.ts';
import {
  activateModel,
  listModels,
  loadModel,
  modelInformation,
  removeModel,
  removeModels,
} from '../../scoring/records.ts';
import { shownModel } from '../../scoring/uploads.ts';
import { SERIALIZED_MARK, unpacked } from '../../scoring-workers/content/unpacked.ts';
import { attachmentHeader } from '../http/byte-range.ts';
import { ANSWERED, type Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { flag } from '../request/schema/query-parameters.ts';
import {
  ADMIN,
  FILE_BODY,
  FILE_HEADERS,
  FILE_QUERY,
  READ,
  SCORING_PATH,
  XML_CONTENT,
  answers,
  askerOf,
  json,
  jsonText,
  scoringOf,
  storeUpload,
} from './parts.ts';

const MODELS = `${SCORING_PATH}/models`;
const MODEL = `${SCORING_PATH}/model/{modelName}`;
const OCTETS = 'application/octet-stream';
const BYTES_OF_MIB = 1_048_576;

const Fields = Type.Array(open({ usage: Text, name: Text, type: Text }));
const Information = open({
  modelName: Text,
  description: Text,
  creationDate: Timestamp,
  isActive: Type.Boolean(),
  inputFields: Fields,
  outputFields: Fields,
});
const INFORMATION_EXAMPLE = {
  modelName: 'Iris',
  description: 'Species by the lengths of leaves',
  creationDate: '2024-05-02T10:00:00.000Z',
  isActive: true,
  inputFields: [{ usage: 'ACTIVE', name: 'petal_length', type: 'DOUBLE' }],
  outputFields: [{ usage: 'OUTPUT', name: 'predictedValue', type: 'STRING' }],
};
const Names = open({ models: Type.Array(Text) });
const Metrics = open({ modelSize: Text, usedMemory: Text, freeMemory: Text, totalMemory: Text });

/** The model that the path names. @throws PlatformError 404. */
export const modelOf = ({ platform, tenant, params }: ApiRequest): Promise<StoredModel> =>
  loadModel(platform, tenant, 'pmml', params['modelName'] ?? '');

const remaining = async ({ platform, tenant }: ApiRequest): Promise<Answer> =>
  json({ models: await listModels(platform, tenant, 'pmml') });

async function information(request: ApiRequest, model: StoredModel, status = 200): Promise<Answer> {
  const fields = await modelInformation(request.platform, request.tenant, 'pmml', model.name);
  return jsonText(shownModel(model, fields), status);
}

async function upload(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const file = await storeUpload(request);
  const uploaded = await scoringOf(request).uploadModel(request.platform, askerOf(request), file);
  if ('model' in uploaded) return jsonText(shownModel(uploaded.model, uploaded.information), 201);
  return answerDocument(request, uploaded.annotated);
}

/** Answers with a document that may be large: it waits for its client on the disk. */
async function answerDocument(
  request: ApiRequest,
  document: Uint8Array,
  headers: readonly string[] = [],
): Promise<typeof ANSWERED> {
  const spool = scoringOf(request).spool(askerOf(request));
  try {
    await spool.write(document);
    await request.sendContent(200, ['Content-Type', XML_CONTENT, ...headers], spool.bytes, spool.read());
  } finally {
    await spool.close();
  }
  return ANSWERED;
}

const activate =
  (isActive: boolean) =>
  async (request: ApiRequest): Promise<Answer> => {
    const name = request.params['modelName'] ?? '';
    return information(request, await activateModel(request.platform, askerOf(request), 'pmml', name, isActive));
  };

const leftGroupOf = (request: ApiRequest) => (name: string) => () =>
  leftGroup(request.platform, askerOf(request), name);

async function remove(request: ApiRequest): Promise<Answer> {
  const name = request.params['modelName'] ?? '';
  await removeModel(request.platform, askerOf(request), 'pmml', name, leftGroupOf(request)(name));
  return remaining(request);
}

async function removeAll(request: ApiRequest): Promise<Answer> {
  await removeGroups(request.platform, askerOf(request));
  await removeModels(request.platform, askerOf(request), 'pmml', leftGroupOf(request));
  return remaining(request);
}

/** The document as it was uploaded, unpacked. @throws PlatformError 404 when it was deleted meanwhile. */
async function documentOf(request: ApiRequest, { name, blob }: StoredModel): Promise<AsyncIterable<Uint8Array>> {
  const content = await request.platform.blobs.read(blob);
  if (content === undefined) throw new PlatformError('scoring/model-not-found', { name });
  return (await unpacked(content, { bytesMax: UNPACKED_BYTES_MAX })).pieces;
}

async function source(request: ApiRequest): Promise<typeof ANSWERED> {
  const model = await modelOf(request);
  const headers = ['Content-Disposition', attachmentHeader(`${model.name}.pmml`)];
  if (request.query.isTrue('annotated')) {
    const annotated = await scoringOf(request).annotate(request.platform, askerOf(request), model);
    return answerDocument(request, annotated, headers);
  }
  const pieces = await documentOf(request, model);
  request.stream(200, XML_CONTENT, headers);
  await request.exchange.pipe(pieces);
  return ANSWERED;
}

/** The server's own form: a line with the version, and the document behind it, compressed. */
async function serialized(request: ApiRequest): Promise<typeof ANSWERED> {
  const model = await modelOf(request);
  const pieces = await documentOf(request, model);
  request.stream(200, OCTETS, ['Content-Disposition', attachmentHeader(`${model.name}.model`)]);
  await request.exchange.pipe(serializedForm(pieces));
  return ANSWERED;
}

async function* serializedForm(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${SERIALIZED_MARK}${VERSION}\n`);
  const gzip = createGzip();
  // Errors of the pieces reach the code that iterates.
  pipeline(Readable.from(pieces), gzip, () => undefined);
  yield* gzip as AsyncIterable<Uint8Array>;
}

/** As clients know it: `.04 MB`. */
const megabytes = (bytes: number): string => `${(bytes / BYTES_OF_MIB).toFixed(2).replace(/^0\./, '.')} MB`;

async function metrics(request: ApiRequest): Promise<Answer> {
  const model = await modelOf(request);
  const scoring = scoringOf(request);
  if (!model.isActive)
    return json({
      memoryMetricsErrorMsg: `The model '${model.name}' is not active: it takes no memory.`,
      predictionMetricsErrorMsg: `The model '${model.name}' is not active: its predictions are not counted.`,
    });
  const { modelBytesMax, threads } = scoring.pool;
  const total = modelBytesMax * threads;
  const used = scoring.pool.loadedBytes(request.tenant);
  const memory = {
    modelSize: megabytes(model.compiledBytes),
    usedMemory: megabytes(used),
    // Models of other tenants give way.
    freeMemory: megabytes(Math.max(0, total - used)),
    totalMemory: megabytes(total),
  };
  const predicted = scoring.predictionsOf(request.tenant, model);
  if (predicted === undefined)
    return json({ ...memory, predictionMetricsErrorMsg: `The model '${model.name}' has not predicted anything yet.` });
  const { classes, numbers } = predicted;
  const predictionMetrics =
    numbers === undefined
      ? Object.fromEntries(classes)
      : {
          Minimum: numbers.minimum,
          FirstQuartile: numbers.firstQuartile,
          Median: numbers.median,
          ThirdQuartile: numbers.thirdQuartile,
          Maximum: numbers.maximum,
          TotalObservations: numbers.count,
        };
  return json({ ...memory, predictionMetrics });
}

export function modelRoutes(): Route[] {
  const one = [answers('The model', Information, INFORMATION_EXAMPLE)];
  const names = (description: string) => [answers(description, Names, { models: ['Iris'] })];
  const document = [{ status: 200, description: 'The document', contentTypes: [XML_CONTENT] }];
  return [
    {
      method: 'GET',
      path: MODELS,
      ...READ,
      summary: 'List the names of the PMML models',
      answers: names('The names'),
      handle: remaining,
    },
    {
      method: 'DELETE',
      path: MODELS,
      ...ADMIN,
      summary: 'Delete all PMML models',
      answers: names('None'),
      handle: removeAll,
    },
    {
      method: 'POST',
      path: `${SCORING_PATH}/model`,
      ...ADMIN,
      summary: 'Upload a PMML model: XML, in ZIP or gzip too, or a serialised model of this version',
      query: {
        ...FILE_QUERY,
        applyCleanser: {
          schema: Type.Boolean({ default: true }),
          description: 'Taken; documents of older versions are read as they are',
        },
      },
      headers: FILE_HEADERS,
      body: FILE_BODY,
      answers: [
        answers('The model, which is active', Information, INFORMATION_EXAMPLE, 201),
        {
          status: 200,
          description: 'The document with its errors as comments: it is not deployed',
          contentTypes: [XML_CONTENT],
        },
      ],
      handle: upload,
    },
    {
      method: 'GET',
      path: MODEL,
      ...READ,
      summary: 'Read what a PMML model is',
      answers: one,
      handle: async (request) => information(request, await modelOf(request)),
    },
    {
      method: 'DELETE',
      path: MODEL,
      ...ADMIN,
      summary: 'Delete a PMML model',
      answers: names('The names of those that are left'),
      handle: remove,
    },
    {
      method: 'PUT',
      path: `${MODEL}/activate`,
      ...ADMIN,
      summary: 'Activate a PMML model',
      answers: one,
      handle: activate(true),
    },
    {
      method: 'PUT',
      path: `${MODEL}/deactivate`,
      ...ADMIN,
      summary: 'Deactivate a PMML model: its memory is freed',
      answers: one,
      handle: activate(false),
    },
    {
      method: 'GET',
      path: `${MODEL}/source`,
      ...READ,
      summary: 'Download the document of a PMML model',
      query: { annotated: flag('With warnings as comments') },
      answers: document,
      handle: source,
    },
    {
      method: 'GET',
      path: `${MODEL}/serialized`,
      ...READ,
      summary: 'Download a PMML model in the form of this version',
      answers: [
        {
          status: 200,
          description: 'The model, for an upload to a server of the same version',
          contentTypes: [OCTETS],
        },
      ],
      handle: serialized,
    },
    {
      method: 'GET',
      path: `${MODEL}/metrics`,
      ...READ,
      summary: 'Read what memory a PMML model takes and what it has predicted',
      answers: [
        answers('Texts with a unit, and counts of predictions', Metrics, {
          modelSize: '.04 MB',
          usedMemory: '.04 MB',
          freeMemory: '255.96 MB',
          totalMemory: '256.00 MB',
          predictionMetrics: { setosa: 2 },
        }),
      ],
      handle: metrics,
    },
  ];
}
