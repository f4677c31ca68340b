/** Groups of PMML models, and applying them (docs/spec/scoring.md#groups). */
import Type from 'typebox';
import type { StoredGroup } from '../../model/entities/scoring/group.ts';
import type { StoredModel } from '../../model/entities/scoring/model.ts';
import { safeName } from '../../model/entities/scoring/names.ts';
import { PlatformError } from '../../model/errors.ts';
import { OPEN, open } from '../../model/schema/parts.ts';
import type { Asker } from '../../scoring/asker.ts';
import { createGroup, listGroups, loadGroup, removeGroup, removeGroups, replaceGroup } from '../../scoring/groups.ts';
import { GROUP_MODELS_MAX } from '../../scoring/limits.ts';
import { loadModel } from '../../scoring/records.ts';
import type { RunningBatch } from '../../scoring/running-batches.ts';
import type { Spool } from '../../scoring/spool.ts';
import { zipped, type ZippedFile } from '../../scoring/zip-output.ts';
import { attachmentHeader } from '../http/byte-range.ts';
import { ANSWERED, type Answer } from '../request/answer.ts';
import { PAGE_PARAMETERS, pageOf } from '../request/paging.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { flag } from '../request/schema/query-parameters.ts';
import { BATCH_PARAMETERS, ZIP_TYPE, answerBatch, batchOptions, writeBatch } from './batches.ts';
import {
  ADMIN,
  BATCH_BODY,
  FILE_HEADERS,
  FILE_QUERY,
  READ,
  SCORING_PATH,
  answers,
  askerOf,
  json,
  pageOfList,
  readContent,
  scoringOf,
} from './parts.ts';

const GROUPS = `${SCORING_PATH}/pmml/groups`;
const GROUP = `${GROUPS}/{groupName}`;
const APPLY = `${SCORING_PATH}/pmml/apply-group/{groupName}`;
const NAME_LENGTH_MAX = 200;
/** Numbers that differ by the last digits of a double are the same. */
const MATCH_SCORE_DEFAULT = 0.999999;

const Name = Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX });
const Group = Type.Object(
  {
    groupName: Name,
    models: Type.Array(Name, { minItems: 1, maxItems: GROUP_MODELS_MAX }),
    primaryModel: Name,
  },
  OPEN,
);
const EXAMPLE = { groupName: 'quality', models: ['Quality1', 'Quality2'], primaryModel: 'Quality1' };
const Groups = open({ groups: Type.Array(Group) });
const GROUPS_EXAMPLE = {
  groups: [EXAMPLE],
  next: null,
  prev: null,
  statistics: { currentPage: 1, totalPages: null, pageSize: 5 },
};
const { pageSize, currentPage, withTotalPages } = PAGE_PARAMETERS;

async function list(request: ApiRequest): Promise<Answer> {
  const groups = await listGroups(request.platform, request.tenant);
  return json(pageOfList(request, { member: 'groups', path: '/pmml/groups' }, groups, pageOf(request)));
}

const groupOf = ({ platform, tenant, params }: ApiRequest): Promise<StoredGroup> =>
  loadGroup(platform, tenant, params['groupName'] ?? '');

/** The group of the body. @throws PlatformError 400 for a primary model that is not among the models. */
function sentGroup(request: ApiRequest): StoredGroup {
  const { groupName, models, primaryModel } = JSON.parse(request.bodyText()) as StoredGroup;
  if (!models.includes(primaryModel))
    throw new PlatformError('scoring/bad-field', {
      name: 'primaryModel',
      value: primaryModel,
      limit: 'one of the models of the group',
    });
  return { groupName: safeName(groupName), models: [...new Set(models)], primaryModel };
}

async function post(request: ApiRequest): Promise<Answer> {
  const group = sentGroup(request);
  await createGroup(request.platform, askerOf(request), group);
  return json(group, 201);
}

async function put(request: ApiRequest): Promise<Answer> {
  const group = sentGroup(request);
  await replaceGroup(request.platform, askerOf(request), group);
  return json(group);
}

async function remove(request: ApiRequest): Promise<Answer> {
  await removeGroup(request.platform, askerOf(request), request.params['groupName'] ?? '');
  return list(request);
}

async function removeAll(request: ApiRequest): Promise<Answer> {
  await removeGroups(request.platform, askerOf(request));
  return list(request);
}

async function applyGroup(request: ApiRequest): Promise<typeof ANSWERED> {
  const { groupName, models, primaryModel } = await groupOf(request);
  const names = request.query.isTrue('applyAllModels') ? models : [primaryModel];
  return answerBatch(request, { modelName: primaryModel, groupName }, async (asker, results, running) => {
    const input = scoringOf(request).spool(asker);
    try {
      // Each model reads the records from their beginning.
      const fileName = await readContent(request, async (content, name) => {
        for await (const piece of content) await input.write(piece);
        return name;
      });
      const files = filesOf(request, asker, names, { fileName, input, running });
      for await (const piece of zipped(files)) await results.write(piece);
    } finally {
      await input.close();
    }
    return ['Content-Type', ZIP_TYPE, 'Content-Disposition', attachmentHeader(`${groupName}.zip`)];
  });
}

