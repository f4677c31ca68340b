/** Models and results made by others, where they lie beside the repository or where MILLRACE_PMML_CASES says. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../root.ts';

const FOLDERS = [process.env['MILLRACE_PMML_CASES'], join(ROOT, '..', 'shared', 'data', 'pmml')];

export const CASES: string | undefined = FOLDERS.find((folder) => folder !== undefined && existsSync(folder));

/** Cases of one of the lists there, such as `functions.json`. */
export function caseList<Case>(name: string): readonly Case[] {
  if (CASES === undefined) return [];
  return (JSON.parse(readFileSync(join(CASES, name), 'utf8')) as { readonly cases: readonly Case[] }).cases;
}
