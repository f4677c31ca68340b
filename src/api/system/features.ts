/**
 * Feature toggles that clients ask for (docs/spec/options.md#features). They are those of the server: nothing sets
 * them.
 */
import Type from 'typebox';
import { PlatformError } from '../../model/errors.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';

const PHASES = ['IN_DEVELOPMENT', 'PRIVATE_PREVIEW', 'PUBLIC_PREVIEW', 'GENERALLY_AVAILABLE'] as const;
const STRATEGIES = ['DEFAULT', 'TENANT'] as const;
interface Feature {
  readonly key: string;
  readonly phase: (typeof PHASES)[number];
  readonly active: boolean;
  readonly strategy: (typeof STRATEGIES)[number];
}
const FeatureSchema = Type.Object({
  key: Type.String(),
  phase: Type.Enum([...PHASES]),
  active: Type.Boolean(),
  strategy: Type.Enum([...STRATEGIES]),
});

/** Of a key that is absent, clients take the feature as off. */
const available = (key: string): Feature => ({ key, phase: 'GENERALLY_AVAILABLE', active: true, strategy: 'DEFAULT' });

/** What clients use only when it is here: pages of the web SDK that the server has the resources of. */
const FEATURES: readonly Feature[] = [
  available('ui.map.isinhierarchyof'),
  // Measurements of a device, and graphs of several: data points (`…/kpis`) and series.
  available('ui.datapoint-explorer.v2'),
  // Dashboards of devices and of device types: objects of the inventory.
  available('ui.dm-dashboard-manager'),
  // Search by `name eq '*text*'` in the query language instead of `text=`.
  available('ui.search.wildcard'),
];

const answer = (value: Feature | readonly Feature[]): Answer => ({
  status: 200,
  contentType: JSON_TYPE,
  text: JSON.stringify(value),
});

/** @throws PlatformError 404. */
function detail({ params }: ApiRequest): Answer {
  const { key } = params;
  const feature = FEATURES.find((one) => one.key === key);
  if (feature === undefined) throw new PlatformError('features/not-found', { key });
  return answer(feature);
}

export function featureRoutes(): Route[] {
  const one = { area: 'tenant', access: 'user', method: 'GET' } as const;
  const json = { status: 200, contentTypes: ['application/json'] } as const;
  const [example] = FEATURES;
  return [
    {
      ...one,
      path: '/features',
      summary: 'Feature toggles of the server; a key that is absent is off',
      answers: [{ ...json, description: 'All of them', json: Type.Array(FeatureSchema), example: FEATURES }],
      handle: () => answer(FEATURES),
    },
    {
      ...one,
      path: '/features/{key}',
      summary: 'A feature toggle',
      answers: [{ ...json, description: 'The toggle', json: FeatureSchema, example }],
      handle: detail,
    },
  ];
}
