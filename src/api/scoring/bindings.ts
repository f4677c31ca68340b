/** Models that score measurements as they come in (docs/spec/scoring.md#bindings). */
import Type from 'typebox';
import type { BindingConfiguration, StoredBinding } from '../../model/entities/scoring/binding.ts';
import { PlatformError } from '../../model/errors.ts';
import { open } from '../../model/schema/parts.ts';
import {
  createBinding,
  listBindings,
  loadBinding,
  removeBinding,
  removeBindings,
  replaceBinding,
} from '../../scoring/bindings/bindings.ts';
import { readBindingConfiguration } from '../../scoring/bindings/configuration.ts';
import type { LiveBindings } from '../../scoring/bindings/live-bindings.ts';
import { planOf, signatureOf } from '../../scoring/bindings/signature.ts';
import { JobConfigurationError } from '../../scoring/jobs/configuration.ts';
import { modelInformation } from '../../scoring/records.ts';
import type { Answer } from '../request/answer.ts';
import { PAGE_PARAMETERS, pageOf } from '../request/paging.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { ADMIN, answers, askerOf, json, pageOfList, READ, requireTarget, SCORING_PATH } from './parts.ts';

const BINDINGS = `${SCORING_PATH}/bindings`;
const ONE = `${BINDINGS}/{bindingId}`;
const MODEL_TYPES = { pmml: 'PMML', onnx: 'ONNX' } as const;
const { pageSize, currentPage, withTotalPages } = PAGE_PARAMETERS;

const Binding = open({ id: Type.String(), bindingName: Type.String() });
const EXAMPLE = {
  bindingName: 'Ovens that overheat',
  modelName: 'oven',
  modelType: 'PMML',
  measurementType: 'oven',
  groupOrDeviceId: 4711,
  modelToDeviceMappings: { temperature: 'oven.temperature.value', rise: 'oven.rise.value' },
  allowMissing: false,
  scorePredictions: false,
  isActive: true,
  output: {
    measurement: { type: 'ovenRisk', fragment: 'ovenRisk', outputs: { risk: 'risk' } },
    alarm: {
      type: 'ovenOverheats',
      severity: 'MAJOR',
      text: 'The oven overheats: {value}',
      output: 'risk',
      above: 0.9,
      clearBelow: 0.5,
    },
  },
};
const TIME = '2026-11-26T12:00:00.000Z';
const CREATED_EXAMPLE = { id: '5001', creationTime: TIME, lastUpdated: TIME, ...EXAMPLE };
const Page = open({ bindings: Type.Array(Binding), statistics: open({ currentPage: Type.Integer() }) });
const PAGE_EXAMPLE = {
  bindings: [CREATED_EXAMPLE],
  next: null,
  prev: null,
  statistics: { currentPage: 1, totalPages: null, pageSize: 5 },
};
const Metrics = open({
  state: Type.Enum(['ACTIVE', 'INACTIVE', 'WAITING']),
  reason: Type.Union([Type.String(), Type.Null()]),
  received: Type.Integer(),
  leftOut: Type.Integer(),
  scored: Type.Integer(),
  incomplete: Type.Integer(),
  refused: Type.Integer(),
  shed: Type.Integer(),
  failed: Type.Integer(),
  lastError: Type.Union([Type.String(), Type.Null()]),
  lastErrorTime: Type.Union([Type.String(), Type.Null()]),
});
const METRICS_EXAMPLE = {
  state: 'ACTIVE',
  reason: null,
  received: 1200,
  leftOut: 0,
  scored: 1190,
  incomplete: 10,
  refused: 0,
  shed: 0,
  failed: 0,
  lastError: null,
  lastErrorTime: null,
};

function shown(binding: StoredBinding): object {
  const { output, groupOrDeviceId, measurementType } = binding;
  const { event, alarm, measurement } = output;
  return {
    id: String(binding.id),
    creationTime: binding.creationTime,
    lastUpdated: binding.lastUpdated,
    bindingName: binding.bindingName,
    modelName: binding.modelName,
    modelType: MODEL_TYPES[binding.modelKind],
    ...(measurementType === undefined ? {} : { measurementType }),
    ...(groupOrDeviceId === undefined ? {} : { groupOrDeviceId: Number(groupOrDeviceId) }),
    modelToDeviceMappings: binding.modelToDeviceMappings,
    allowMissing: binding.allowsMissing,
    scorePredictions: binding.scoresPredictions,
    isActive: binding.isActive,
    output: {
      ...(measurement === undefined ? {} : { measurement }),
      ...(event === undefined ? {} : { event: shownEvent(event) }),
      ...(alarm === undefined ? {} : { alarm }),
    },
  };
}

