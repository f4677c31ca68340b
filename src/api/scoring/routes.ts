/** The routes of scoring, under both names that clients know (docs/spec/scoring.md#paths). */
import type { Route } from '../request/route.ts';
import { applyRoutes } from './apply.ts';
import { groupRoutes } from './groups.ts';
import { jobRoutes } from './jobs.ts';
import { modelRoutes } from './models.ts';
import { onnxRoutes } from './onnx/routes.ts';
import { SCORING_PATH } from './parts.ts';
import { resourceRoutes } from './resources.ts';
import { trainingRoutes } from './training.ts';

const BRANDED_PATH = '/service/zementis';

export function scoringRoutes(): Route[] {
  const routes = [
    ...modelRoutes(),
    ...applyRoutes(),
    ...groupRoutes(),
    ...resourceRoutes(),
    ...jobRoutes(),
    ...trainingRoutes(),
    ...onnxRoutes(),
  ];
  return [
    ...routes,
    ...routes.map((route) => ({ ...route, path: `${BRANDED_PATH}${route.path.slice(SCORING_PATH.length)}` })),
  ];
}
