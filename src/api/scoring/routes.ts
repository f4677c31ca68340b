/** The routes of scoring, under both names that clients know (docs/spec/scoring.md#paths). */
import type { Route } from '../request/route.ts';
import { applyRoutes } from './apply.ts';
import { bindingRoutes } from './bindings.ts';
import { groupRoutes } from './groups.ts';
import { jobRoutes } from './jobs.ts';
import { modelRoutes } from './models.ts';
import { SCORING_PATH } from './parts.ts';
import { resourceRoutes } from './resources.ts';
import { runningBatchRoutes } from './running-batches.ts';
import { trainingRoutes } from './training.ts';

const BRANDED_PATH = '/service/zementis';

export const scoringRoutes = (): Route[] =>
  underBothNames([
    ...modelRoutes(),
    ...applyRoutes(),
    ...runningBatchRoutes(),
    ...groupRoutes(),
    ...resourceRoutes(),
    ...jobRoutes(),
    ...bindingRoutes(),
    ...trainingRoutes(),
  ]);

export const underBothNames = (routes: readonly Route[]): Route[] => [
  ...routes,
  ...routes.map((route) => ({ ...route, path: `${BRANDED_PATH}${route.path.slice(SCORING_PATH.length)}` })),
];
