/**
 * Changes of a symbol (a function, method, getter or constant) that take a rule out of it. They go by its structure and
 * by names that others use too: members, functions, constants, texts. A variable or parameter can be renamed without a
 * rule noticing.
 */
import { typescript } from '../helpers/typescript.ts';
import type { Node, SourceFile } from 'typescript';

/** Text to be put in the place of what stands from `start` to `end` of a source. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}
/** @throws Error when the symbol has no single place for it. */
export type Operator = (symbol: Node, source: SourceFile) => Edit[];

/** What may stand in the place of an expression: nothing that names a variable. */
const CONSTANT =
  /^(undefined|null|true|false|NaN|-?[\d_.]+|'[^']*'|\[\]|\{\}|Infinity|new (Map|Set)\(\)|Promise\.(resolve|reject)\(\)|async \(\) => \{\}|\(\) => \{\})$/;

function checkConstant(text: string): void {
  if (text !== '' && !CONSTANT.test(text)) throw new Error(`not a constant: ${text}`);
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  typescript.forEachChild(node, (child) => walk(child, visit));
}

function all(symbol: Node, isWanted: (node: Node) => boolean): Node[] {
  const found: Node[] = [];
  walk(symbol, (node) => {
    if (isWanted(node)) found.push(node);
  });
  return found;
}

/** Those in which no other of them lies. */
const innermost = (nodes: readonly Node[]): Node[] =>
  nodes.filter((node) => !nodes.some((other) => other !== node && other.pos >= node.pos && other.end <= node.end));

/** @param nth from 1; 0 asks for the only one. */
function single(nodes: readonly Node[], what: string, nth: number): Node {
  if (nth > 0 && nth <= nodes.length) return nodes[nth - 1];
  if (nth === 0 && nodes.length === 1) return nodes[0];
  throw new Error(`${nodes.length} times ${what}${nth > 0 ? `, not ${nth}` : ', where one is looked for'}`);
}

/** Names of variables and parameters of the symbol. */
function localsOf(symbol: Node): Set<string> {
  const names = new Set<string>();
  walk(symbol, (node) => {
    const isLocal =
      typescript.isParameter(node) ||
      typescript.isBindingElement(node) ||
      (typescript.isVariableDeclaration(node) && node !== symbol);
    if (isLocal && typescript.isIdentifier(node.name)) names.add(node.name.text);
  });
  return names;
}

/** Whether the node itself is the name: of a member, of what the symbol has not declared itself, or a text. */
function isName(node: Node, name: string, locals: ReadonlySet<string>): boolean {
  if (typescript.isStringLiteralLike(node) || typescript.isPrivateIdentifier(node)) return node.text === name;
  if (!typescript.isIdentifier(node) || node.text !== name) return false;
  const isMember = typescript.isPropertyAccessExpression(node.parent) && node.parent.name === node;
  return isMember || !locals.has(name);
}

const mentions = (node: Node, name: string, locals: ReadonlySet<string>): boolean =>
  all(node, (one) => isName(one, name, locals)).length > 0;

/** Calls of a function or method, and `new` of a class. */
function callsOf(symbol: Node, name: string): Node[] {
  const locals = localsOf(symbol);
  return all(symbol, (node) => {
    if (!typescript.isCallExpression(node) && !typescript.isNewExpression(node)) return false;
    const { expression } = node;
    return isName(typescript.isPropertyAccessExpression(expression) ? expression.name : expression, name, locals);
  });
}

/** The largest expression that the node begins: with what is called on its result, and its `await`. */
function chainOf(node: Node): Node {
  const { parent } = node;
  const goesOn =
    typescript.isAwaitExpression(parent) ||
    typescript.isVoidExpression(parent) ||
    typescript.isNonNullExpression(parent) ||
    ((typescript.isPropertyAccessExpression(parent) || typescript.isCallExpression(parent)) &&
      parent.expression === node);
  return goesOn ? chainOf(parent) : node;
}

const edit = (node: Node, source: SourceFile, text: string): Edit => ({
  start: node.getStart(source),
  end: node.end,
  text,
});