function shownEvent({ isForEach, ...event }: NonNullable<StoredBinding['output']['event']>): object {
  return { ...event, forEach: isForEach };
}

/** @throws Error on a node without the role gateway, which has no such routes. */
function liveOf({ platform: { bindings } }: ApiRequest): Pick<LiveBindings, 'countsOf' | 'stateOf'> {
  if (bindings === undefined) throw new Error('this node does not score');
  return bindings;
}

/** The binding of the body, and whether it is for a group. @throws PlatformError 400, 404 for what it names. */
async function sent(request: ApiRequest): Promise<readonly [BindingConfiguration, boolean]> {
  let binding: BindingConfiguration;
  try {
    binding = readBindingConfiguration(JSON.parse(request.bodyText()));
  } catch (error) {
    if (!(error instanceof JobConfigurationError)) throw error;
    throw new PlatformError('scoring/invalid-binding', { reason: error.message });
  }
  const { groupOrDeviceId, modelKind, modelName } = binding;
  const isGroup = groupOrDeviceId !== undefined && (await requireTarget(request, groupOrDeviceId));
  // What cannot be scored is refused now, not found out with the first measurement.
  planOf(
    binding,
    signatureOf(modelKind, await modelInformation(request.platform, request.tenant, modelKind, modelName)),
  );
  return [binding, isGroup];
}

async function post(request: ApiRequest): Promise<Answer> {
  const [binding, isGroup] = await sent(request);
  return json(shown(await createBinding(request.platform, askerOf(request), binding, isGroup)), 201);
}

const idOf = ({ params }: ApiRequest): string => params['bindingId'] ?? '';
const bindingOf = (request: ApiRequest): Promise<StoredBinding> =>
  loadBinding(request.platform, request.tenant, idOf(request));

async function put(request: ApiRequest): Promise<Answer> {
  await bindingOf(request);
  const [binding, isGroup] = await sent(request);
  return json(shown(await replaceBinding(request.platform, askerOf(request), idOf(request), binding, isGroup)));
}

async function get(request: ApiRequest): Promise<Answer> {
  return json(shown(await bindingOf(request)));
}

async function metrics(request: ApiRequest): Promise<Answer> {
  const binding = await bindingOf(request);
  const live = liveOf(request);
  return json({ ...live.stateOf(request.tenant, binding), ...live.countsOf(request.tenant, binding) });
}

async function list(request: ApiRequest): Promise<Answer> {
  const bindings = await listBindings(request.platform, request.tenant);
  return json(pageOfList(request, { member: 'bindings', path: '/bindings' }, bindings.map(shown), pageOf(request)));
}

async function remove(request: ApiRequest): Promise<Answer> {
  await removeBinding(request.platform, askerOf(request), idOf(request));
  return list(request);
}

async function removeAll(request: ApiRequest): Promise<Answer> {
  await removeBindings(request.platform, askerOf(request));
  return list(request);
}

export function bindingRoutes(): Route[] {
  const query = { pageSize, currentPage, withTotalPages };
  const page = [answers('A page of bindings', Page, PAGE_EXAMPLE)];
  const one = [answers('The binding', Binding, CREATED_EXAMPLE)];
  const body = { schema: open({}), example: EXAMPLE };
  return [
    { method: 'GET', path: BINDINGS, ...READ, summary: 'List the bindings', query, answers: page, handle: list },
    {
      method: 'POST',
      path: BINDINGS,
      ...ADMIN,
      summary: 'Bind a model to measurements: each one that comes in is scored',
      body,
      answers: [answers('The binding', Binding, CREATED_EXAMPLE, 201)],
      handle: post,
    },
    {
      method: 'DELETE',
      path: BINDINGS,
      ...ADMIN,
      summary: 'Delete all bindings; what they have created stays',
      query,
      answers: page,
      handle: removeAll,
    },
    { method: 'GET', path: ONE, ...READ, summary: 'Read a binding', answers: one, handle: get },
    { method: 'PUT', path: ONE, ...ADMIN, summary: 'Replace a binding', body, answers: one, handle: put },
    {
      method: 'DELETE',
      path: ONE,
      ...ADMIN,
      summary: 'Delete a binding; what it has created stays',
      query,
      answers: page,
      handle: remove,
    },
    {
      method: 'GET',
      path: `${ONE}/metrics`,
      ...READ,
      summary: 'Read whether a binding is scored, and what became of measurements on this node',
      answers: [answers('State and counts', Metrics, METRICS_EXAMPLE)],
      handle: metrics,
    },
  ];
}
