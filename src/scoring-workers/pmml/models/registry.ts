import type { Collectors } from '../document/reader.ts';
import { compileMining } from './mining/mining.ts';
import type { CompileModel } from './model.ts';
import { compileRegression } from './regression/regression.ts';

/** Model element → its family. */
export const FAMILIES: ReadonlyMap<string, CompileModel> = new Map<string, CompileModel>([
  ['MiningModel', compileMining],
  ['RegressionModel', compileRegression],
]);

/** Elements that are read into tables at once, not kept as elements. */
export const COLLECTORS: Collectors = new Map();
