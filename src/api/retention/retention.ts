/** Retention rules (docs/spec/retention.md), and runs: what they removed, or in a dry run would remove. */
import { MANAGEMENT_TENANT } from '../../accounts/tenants/tenants.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { ANY, RETENTION_RULES, RUNS_KEPT, RUN_PREFIX, idOfKey, runKey } from '../../model/entities/retention.ts';
import type { NamedRule, RetentionRule, RetentionRun } from '../../model/entities/retention.ts';
import type { ApiRequest } from '../request/request.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { text } from '../request/schema/query-parameters.ts';
import { listRecords, readRecord } from '../../records/records.ts';
import { addRule, cancelRun, changeRule, retentionRules } from '../../records/retention.ts';
import { freeing } from '../request/record-ports.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import { RetentionEditable, RetentionRulePost, RetentionRulePut, RetentionRunPost } from './schemas.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';

const READ = ['ROLE_RETENTION_RULE_READ'];
const ADMIN = ['ROLE_RETENTION_RULE_ADMIN'];
const RULES = '/retention/retentions';
const RUNS = '/retention/runs';

const allRules = (request: ApiRequest, tenant = request.tenant): Promise<NamedRule[]> =>
  retentionRules(request.platform, tenant, request.platform.retention.defaultDays);

const ruleUrl = (request: ApiRequest, id: string): string => `${request.baseUrl}${RULES}/${id}`;
const ruleText = (request: ApiRequest, { id, rule }: NamedRule): string =>
  JSON.stringify({ id, self: ruleUrl(request, id), ...rule });

const audit = (request: ApiRequest, activity: string, { id, rule }: NamedRule): AuditEntry => {
  const { dataType, fragmentType, type, source, maximumAge } = rule;
  return {
    type: 'SYSTEM',
    activity,
    source: id,
    user: request.principal.userName,
    text: `${activity}: ${dataType} of type ${type}, source ${source}, fragment ${fragmentType}, kept for ${maximumAge} days`,
  };
};

async function list(request: ApiRequest): Promise<Answer> {
  const page = pageOf(request);
  const rules = await allRules(request);
  const items = rules.slice(page.offset, page.offset + page.size).map((rule) => ruleText(request, rule));
  return found(
    'retentionRuleCollection',
    collectionText(request, page, { name: 'retentionRules', items, total: rules.length }),
  );
}

/** Members of the body that a rule has; what else is sent is ignored. */
function sentRule(sent: Partial<Record<keyof RetentionRule, unknown>>): Partial<RetentionRule> {
  const { dataType, maximumAge } = sent;
  const names = (['fragmentType', 'type', 'source'] as const)
    .filter((name) => sent[name] !== undefined)
    .map((name) => [name, sent[name] ?? ANY] as const);
  const checked = {
    ...(dataType === undefined ? {} : { dataType }),
    ...Object.fromEntries(names),
    ...(maximumAge === undefined ? {} : { maximumAge }),
  };
  return checked as Partial<RetentionRule>;
}

/** A new rule. @param sent what the schema of new rules takes. */
function newRule(sent: Partial<Record<keyof RetentionRule, unknown>>): RetentionRule {
  const { dataType, fragmentType = ANY, type = ANY, source = ANY, maximumAge } = sentRule(sent) as RetentionRule;
  return { dataType, fragmentType, type, source, maximumAge, editable: true };
}

async function post(request: ApiRequest): Promise<Answer> {
  const rule = newRule(JSON.parse(request.bodyText()) as object);
  const named = { id: String(await request.platform.ids.nextInOrder()), rule };
  await addRule(freeing(request), request.tenant, named, audit(request, 'Retention rule created', named));
  return created('retentionRule', ruleText(request, named), ruleUrl(request, named.id));
}

/** @throws PlatformError 404. */
async function load(request: ApiRequest, tenant = request.tenant): Promise<NamedRule> {
  const { id } = request.params;
  const rule = (await allRules(request, tenant)).find((candidate) => candidate.id === id);
  if (rule === undefined) throw new PlatformError('retention/not-found', { id });
  return rule;
}

