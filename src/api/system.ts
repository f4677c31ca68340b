/** What operators ask for without credentials: health, readiness, metrics. */
import Type from 'typebox';
import type { ApiRequest } from './api-request.ts';
import { JSON_TYPE } from './media-types.ts';
import type { Answer, Route } from './route.ts';

const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

async function ready(request: ApiRequest): Promise<Answer> {
  const report = await request.platform.health();
  return {
    status: report.ready ? 200 : 503,
    contentType: JSON_TYPE,
    text: JSON.stringify({ status: report.ready ? 'UP' : 'DOWN', ...report }),
  };
}

async function metrics(request: ApiRequest): Promise<Answer> {
  return { status: 200, contentType: PROMETHEUS_TYPE, text: await request.platform.metricsText() };
}

const Report = Type.Object({
  status: Type.Enum(['UP', 'DOWN']), ready: Type.Boolean(),
  parts: Type.Record(Type.String(), Type.Object({ ready: Type.Boolean() }, { additionalProperties: true, description: 'With the lag of its stage' })),
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
      answers: [{ status: 200, description: 'Alive', contentTypes: ['application/json'], json: Type.Object({ status: Type.Enum(['UP']) }),
        example: { status: 'UP' } }],
      handle: () => ({ status: 200, contentType: JSON_TYPE, text: '{"status":"UP"}' }),
    },
    {
      method: 'GET',
      path: '/health/ready',
      area: 'system',
      access: 'public',
      summary: 'Whether requests can be served, with the lag of each stage',
      produces: ['json', 'vendor', 'text', 'html', 'other'],
      answers: [
        { status: 200, description: 'Ready', contentTypes: ['application/json'], json: Report,
          example: { status: 'UP', ready: true, parts: { journal: { ready: true, lagRecords: 0 } } } },
        { status: 503, description: 'Not ready', contentTypes: ['application/json'], json: Report,
          example: { status: 'DOWN', ready: false, parts: { journal: { ready: false } } } },
      ],
      handle: ready,
    },
    {
      method: 'GET',
      path: '/metrics',
      area: 'system',
      access: 'public',
      summary: 'Metrics in Prometheus text form',
      produces: ['text', 'json', 'vendor', 'html', 'other'],
      answers: [{ status: 200, description: 'Metrics', contentTypes: ['text/plain'], example: 'millrace_connections 3\n' }],
      handle: metrics,
    },
  ];
}
