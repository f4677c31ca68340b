/** Whole PMML documents, read and scored as the server does it. */
import type { ScoringModel } from '../../../src/scoring-workers/pmml/engine.ts';
import { readPmml } from '../../../src/scoring-workers/pmml/read.ts';

/** @param fields `<DataField>` elements @param model the model element */
export function pmmlOf(fields: string, model: string, version = '4.4'): string {
  return `<PMML version="${version}"><Header/><DataDictionary>${fields}</DataDictionary>${model}</PMML>`;
}

/** @throws Error with all problems where the document is refused */
export function modelOf(document: string): ScoringModel {
  const { model, problems } = readPmml([document]);
  if (model === undefined) throw new Error(problems.map(({ element, text }) => `${element}: ${text}`).join('; '));
  return model;
}

/** Reasons for which the document is refused; empty where it is not. */
export function refusalsOf(document: string): string[] {
  const { model, problems } = readPmml([document]);
  return model === undefined ? problems.map(({ element, text }) => `${element}: ${text}`) : [];
}
