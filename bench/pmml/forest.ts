/** Forests of regression trees as PMML documents, and one of them as plain JavaScript. */

const FIELDS = Array.from({ length: 50 }, (_, i) => `f${i}`);
const DEPTH = 8;
const TREES = 100;

/** A node of a tree: a leaf has a score. */
type Node =
  | { readonly score: number }
  | { readonly field: string; readonly border: number; readonly below: Node; readonly above: Node };

/** Numbers from 0 to 1, the same at each run. */
function uniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function grow(depth: number, next: () => number): Node {
  if (depth === 0) return { score: next() - 0.5 };
  const field = FIELDS[Math.floor(next() * FIELDS.length)] as string;
  const border = next() * 2 - 1;
  return { field, border, below: grow(depth - 1, next), above: grow(depth - 1, next) };
}

function nodeText(node: Node, predicate: string): string {
  if ('score' in node) return `<Node score="${node.score}">${predicate}</Node>\n`;
  const { field, border, below, above } = node;
  const test = (operator: string): string =>
    `<SimplePredicate field="${field}" operator="${operator}" value="${border}"/>`;
  return `<Node>${predicate}\n${nodeText(below, test('lessOrEqual'))}${nodeText(above, test('greaterThan'))}</Node>\n`;
}

const ACTIVE = FIELDS.map((name) => `<MiningField name="${name}"/>`).join('');

function treeText(root: Node): string {
  return `<Segment><True/><TreeModel functionName="regression" splitCharacteristic="binarySplit"><MiningSchema>${ACTIVE}</MiningSchema>${nodeText(root, '<True/>')}</TreeModel></Segment>`;
}

const BEGIN = `<PMML version="4.4"><Header/><DataDictionary>${[...FIELDS, 'target'].map((name) => `<DataField name="${name}" optype="continuous" dataType="double"/>`).join('')}</DataDictionary><MiningModel functionName="regression"><MiningSchema>${ACTIVE}<MiningField name="target" usageType="target"/></MiningSchema><Segmentation multipleModelMethod="sum">`;
const END = '</Segmentation></MiningModel></PMML>';

const sourceOf = (node: Node): string =>
  'score' in node
    ? `return ${node.score};`
    : `if (record.${node.field} <= ${node.border}) { ${sourceOf(node.below)} } else { ${sourceOf(node.above)} }`;

/** 100 trees of depth 8: the document, and the text of a program whose value is a function that gives the same. */
export function forest(): { readonly document: string; readonly program: string } {
  const next = uniform(17);
  const trees = Array.from({ length: TREES }, () => grow(DEPTH, next));
  const functions = trees.map((tree, i) => `function t${i}(record) { ${sourceOf(tree)} }`).join('\n');
  const sum = trees.map((_, i) => `sum += t${i}(record);`).join(' ');
  return {
    document: BEGIN + trees.map(treeText).join('') + END,
    program: `${functions}\nreturn (record) => { let sum = 0; ${sum} return { target: sum }; };`,
  };
}

/** Records with all fields. */
export function forestRecords(count: number): Readonly<Record<string, number>>[] {
  const next = uniform(23);
  return Array.from({ length: count }, () => Object.fromEntries(FIELDS.map((name) => [name, next() * 2 - 1])));
}

/** The text of a forest of about so many bytes, in chunks of about 1 MB. */
export function forestText(bytes: number): string[] {
  const next = uniform(19);
  const chunks: string[] = [];
  let text = BEGIN;
  let size = 0;
  while (size < bytes) {
    const tree = treeText(grow(DEPTH, next));
    size += tree.length;
    text += tree;
    if (text.length < 1_000_000) continue;
    chunks.push(text);
    text = '';
  }
  chunks.push(text + END);
  return chunks;
}
