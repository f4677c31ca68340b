import { readMatrix, readTexts } from '../document/arrays.ts';
import { type Element, PmmlError } from '../document/element.ts';
import { textOf } from '../fields/types.ts';
import { highestOf, normOf } from '../math/vectors.ts';
import { categoryOf, type Model, type ModelContext, Prediction, type RankedEntity } from './model.ts';

export const LOCAL_WEIGHTS = ['termFrequency', 'binary', 'logarithmic', 'augmentedNormalizedTermFrequency'] as const;
export const GLOBAL_WEIGHTS = ['inverseDocumentFrequency', 'none', 'GFIDF', 'normal', 'probabilisticInverse'] as const;

/** Weights of one document: of its terms, by counts. */
type Weigh = (counts: Float64Array) => Float64Array;

/**
 * TextModel: the document of the corpus that a text is most like (Text Models of the standard). A `ClassLabels` array
 * names the category of each document, as some tools write it.
 */
export function compileText(context: ModelContext): Model {
  const { element, scope } = context;
  const dictionary = element.child('TextDictionary')?.child('Array');
  if (dictionary === undefined) throw new PmmlError(element, 'a TextDictionary with an Array of terms is missing');
  const terms = new Map(readTexts(dictionary).map((term, index) => [term.toLowerCase(), index]));
  const longest = Math.max(1, highestOf(Array.from(terms.keys(), (term) => term.split(/\s+/).length)));
  const documents = element.child('TextCorpus')?.childrenOf('TextDocument') ?? [];
  const matrixElement = element.child('DocumentTermMatrix')?.child('Matrix');
  if (matrixElement === undefined) throw new PmmlError(element, 'a DocumentTermMatrix with a Matrix is missing');
  const matrix = readMatrix(matrixElement);
  if (matrix.columns > terms.size || matrix.rows !== documents.length)
    throw new PmmlError(
      matrixElement,
      `is ${matrix.rows} × ${matrix.columns}; there are ${documents.length} documents and ${terms.size} terms`,
    );
  const rows = documents.map((_, i) => {
    const counts = new Float64Array(terms.size);
    counts.set(matrix.values.subarray(i * matrix.columns, (i + 1) * matrix.columns));
    return counts;
  });
  const weigh = weighing(element, rows);
  const corpus = rows.map(weigh);
  const similarity = similarityOf(element);
  const labels = element.child('ClassLabels')?.child('Array');
  const names = labels === undefined ? documents.map(nameOf) : readTexts(labels);
  if (names.length !== documents.length)
    throw new PmmlError(labels ?? element, `holds ${names.length} labels; there are ${documents.length} documents`);
  const values = names.map((name) => categoryOf(name, context.target));
  const fields = context.activeFields.map((name) => scope.field(name, element));
  const prediction = new Prediction();
  let ranking: RankedEntity[] = [];
  const ranked = (): readonly RankedEntity[] =>
    [...ranking].sort((a, b) => similarity.sign * (b.affinity - a.affinity));
  return {
    prediction,
    bytes: terms.size * 80 + corpus.length * terms.size * 8,
    evaluate: (row) => {
      prediction.clear();
      const texts = fields.map((field) => field.value(row)).filter((value) => value !== undefined);
      if (texts.length === 0) return;
      const own = weigh(countTerms(texts.map((value) => textOf(value, undefined)).join(' '), terms, longest));
      ranking = corpus.map((document, i) => ({
        id: documents[i]?.required('id') ?? '',
        affinity: similarity.between(own, document),
      }));
      let best = -1;
      ranking.forEach(({ affinity }, i) => {
        if (
          best === -1
            ? !Number.isNaN(affinity)
            : similarity.sign * affinity > similarity.sign * (ranking[best]?.affinity ?? 0)
        )
          best = i;
      });
      if (best === -1) return;
      prediction.setValue(values[best]);
      prediction.entityId = ranking[best]?.id;
      prediction.affinity = ranking[best]?.affinity ?? Number.NaN;
      prediction.entities = () => ranking;
      prediction.ranked = ranked;
    },
    explain: (_, trace) => {
      trace.line('[TextModel]');
      for (const { id, affinity } of ranking)
        trace.line(`The similarity of the text to the document [${id}] is [${affinity}]`);
    },
  };
}