async function get(request: ApiRequest): Promise<Answer> {
  return found('retentionRule', ruleText(request, await load(request)));
}

/** @param decide makes the next rule of the present one, undefined deletes it. */
async function change(
  request: ApiRequest,
  tenant: number,
  activity: string,
  decide: (rule: RetentionRule) => RetentionRule | undefined,
): Promise<NamedRule> {
  const named = await load(request, tenant);
  return changeRule(freeing(request), tenant, named, decide, (rule) => audit(request, activity, rule));
}

function requireEditable(rule: RetentionRule, id: string): void {
  if (!rule.editable) throw new PlatformError('retention/not-editable', { id });
}

async function put(request: ApiRequest): Promise<Answer> {
  const sent = sentRule(JSON.parse(request.bodyText()) as object);
  const changed = await change(request, request.tenant, 'Retention rule updated', (rule) => {
    requireEditable(rule, request.params['id']);
    return { ...rule, ...sent };
  });
  return found('retentionRule', ruleText(request, changed));
}

async function remove(request: ApiRequest): Promise<Answer> {
  await change(request, request.tenant, 'Retention rule deleted', (rule) => {
    requireEditable(rule, request.params['id']);
    return undefined;
  });
  return NO_CONTENT;
}

/** @throws PlatformError 403 for all but the management tenant. */
async function putEditable(request: ApiRequest): Promise<Answer> {
  if (request.principal.tenant !== MANAGEMENT_TENANT) throw new PlatformError('security/forbidden');
  const asked = request.query.text('tenant');
  const tenant = asked === undefined ? request.tenant : request.platform.tenants.byId(asked)?.number;
  if (tenant === undefined) throw new PlatformError('tenants/not-found', { id: asked ?? '' });
  const { editable } = JSON.parse(request.bodyText()) as { editable: boolean | string };
  const isEditable = String(editable) === 'true';
  const activity = isEditable ? 'Retention rule made editable' : 'Retention rule made non-editable';
  const changed = await change(request, tenant, activity, (rule) => ({ ...rule, editable: isEditable }));
  return found('retentionRule', ruleText(request, changed));
}

function runText(request: ApiRequest, id: string, run: RetentionRun): string {
  const { status, trigger, isDryRun, user, startedAt, endedAt, items, failure } = run;
  return JSON.stringify({
    id,
    self: `${request.baseUrl}${RUNS}/${id}`,
    status,
    trigger,
    dryRun: isDryRun,
    ...(user === undefined ? {} : { user }),
    creationTime: formatTime(startedAt),
    ...(endedAt === undefined ? {} : { endTime: formatTime(endedAt) }),
    ...(failure === undefined ? {} : { failureReason: failure }),
    total: items.reduce((sum, { count }) => sum + count, 0),
    results: items.map(({ ruleId, dataType, type, source, fragmentType, before, count, isDone }) => ({
      ruleId,
      dataType,
      type,
      source,
      fragmentType,
      olderThan: formatTime(before),
      count,
      done: isDone,
    })),
  });
}

async function loadRun(request: ApiRequest): Promise<{ id: string; run: RetentionRun }> {
  const { id } = request.params;
  const stored = isEntityId(id)
    ? await readRecord(request.platform, request.tenant, RETENTION_RULES, runKey(id))
    : undefined;
  if (stored === undefined) throw new PlatformError('retention/run-not-found', { id });
  return { id, run: JSON.parse(stored) as RetentionRun };
}

async function getRun(request: ApiRequest): Promise<Answer> {
  const { id, run } = await loadRun(request);
  return found('retentionRun', runText(request, id, run));
}

async function listRuns(request: ApiRequest): Promise<Answer> {
  const page = pageOf(request);
  const runs = (await listRecords(request.platform, request.tenant, RETENTION_RULES, RUN_PREFIX)).reverse();
  const items = runs
    .slice(page.offset, page.offset + page.size)
    .map(({ id, value }) => runText(request, idOfKey(id), JSON.parse(value) as RetentionRun));
  return found(
    'retentionRunCollection',
    collectionText(request, page, { name: 'retentionRuns', items, total: runs.length }),
  );
}

