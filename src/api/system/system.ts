/**
 * What operators ask for: health, readiness, metrics. What tells more than a load balancer needs is for them only; see
 * also operate/ops-server.ts.
 */
import Type from 'typebox';
import { MANAGEMENT_TENANT } from '../../accounts/tenants/tenants.ts';
import { PlatformError } from '../../model/errors.ts';
import type { HealthReport } from '../request/platform.ts';
import type { ApiRequest } from '../request/request.ts';
import { ANONYMOUS } from '../../model/access/principal.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';

const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const OPERATOR_ROLES = ['ROLE_TENANT_MANAGEMENT_READ', 'ROLE_TENANT_MANAGEMENT_ADMIN'];

export const isOperator = (request: ApiRequest): boolean =>
  request.platform.config.hasOpenMetrics === true ||
  (request.principal.tenant === MANAGEMENT_TENANT && request.hasRole(...OPERATOR_ROLES));

/** What the caller may see of the parts: details are for operators. */
export async function reportFor(request: ApiRequest): Promise<HealthReport> {
  const whole = await request.platform.health();
  if (isOperator(request)) return whole;
  const parts = Object.entries(whole.parts);
  return { ready: whole.ready, parts: Object.fromEntries(parts.map(([name, part]) => [name, { ready: part.ready }])) };
}

async function ready(request: ApiRequest): Promise<Answer> {
  const report = await reportFor(request);
  return {
    status: report.ready ? 200 : 503,
    contentType: JSON_TYPE,
    text: JSON.stringify({ status: report.ready ? 'UP' : 'DOWN', ...report }),
  };
}

/** @throws PlatformError 401, 403. */
async function metrics(request: ApiRequest): Promise<Answer> {
  if (!isOperator(request))
    throw new PlatformError(request.principal === ANONYMOUS ? 'general/no-credentials' : 'security/forbidden');
  return { status: 200, contentType: PROMETHEUS_TYPE, text: await request.platform.metricsText() };
}

const Report = Type.Object({
  status: Type.Enum(['UP', 'DOWN']),
  ready: Type.Boolean(),
  parts: Type.Record(
    Type.String(),
    Type.Object({ ready: Type.Boolean() }, { additionalProperties: true, description: 'With the lag of its stage' }),
  ),
});

export function systemRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/health',
      area: 'system',
      access: 'public',
      summary: 'Whether the process is alive',
      produces: ['json', 'vendor', 'text', 'html', 'other'],
      answers: [
        {
          status: 200,
          description: 'Alive',
          contentTypes: ['application/json'],
          json: Type.Object({ status: Type.Enum(['UP']) }),
          example: { status: 'UP' },
        },
      ],
      handle: () => ({ status: 200, contentType: JSON_TYPE, text: '{"status":"UP"}' }),
    },
    {
      method: 'GET',
      path: '/health/ready',
      area: 'system',
      access: 'optional',
      summary: 'Whether requests can be served, by part; for operators with the lag of each stage',
      produces: ['json', 'vendor', 'text', 'html', 'other'],
      answers: [
        {
          status: 200,
          description: 'Ready',
          contentTypes: ['application/json'],
          json: Report,
          example: { status: 'UP', ready: true, parts: { journal: { ready: true, lagRecords: 0 } } },
        },
        {
          status: 503,
          description: 'Not ready',
          contentTypes: ['application/json'],
          json: Report,
          example: { status: 'DOWN', ready: false, parts: { journal: { ready: false } } },
        },
      ],
      handle: ready,
    },
    {
      method: 'GET',
      path: '/metrics',
      area: 'system',
      access: 'optional',
      summary:
        'Metrics in Prometheus text form, for users of the tenant management with ROLE_TENANT_MANAGEMENT_READ or _ADMIN',
      produces: ['text', 'json', 'vendor', 'html', 'other'],
      answers: [
        { status: 200, description: 'Metrics', contentTypes: ['text/plain'], example: 'millrace_connections 3\n' },
      ],
      handle: metrics,
    },
  ];
}
