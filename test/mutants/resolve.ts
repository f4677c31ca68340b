/**
 * Finds what rules name, in whatever folder it is: symbols in src/ and test files. Writes a source without its rule.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { typescript } from '../helpers/typescript.ts';
import type { Node, SourceFile } from 'typescript';
import type { Edit, Operator } from './operators.ts';

/** What a path of names leads to. */
interface Found {
  readonly file: string;
  readonly source: SourceFile;
  readonly node: Node;
}

const namesNode = (node: Node, name: string): boolean => {
  const { name: own } = node as { name?: Node };
  return (
    own !== undefined &&
    (typescript.isIdentifier(own) || typescript.isPrivateIdentifier(own) || typescript.isStringLiteral(own)) &&
    own.text === name
  );
};

const isFunctionValue = ({ initializer }: { initializer?: Node }): boolean =>
  initializer !== undefined &&
  (typescript.isArrowFunction(initializer) || typescript.isFunctionExpression(initializer));

/** Members of a class or of an object; within a function the functions that it declares. */
function membersOf(node: Node, name: string): Node[] {
  if (typescript.isClassDeclaration(node)) {
    return name === 'constructor'
      ? node.members.filter(typescript.isConstructorDeclaration)
      : node.members.filter((member) => namesNode(member, name));
  }
  const found: Node[] = [];
  const visit = (inner: Node): void => {
    const isMember =
      typescript.isPropertyAssignment(inner) ||
      typescript.isMethodDeclaration(inner) ||
      typescript.isFunctionDeclaration(inner) ||
      (typescript.isVariableDeclaration(inner) && isFunctionValue(inner));
    if (isMember && namesNode(inner, name)) found.push(inner);
    else typescript.forEachChild(inner, visit);
  };
  typescript.forEachChild(node, visit);
  return found;
}

function topLevel(source: SourceFile, name: string): Node[] {
  return source.statements.flatMap((statement): Node[] => {
    if (typescript.isVariableStatement(statement))
      return statement.declarationList.declarations.filter((declaration) => namesNode(declaration, name));
    const isSymbol = typescript.isClassDeclaration(statement) || typescript.isFunctionDeclaration(statement);
    return isSymbol && namesNode(statement, name) ? [statement] : [];
  });
}

/** Names of classes, functions, constants and variables, of whatever level. */
const DECLARED = /\b(?:class|function|const|let)\s+([\w$]+)/g;

export class Sources {
  readonly #texts = new Map<string, string>();
  readonly #parsed = new Map<string, SourceFile>();
  /** By name. */
  readonly #filesOf = new Map<string, Set<string>>();

  /** @param root the repository. */
  constructor(root: string) {
    for (const name of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
      if (name.endsWith('.ts')) this.#add(join('src', name), readFileSync(join(root, 'src', name), 'utf8'));
    }
  }

  #add(file: string, text: string): void {
    this.#texts.set(file, text);
    for (const [, name] of text.matchAll(DECLARED)) {
      const files = this.#filesOf.get(name);
      if (files === undefined) this.#filesOf.set(name, new Set([file]));
      else files.add(file);
    }
  }

  #parse(file: string): SourceFile {
    const known =
      this.#parsed.get(file) ??
      typescript.createSourceFile(file, this.#texts.get(file) as string, typescript.ScriptTarget.ES2022, true);
    this.#parsed.set(file, known);
    return known;
  }

  /**
   * @param path `name`, `Class.method`, `function.inner`; `Neighbour:name` where several files have the name: the one
   * that declares both.
   * @throws Error unless there is exactly one.
   */
  find(path: string): Found {
    const [names, neighbour] = path.split(':').reverse();
    const [first, ...others] = names.split('.');
    const found: Found[] = [];
    for (const file of this.#filesOf.get(first) ?? []) {
      if (neighbour !== undefined && this.#filesOf.get(neighbour)?.has(file) !== true) continue;
      const source = this.#parse(file);
      let nodes = topLevel(source, first);
      for (const name of others) nodes = nodes.flatMap((node) => membersOf(node, name));
      found.push(...nodes.map((node) => ({ file, source, node })));
    }
    if (found.length === 1) return found[0];
    if (found.length === 0) throw new Error(`${path} is not in src/`);
    throw new Error(
      `${path} is in ${found.map(({ file }) => file).join(' and ')}: name a neighbour that one file has, as Neighbour:${names}`,
    );
  }

  /** @returns the file, and its text as TypeScript without the rule. @throws Error when the rule has no place. */
  without(path: string, operator: Operator): { file: string; text: string } {
    const { file, source, node } = this.find(path);
    const before = this.#texts.get(file) as string;
    const text = changed(before, operator(node, source));
    if (text === before) throw new Error('changes nothing');
    return { file, text };
  }
}

let testNames: readonly string[] | undefined;

/**
 * @param name of a file of test/, without `.test.ts`, with as much of its path as tells it from others. When no file
 * has that path, those with the last part of it count: a file that moves needs no other name.
 * @returns paths from the root; none when there is no such file.
 */
export function testFiles(root: string, name: string): string[] {
  testNames ??= readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join('test', file));
  const files = testNames;
  const endingOn = (path: string): string[] => files.filter((file) => file.endsWith(`/${path}.test.ts`));
  const found = endingOn(name);
  return found.length > 0 ? found : endingOn(name.slice(name.lastIndexOf('/') + 1));
}

/** Edits within another one are left out. */
export function changed(text: string, edits: readonly Edit[]): string {
  const outermost = edits.filter(
    (one) => !edits.some((other) => other !== one && other.start <= one.start && other.end >= one.end),
  );
  return outermost
    .sort((one, other) => other.start - one.start)
    .reduce((after, { start, end, text: put }) => after.slice(0, start) + put + after.slice(end), text);
}
