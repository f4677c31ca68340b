import { compileTopModel, dataFieldsOf, type Parts } from './compile.ts';
import { Element, PmmlError, release } from './document/element.ts';
import { Problems } from './document/problems.ts';
import { DocumentReader } from './document/reader.ts';
import type { ReadOptions, ReadResult } from './engine.ts';
import { compileExpression, namesOf } from './expressions/compile.ts';
import { derivedFieldsOf } from './fields/scope.ts';
import { COLLECTORS, FAMILIES } from './registry.ts';
import { compilePredicate } from './predicates/compile.ts';
import { CompiledScoringModel } from './scoring-model.ts';
import { verify } from './verification.ts';

/**
 * Reads a PMML document and compiles its first model.
 *
 * @param chunks the document in UTF-8, in order
 * @throws XmlError where the document is not XML; everything else that is wrong is in `problems`
 */
export function readPmml(chunks: Iterable<Uint8Array | string>, options: ReadOptions = {}): ReadResult {
  const reader = new PmmlReader(options);
  for (const chunk of chunks) reader.write(chunk);
  return reader.end();
}

/** The same for a document that comes in pieces over time. */
export class PmmlReader {
  readonly #reader = new DocumentReader(COLLECTORS);
  readonly #options: ReadOptions;
  /** A part of the document that a collector refused: the rest is still read, so that XML faults come first. */
  #refused: PmmlError | undefined;

  constructor(options: ReadOptions = {}) {
    this.#options = options;
  }

  /** @throws XmlError */
  write(chunk: Uint8Array | string): void {
    if (this.#refused !== undefined) return;
    try {
      this.#reader.write(chunk);
    } catch (error) {
      if (!(error instanceof PmmlError)) throw error;
      this.#refused = error;
    }
  }

  /** @throws XmlError */
  end(): ReadResult {
    const problems = new Problems();
    if (this.#refused !== undefined) {
      problems.error({ ...this.#refused, name: this.#refused.element }, this.#refused.reason);
      return { model: undefined, modelName: undefined, version: undefined, problems: problems.list };
    }
    return compileDocument(this.#reader.end(), problems, this.#options);
  }
}

function compileDocument(root: Element, problems: Problems, options: ReadOptions): ReadResult {
  const version = root.attribute('version');
  const element = root.children.find(({ name }) => FAMILIES.has(name)) ?? root.children.find(isModelLike);
  const modelName = element?.attribute('modelName');
  const refused = (): ReadResult => ({ model: undefined, modelName, version, problems: problems.list });
  try {
    checkRoot(root, element, problems);
    if (element === undefined) return refused();
    const parts = partsOf(root, problems, options);
    const top = compileTopModel(element, parts);
    const model = new CompiledScoringModel({
      top,
      slots: parts.names.slots.count,
      lookBack: parts.names.lookBack,
      modelName,
      description: root.child('Header')?.attribute('description') ?? '',
      version: version ?? '',
    });
    const verification = element.child('ModelVerification');
    if (verification !== undefined) verify(verification, model, problems);
    release(root, KEPT);
    return { model, modelName, version, problems: problems.list };
  } catch (error) {
    if (error instanceof PmmlError) problems.error({ ...error, name: error.element }, error.reason);
    else if (error instanceof RangeError) problems.error(element ?? root, error.message);
    else throw error;
    return refused();
  }
}

/** Derived fields may still be compiled, for an explanation. */
const KEPT: ReadonlySet<string> = new Set(['TransformationDictionary', 'LocalTransformations']);

const isModelLike = (element: Element): boolean =>
  element.name.endsWith('Model') || ['NeuralNetwork', 'Scorecard'].includes(element.name);

/** Versions of PMML that documents may have. */
export const VERSIONS = '2.0 to 4.4';

function checkRoot(root: Element, element: Element | undefined, problems: Problems): void {
  if (root.name !== 'PMML') throw new PmmlError(root, `the root is '${root.name}', not PMML`);
  const version = root.attribute('version');
  if (version !== undefined && !/^[234](?:\.\d+)*$/.test(version.trim()))
    throw new PmmlError(root, `'version' is '${version}'; it may be ${VERSIONS}`);
  if (version === undefined) problems.warn(root, "the attribute 'version' is missing; the document is read as 4.4");
  if (element === undefined) throw new PmmlError(root, 'the model is missing');
  for (const other of root.children.filter((child) => child !== element && isModelLike(child)))
    problems.warn(
      other,
      `only the first model of a document is used, '${element.attribute('modelName') ?? element.name}'`,
    );
}

function partsOf(root: Element, problems: Problems, options: ReadOptions): Parts {
  const dictionary = root.child('DataDictionary');
  if (dictionary === undefined) throw new PmmlError(root, 'the DataDictionary is missing');
  const transformations = root.child('TransformationDictionary');
  const names = namesOf({
    globals: derivedFieldsOf(transformations),
    functions: functionsOf(transformations),
    ...options,
  });
  return {
    names,
    problems,
    data: dataFieldsOf(dictionary),
    expression: compileExpression,
    predicate: compilePredicate,
    families: FAMILIES,
  };
}

function functionsOf(transformations: Element | undefined): ReadonlyMap<string, Element> {
  const functions = new Map<string, Element>();
  for (const child of transformations?.childrenOf('DefineFunction') ?? []) {
    const name = child.required('name');
    if (functions.has(name)) throw new PmmlError(child, `there are two functions '${name}'`);
    functions.set(name, child);
  }
  return functions;
}
