/** The JSON document that a request template makes of a row: which values are fixed, and which the row has. */
import { compileJsonPath, JsonPathError, STEP, type JsonPath, type NameStep } from './json-path.ts';
import { TemplateError } from './definition.ts';
import type { ValueTypeName } from './value-types.ts';

/** A value of a row, in their order. */
export interface Slot {
  /** The member or path that it is for. */
  readonly name: string;
  readonly type: ValueTypeName;
  /** An empty value is not a fault: the time of the server. */
  readonly mayBeEmpty: boolean;
}

/** JSON text, or the index of the slot with it. */
export type Leaf = string | number;

interface Branch {
  readonly members: Map<string, Leaf | Branch>;
}

/** Members that a document gets, by their paths. */
export class DocumentPlan {
  /** Paths in their order, with what they get. */
  readonly leaves: (readonly [readonly string[], Leaf])[] = [];
  readonly #root: Branch = { members: new Map() };

  /** @throws TemplateError for a path that another one has or goes through. */
  set(path: readonly string[], leaf: Leaf): void {
    let branch = this.#root;
    for (const name of path.slice(0, -1)) {
      const next = branch.members.get(name) ?? { members: new Map() };
      if (!isBranch(next)) throw overlaps(path);
      branch.members.set(name, next);
      branch = next;
    }
    const last = path[path.length - 1];
    if (branch.members.has(last)) throw overlaps(path);
    branch.members.set(last, leaf);
    this.leaves.push([path, leaf]);
  }

  /** @param values JSON texts of the slots. @returns JSON text of an object. */
  textOf(values: readonly string[]): string {
    return textOf(this.#root, values);
  }
}

const isBranch = (value: Leaf | Branch): value is Branch => typeof value === 'object';

const overlaps = (path: readonly string[]): TemplateError =>
  new TemplateError(`${path.join('.')} is set more than once, or through a value that is not an object`);

function textOf({ members }: Branch, values: readonly string[]): string {
  let text = '{';
  for (const [name, value] of members) {
    if (text.length > 1) text += ',';
    text += `${JSON.stringify(name)}:`;
    if (isBranch(value)) text += textOf(value, values);
    else text += typeof value === 'number' ? values[value] : value;
  }
  return `${text}}`;
}

/** @returns the names of a path that a value is put at. @throws TemplateError unless it names members only. */
export function memberNames(text: string): string[] {
  const path = compiled(text);
  const names = path.steps.map((step) => (isMember(step) ? step.name : undefined));
  if (names.length === 0 || names.includes(undefined))
    throw new TemplateError(`A value cannot be put at ${text}; its path takes names of members`);
  return names as string[];
}

const isMember = (step: JsonPath['steps'][number]): step is NameStep => step.kind === STEP.NAME && !step.isElement;

function compiled(text: string): JsonPath {
  try {
    return compileJsonPath(text);
  } catch (error) {
    if (error instanceof JsonPathError) throw new TemplateError(error.message);
    throw error;
  }
}
