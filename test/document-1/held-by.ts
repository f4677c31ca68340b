/**
 * Whether the tests that rows name are there and run: read from the sources of their files, where nothing else in them
 * looks like a test.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type ts from 'typescript';
import type { Test } from 'tap';
import type { RuleRow, RuleTable } from './rows.ts';
import { RULES } from './rules.ts';
import { STATES } from './states.ts';
import { ROOT } from '../helpers/root.ts';
import { typescript } from '../helpers/typescript.ts';

/** Files of this folder whose tests are rows of tables. */
const TABLES: Readonly<Record<string, readonly RuleTable[]>> = { 'document-1/rules': [...RULES, ...STATES] };
const known = new Map<string, readonly string[]>();

const isTest = (node: ts.Node): node is ts.CallExpression =>
  typescript.isCallExpression(node) &&
  typescript.isPropertyAccessExpression(node.expression) &&
  node.expression.name.text === 'test' &&
  node.expression.expression.getText() === 't';

/**
 * It is called whenever the file is run: in no function but those of tests, under no condition, without options that
 * leave it out.
 */
function isRun(test: ts.CallExpression): boolean {
  if (
    test.arguments.some(
      (argument) => typescript.isObjectLiteralExpression(argument) && /\b(skip|todo)\b/.test(argument.getText()),
    )
  )
    return false;
  for (let node: ts.Node = test; !typescript.isSourceFile(node); node = node.parent) {
    const isCondition =
      typescript.isIfStatement(node) ||
      typescript.isConditionalExpression(node) ||
      typescript.isSwitchStatement(node) ||
      typescript.isTryStatement(node) ||
      (typescript.isBinaryExpression(node) && node.operatorToken.kind !== typescript.SyntaxKind.EqualsToken);
    if (isCondition) return false;
    if (typescript.isFunctionLike(node) && !isTest(node.parent)) return false;
    if (node !== test && isTest(node) && !isRun(node)) return false;
  }
  return true;
}

/** Titles as they are written; those of templates with the texts of the file that they may be filled with. */
export function titlesOf(text: string): string[] {
  const source = typescript.createSourceFile('test.ts', text, typescript.ScriptTarget.ES2022, true);
  const titles: string[] = [];
  const literals: string[] = [];
  const templates: ts.TemplateExpression[] = [];
  const visit = (node: ts.Node): void => {
    if (typescript.isStringLiteral(node)) literals.push(node.text);
    if (isTest(node) && isRun(node)) {
      const [title] = node.arguments;
      if (typescript.isStringLiteralLike(title)) titles.push(title.text);
      else if (typescript.isTemplateExpression(title) && title.templateSpans.length === 1) templates.push(title);
    }
    typescript.forEachChild(node, visit);
  };
  visit(source);
  return [
    ...titles,
    ...templates.flatMap(({ head, templateSpans: [span] }) =>
      literals.map((one) => `${head.text}${one}${span.literal.text}`),
    ),
  ];
}

/** @param file below `test/`, without its ending. @returns the titles of the tests that it runs. */
export function testTitles(file: string): readonly string[] {
  const found =
    known.get(file) ??
    (file in TABLES
      ? TABLES[file].flatMap(({ rows }) => rows.map(({ row }) => row))
      : titlesOf(readFileSync(join(ROOT, 'test', `${file}.test.ts`), 'utf8')));
  known.set(file, found);
  return found;
}

/** The file runs a test with exactly this title, once. */
export function checkHeldBy(t: Test, heldBy: RuleRow['heldBy'] = []): void {
  for (const [file, title] of heldBy)
    t.equal(testTitles(file).filter((one) => one === title).length, 1, `test/${file} runs '${title}'`);
}