const nameOf = (document: Element): string => document.attribute('name') ?? document.required('id');

/** How often each term, of up to `longest` words, is in a text; letters are compared without their case. */
function countTerms(text: string, terms: ReadonlyMap<string, number>, longest: number): Float64Array {
  const counts = new Float64Array(terms.size);
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .map((word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ''))
    .filter((word) => word !== '');
  for (let at = 0; at < words.length; at++)
    for (let length = 1; length <= longest && at + length <= words.length; length++) {
      const index = terms.get(words.slice(at, at + length).join(' '));
      if (index !== undefined) counts[index] = (counts[index] as number) + 1;
    }
  return counts;
}

function weighing(element: Element, rows: readonly Float64Array[]): Weigh {
  const normalization = element.child('TextModelNormalization');
  const local = normalization?.oneOf('localTermWeights', LOCAL_WEIGHTS, 'termFrequency') ?? 'termFrequency';
  const globalKind = normalization?.oneOf('globalTermWeights', GLOBAL_WEIGHTS, 'none') ?? 'none';
  const isCosine = normalization?.oneOf('documentNormalization', ['none', 'cosine'] as const, 'none') === 'cosine';
  const global = globalWeights(globalKind, rows);
  return (counts) => {
    const highest = counts.reduce((most, count) => Math.max(most, count), 0);
    const weights = counts.map((count, i) => localWeight(local, count, highest) * (global[i] as number));
    if (!isCosine) return weights;
    const norm = normOf(weights);
    return norm === 0 ? weights : weights.map((weight) => weight / norm);
  };
}

function localWeight(kind: (typeof LOCAL_WEIGHTS)[number], count: number, highest: number): number {
  if (kind === 'termFrequency') return count;
  if (kind === 'logarithmic') return Math.log10(1 + count);
  const binary = count > 0 ? 1 : 0;
  return kind === 'binary' ? binary : 0.5 * (binary + (highest === 0 ? 0 : count / highest));
}

function globalWeights(kind: (typeof GLOBAL_WEIGHTS)[number], rows: readonly Float64Array[]): Float64Array {
  const width = rows[0]?.length ?? 0;
  return Float64Array.from({ length: width }, (_, i) => {
    const counts = rows.map((row) => row[i] as number);
    const inDocuments = counts.filter((count) => count > 0).length;
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (kind === 'none' || inDocuments === 0) return 1;
    if (kind === 'inverseDocumentFrequency') return Math.log10(rows.length / inDocuments);
    if (kind === 'GFIDF') return total / inDocuments;
    if (kind === 'normal') return 1 / normOf(counts);
    return Math.log10((rows.length - inDocuments) / inDocuments);
  });
}

interface Similarity {
  /** 1: the highest is the most alike; -1: the lowest is. */
  readonly sign: 1 | -1;
  between(a: Float64Array, b: Float64Array): number;
}

function similarityOf(element: Element): Similarity {
  const child = element.child('TextModelSimiliarity') ?? element.child('TextModelSimilarity');
  const raw = child?.attribute('similarityType') ?? 'cosine';
  if (raw === 'euclidean')
    return { sign: -1, between: (a, b) => normOf(a.map((value, i) => value - (b[i] as number))) };
  if (raw !== 'cosine' && raw !== 'cosineSimilarity')
    throw new PmmlError(child ?? element, `'similarityType' is '${raw}'; it may be cosine, euclidean`);
  return {
    sign: 1,
    between: (a, b) => {
      const norm = normOf(a) * normOf(b);
      return norm === 0 ? Number.NaN : a.reduce((sum, value, i) => sum + value * (b[i] as number), 0) / norm;
    },
  };
}