async function postRun(request: ApiRequest): Promise<Answer> {
  const { dryRun = false, rule } = JSON.parse(request.bodyText()) as { dryRun?: boolean; rule?: object };
  if (rule !== undefined && !dryRun)
    throw new PlatformError('validation/invalid-field', {
      area: 'retention',
      name: 'dryRun',
      value: 'false',
      limit: 'true beside rule',
    });
  const id = await request.platform.retention.begin(request.tenant, 'REQUEST', {
    isDryRun: dryRun,
    user: request.principal.userName,
    ...(rule === undefined ? {} : { rule: newRule(rule) }),
  });
  const run = JSON.parse(
    (await readRecord(request.platform, request.tenant, RETENTION_RULES, runKey(id))) ?? '{"items":[]}',
  ) as RetentionRun;
  return created('retentionRun', runText(request, id, run), `${request.baseUrl}${RUNS}/${id}`);
}

async function endRun(request: ApiRequest): Promise<Answer> {
  const { id } = await loadRun(request);
  await cancelRun(freeing(request), request.tenant, id, request.principal.userName);
  return NO_CONTENT;
}

export function retentionRoutes(): Route[] {
  const area = 'retention';
  const read = { area, access: 'roles', roles: READ } as const;
  const admin = { area, access: 'roles', roles: ADMIN } as const;
  const rule = [{ status: 200, description: 'The rule', mediaType: 'retentionRule' }];
  const gone = [{ status: 204, description: 'Deleted' }];
  return [
    {
      method: 'GET',
      path: RULES,
      ...read,
      summary: 'List retention rules',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of rules', mediaType: 'retentionRuleCollection' }],
      handle: list,
    },
    {
      method: 'POST',
      path: RULES,
      ...admin,
      summary: 'Create a retention rule',
      body: {
        schema: RetentionRulePost,
        mediaTypes: ['retentionRule'],
        example: { dataType: 'EVENT', type: 'c8y_DoorOpen', maximumAge: 30 },
      },
      answers: [{ status: 201, description: 'Created', mediaType: 'retentionRule' }],
      handle: post,
    },
    { method: 'GET', path: `${RULES}/{id}`, ...read, summary: 'Read a retention rule', answers: rule, handle: get },
    {
      method: 'PUT',
      path: `${RULES}/{id}`,
      ...admin,
      summary: 'Change a retention rule',
      body: { schema: RetentionRulePut, mediaTypes: ['retentionRule'], example: { maximumAge: 90 } },
      answers: rule,
      handle: put,
    },
    {
      method: 'DELETE',
      path: `${RULES}/{id}`,
      ...admin,
      summary: 'Delete a retention rule',
      answers: gone,
      handle: remove,
    },
    {
      method: 'PUT',
      path: `${RULES}/{id}/editable`,
      ...admin,
      summary: 'Allow or forbid changes of a rule (management tenant only)',
      query: { tenant: text('Of this tenant instead of yours') },
      body: { schema: RetentionEditable, mediaTypes: ['retentionRule'], example: { editable: false } },
      answers: rule,
      handle: putEditable,
    },
    {
      method: 'GET',
      path: RUNS,
      ...read,
      summary: `List the last ${RUNS_KEPT} retention runs, newest first`,
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of runs', mediaType: 'retentionRunCollection' }],
      handle: listRuns,
    },
    {
      method: 'POST',
      path: RUNS,
      ...admin,
      summary: 'Apply the retention rules now, or count what they, or a rule that is not saved, would remove',
      body: { schema: RetentionRunPost, mediaTypes: ['retentionRun'], example: { dryRun: true } },
      answers: [{ status: 201, description: 'Begun; its URL tells how far it is', mediaType: 'retentionRun' }],
      handle: postRun,
    },
    {
      method: 'GET',
      path: `${RUNS}/{id}`,
      ...read,
      summary: 'Read a retention run',
      answers: [{ status: 200, description: 'The run', mediaType: 'retentionRun' }],
      handle: getRun,
    },
    {
      method: 'DELETE',
      path: `${RUNS}/{id}`,
      ...admin,
      summary: 'End a retention run; what it removed stays removed',
      answers: gone,
      handle: endRun,
    },
  ];
}