/** The function does nothing but return the constant. */
export const returns =
  (constant: string): Operator =>
  (symbol, source) => {
    checkConstant(constant);
    const [body] = all(
      symbol,
      (node) => typescript.isFunctionLike(node) && 'body' in node && node.body !== undefined,
    ).map((node) => (node as unknown as { body: Node }).body);
    if (body === undefined) throw new Error('no function');
    return [
      edit(body, source, typescript.isBlock(body) ? `{ return ${constant}; }` : constant === '{}' ? '({})' : constant),
    ];
  };

/**
 * Calls of the function are left out; where a value is needed there is the constant. @param nth of its calls, from 1; 0
 * = all.
 */
export const without =
  (name: string, nth = 0, constant = 'undefined'): Operator =>
  (symbol, source) => {
    checkConstant(constant);
    const calls = callsOf(symbol, name);
    if (calls.length === 0 || calls.length < nth) throw new Error(`${calls.length} calls of ${name}`);
    return (nth === 0 ? calls : [calls[nth - 1]]).map((call) => {
      const chain = chainOf(call);
      if (typescript.isExpressionStatement(chain.parent)) return edit(chain.parent, source, '{}');
      const awaited = typescript.isAwaitExpression(call.parent) ? call.parent : call;
      return edit(constant === 'undefined' ? chain : awaited, source, constant === '{}' ? '({})' : constant);
    });
  };

/** Calls of the function have this result. */
export const gives = (name: string, constant: string, nth = 0): Operator => without(name, nth, constant);

/** In the place of the function, member, constant or text there is another one. @param nth from 1; 0 = everywhere. */
export const instead =
  (name: string, other: string, nth = 0): Operator =>
  (symbol, source) => {
    const locals = localsOf(symbol);
    const found = all(symbol, (node) => isName(node, name, locals) && node !== (symbol as { name?: Node }).name);
    if (found.length === 0 || found.length < nth) throw new Error(`${found.length} times ${name}`);
    return (nth === 0 ? found : [found[nth - 1]]).map((node) =>
      edit(node, source, typescript.isStringLiteralLike(node) ? `'${other}'` : other),
    );
  };

/** What the function promises is not waited for. */
export const unawaited =
  (name: string): Operator =>
  (symbol, source) => {
    const call = single(callsOf(symbol, name), `a call of ${name}`, 0);
    const { parent } = call;
    if (typescript.isAwaitExpression(parent)) return [edit(parent, source, `void ${call.getText(source)}`)];
    if (typescript.isPropertyAccessExpression(parent) && parent.name.text === 'then')
      return [edit(call, source, `(${call.getText(source)}, Promise.resolve())`)];
    throw new Error(`${name} is not waited for`);
  };

interface Conditional {
  readonly condition: Node;
  readonly decides: readonly Node[];
}

function conditionalOf(node: Node): Conditional | undefined {
  if (typescript.isIfStatement(node)) {
    return {
      condition: node.expression,
      decides: node.elseStatement === undefined ? [node.thenStatement] : [node.thenStatement, node.elseStatement],
    };
  }
  if (typescript.isConditionalExpression(node))
    return { condition: node.condition, decides: [node.whenTrue, node.whenFalse] };
  if (typescript.isWhileStatement(node) || typescript.isDoStatement(node))
    return { condition: node.expression, decides: [node.statement] };
  if (typescript.isForStatement(node) && node.condition !== undefined)
    return { condition: node.condition, decides: [node.statement] };
  return undefined;
}

/** Conditions of if, ?: and loops with the name; when there is none, those that decide about what has the name. */
function conditionsWith(symbol: Node, name: string): Node[] {
  const locals = localsOf(symbol);
  const nodes = all(symbol, (node) => conditionalOf(node) !== undefined);
  const partOf = (node: Node): Conditional => conditionalOf(node) as Conditional;
  const found = nodes.filter((node) => mentions(partOf(node).condition, name, locals));
  if (found.length > 0) return found.map((node) => partOf(node).condition);
  return innermost(nodes.filter((node) => partOf(node).decides.some((one) => mentions(one, name, locals)))).map(
    (node) => partOf(node).condition,
  );
}

const decided =
  (name: string, nth: number, constant: string): Operator =>
  (symbol, source) => [edit(single(conditionsWith(symbol, name), `a condition of ${name}`, nth), source, constant)];

