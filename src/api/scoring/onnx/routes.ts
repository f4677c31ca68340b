/** The routes of ONNX (docs/spec/scoring.md#onnx). */
import type { Route } from '../../request/route.ts';
import { underBothNames } from '../routes.ts';
import { onnxApplyRoutes } from './apply.ts';
import { onnxModelRoutes } from './models.ts';
import { pipelineRoutes } from './pipelines.ts';
import { scriptRoutes } from './resources.ts';

export const onnxRoutes = (): Route[] =>
  underBothNames([...onnxModelRoutes(), ...pipelineRoutes(), ...scriptRoutes(), ...onnxApplyRoutes()]);