async function* filesOf(
  request: ApiRequest,
  asker: Asker,
  names: readonly string[],
  { fileName, input, running }: { readonly fileName: string; readonly input: Spool; readonly running: RunningBatch },
): AsyncGenerator<ZippedFile> {
  for (const name of names) {
    const model = await loadModel(request.platform, request.tenant, 'pmml', name);
    const { pieces } = await scoringOf(request).openBatch(asker, model, { content: input.read(), fileName }, running, {
      ...batchOptions(request),
      output: 'csv',
      isFileFault: true,
    });
    yield { name: `${name}.csv`, pieces };
  }
}

async function applyDetail(request: ApiRequest): Promise<typeof ANSWERED> {
  const { groupName, primaryModel } = await groupOf(request);
  const model: StoredModel = await loadModel(request.platform, request.tenant, 'pmml', primaryModel);
  const matchScore = matchScoreOf(request);
  return answerBatch(request, { modelName: primaryModel, groupName }, (asker, results, running) =>
    readContent(request, async (content, fileName) => {
      const { packing, pieces } = await scoringOf(request).openBatch(asker, model, { content, fileName }, running, {
        ...batchOptions(request),
        output: 'csv',
        isFileFault: true,
        detail: { matchScore },
      });
      return writeBatch(results, { packing, pieces, output: 'csv' }, primaryModel);
    }),
  );
}

/** @throws PlatformError 400 for what is not a number from 0 to 1. */
function matchScoreOf({ query }: ApiRequest): number {
  const sent = query.text('matchScore');
  if (sent === undefined) return MATCH_SCORE_DEFAULT;
  const score = Number(sent);
  if (score >= 0 && score <= 1) return score;
  throw new PlatformError('scoring/bad-field', { name: 'matchScore', value: sent, limit: 'a number from 0 to 1' });
}

export function groupRoutes(): Route[] {
  const page = [answers('A page of groups', Groups, GROUPS_EXAMPLE)];
  const one = [answers('The group', Group, EXAMPLE)];
  const query = { pageSize, currentPage, withTotalPages };
  const body = { schema: Group, example: EXAMPLE };
  const batch = { headers: FILE_HEADERS, body: BATCH_BODY } as const;
  return [
    {
      method: 'GET',
      path: GROUPS,
      ...READ,
      summary: 'List the groups of PMML models',
      query,
      answers: page,
      handle: list,
    },
    {
      method: 'POST',
      path: GROUPS,
      ...ADMIN,
      summary: 'Create a group of PMML models with the same inputs and outputs',
      body,
      answers: [answers('The group', Group, EXAMPLE, 201)],
      handle: post,
    },
    {
      method: 'PUT',
      path: GROUPS,
      ...ADMIN,
      summary: 'Replace the group of PMML models that the body names',
      body,
      answers: one,
      handle: put,
    },
    {
      method: 'DELETE',
      path: GROUPS,
      ...ADMIN,
      summary: 'Delete all groups of PMML models',
      query,
      answers: page,
      handle: removeAll,
    },
    {
      method: 'GET',
      path: GROUP,
      ...READ,
      summary: 'Read a group of PMML models',
      answers: one,
      handle: groupOfRequest,
    },
    {
      method: 'DELETE',
      path: GROUP,
      ...ADMIN,
      summary: 'Delete a group of PMML models; the models stay',
      query,
      answers: page,
      handle: remove,
    },
    {
      method: 'POST',
      path: APPLY,
      ...READ,
      summary: 'Apply the primary model of a group, or all of its models, to many records',
      query: {
        ...FILE_QUERY,
        ...BATCH_PARAMETERS,
        applyAllModels: flag('All models of the group, not only its primary model'),
      },
      ...batch,
      answers: [{ status: 200, description: 'CSV of each model, in ZIP', contentTypes: [ZIP_TYPE] }],
      handle: applyGroup,
    },
    {
      method: 'POST',
      path: `${APPLY}/detail`,
      ...READ,
      summary: 'Compare what the primary model of a group computes with what the records expect',
      query: {
        ...FILE_QUERY,
        ...BATCH_PARAMETERS,
        matchScore: {
          schema: Type.String(),
          description: `From which score on, 0 to 1, a value counts as a match; default ${MATCH_SCORE_DEFAULT}`,
        },
      },
      ...batch,
      answers: [
        {
          status: 200,
          description:
            'CSV: the columns of the input, and what was expected, computed and matches; in ZIP where the input is',
          contentTypes: ['text/csv', ZIP_TYPE],
        },
      ],
      handle: applyDetail,
    },
  ];
}

async function groupOfRequest(request: ApiRequest): Promise<Answer> {
  return json(await groupOf(request));
}