/** The condition with the name is never true. @param nth from 1, when there are several. */
export const never = (name: string, nth = 0): Operator => decided(name, nth, 'false');
/** The condition with the name is always true. */
export const always = (name: string, nth = 0): Operator => decided(name, nth, 'true');

const LOGICAL: ReadonlySet<number> = new Set([
  typescript.SyntaxKind.AmpersandAmpersandToken,
  typescript.SyntaxKind.BarBarToken,
  typescript.SyntaxKind.QuestionQuestionToken,
]);

/** The operand of &&, || or ?? with the name is left out. */
export const dropped =
  (name: string, nth = 0): Operator =>
  (symbol, source) => {
    const locals = localsOf(symbol);
    const operators = innermost(
      all(
        symbol,
        (node) =>
          typescript.isBinaryExpression(node) && LOGICAL.has(node.operatorToken.kind) && mentions(node, name, locals),
      ),
    );
    const binary = single(operators, `an operand of ${name}`, nth);
    if (!typescript.isBinaryExpression(binary)) throw new Error('no operator');
    return [edit(binary, source, (mentions(binary.left, name, locals) ? binary.right : binary.left).getText(source))];
  };

/** The statements that call the two functions, in one block, change places. */
export const swapped =
  (one: string, other: string): Operator =>
  (symbol, source) => {
    const statementsOf = (name: string): Node[] =>
      callsOf(symbol, name).flatMap((call) => {
        const statements: Node[] = [];
        for (let node = call; node !== symbol; node = node.parent)
          if (typescript.isBlock(node.parent)) statements.push(node);
        return statements;
      });
    const others = statementsOf(other);
    const pairs = statementsOf(one).flatMap((left) =>
      others.filter((right) => right !== left && right.parent === left.parent).map((right) => [left, right]),
    );
    if (pairs.length !== 1) throw new Error(`${pairs.length} blocks with ${one} and ${other}`);
    const [[left, right]] = pairs;
    return [edit(left, source, right.getText(source)), edit(right, source, left.getText(source))];
  };

/**
 * The constant or property, which is the symbol itself, or the member that the symbol sets in an object, has this
 * value.
 */
export const valued =
  (constant: string, member?: string): Operator =>
  (symbol, source) => {
    checkConstant(constant);
    if (member === undefined) {
      const { initializer } = symbol as { initializer?: Node };
      if (initializer === undefined) throw new Error('no value');
      return [edit(initializer, source, constant)];
    }
    const found = all(symbol, (node) => {
      if (typescript.isPropertyAssignment(node) || typescript.isShorthandPropertyAssignment(node))
        return node.name.getText(source) === member;
      return (
        typescript.isBinaryExpression(node) &&
        node.operatorToken.kind === typescript.SyntaxKind.EqualsToken &&
        typescript.isPropertyAccessExpression(node.left) &&
        node.left.name.text === member
      );
    });
    if (found.length === 0) throw new Error(`nothing sets ${member}`);
    return found.map((node) => {
      if (typescript.isPropertyAssignment(node)) return edit(node.initializer, source, constant);
      return typescript.isBinaryExpression(node)
        ? edit(node.right, source, constant)
        : edit(node, source, `${member}: ${constant}`);
    });
  };

/** The function takes this for its nth parameter, from 1, whatever it is given. */
export const taken =
  (nth: number, constant: string): Operator =>
  (symbol, source) => {
    checkConstant(constant);
    const [callee] = all(symbol, (node) => typescript.isFunctionLike(node) && 'body' in node);
    if (callee === undefined || !typescript.isFunctionLike(callee)) throw new Error('no function');
    const parameter = callee.parameters.at(nth - 1);
    if (parameter === undefined || !typescript.isIdentifier(parameter.name))
      throw new Error(`no parameter ${nth} with a name`);
    const { body } = callee as unknown as { body: Node };
    const text = `${parameter.name.text} = ${constant};`;
    if (typescript.isBlock(body))
      return [{ start: body.getStart(source) + 1, end: body.getStart(source) + 1, text: ` ${text}` }];
    return [edit(body, source, `{ ${text} return ${body.getText(source)}; }`)];
  };
