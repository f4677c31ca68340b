/** Finds the route of a request: fixed paths by one Map look-up, paths with parameters segment by segment. */
import { PlatformError } from '../../model/errors.ts';
import { BodyValidator } from '../../model/schema/body-validator.ts';
import { compileQueryCheck } from './schema/query-values.ts';
import type { Route } from './route.ts';
import type { CheckedRoute, Method, PathParameters } from './route-rules.ts';
import { withoutEnd } from '../../model/documents/text-end.ts';

/** A route with its handler. */
export interface CompiledRoute extends CheckedRoute {
  readonly route: Route;
}

/** The methods of one path. */
export interface PathEntry {
  readonly path: string;
  readonly methods: Map<string, CompiledRoute>;
}

export interface PathMatch {
  readonly entry: PathEntry;
  readonly params: PathParameters;
}

interface Node {
  readonly fixed: Map<string, Node>;
  parameter: { readonly name: string; readonly node: Node } | undefined;
  entry: PathEntry | undefined;
  /** Takes all further segments. */
  rest: { readonly name: string; readonly entry: PathEntry } | undefined;
}

/** No path of the table is as deep; hostile ones are not taken apart. */
const SEGMENTS_MAX = 32;
const NO_PARAMETERS: PathParameters = Object.freeze({});

export class Router {
  readonly routes: readonly Route[];
  private readonly fixed = new Map<string, PathMatch>();
  private readonly root: Node = newNode();

  /** @throws Error for two routes with one method and path, or two names of one parameter. */
  constructor(routes: readonly Route[]) {
    this.routes = routes;
    for (const route of routes) this.add(route);
  }

  /**
   * The most fixed path that has the method: an entity may be called like a path beside it, a device `limit`, and is
   * changed and deleted under its name. Where none has the method it is the most fixed path. A path that takes all
   * further segments is the last, whatever methods the others have.
   * @param path as sent. @throws PlatformError `general/bad-path` for a broken percent encoding.
   */
  find(path: string, method: string): PathMatch | undefined {
    const known = this.fixed.get(path);
    if (known?.entry.methods.has(method) === true) return known;
    const trimmed = path.length > 1 && path.endsWith('/') ? withoutEnd(path, '/') : path;
    const fixed = this.fixed.get(trimmed);
    if (fixed?.entry.methods.has(method) === true) return fixed;
    const hasMethod = ({ methods }: PathEntry): boolean => methods.has(method);
    const isAny = (): boolean => true;
    return (
      this.search(trimmed, { whole: hasMethod }) ??
      fixed ??
      this.search(trimmed, { whole: isAny }) ??
      this.search(trimmed, { rest: hasMethod }) ??
      this.search(trimmed, { rest: isAny })
    );
  }

  private search(path: string, takes: Takes): PathMatch | undefined {
    const segments = path.split('/', SEGMENTS_MAX + 1).slice(1);
    if (segments.length > SEGMENTS_MAX) return undefined;
    const decoded = segments.map(decodeSegment);
    const values: [string, string][] = [];
    const entry = walk(this.root, decoded, 0, values, takes);
    return entry === undefined ? undefined : { entry, params: Object.fromEntries(values) };
  }

  private add(route: Route): void {
    const compiled: CompiledRoute = {
      route,
      checkQuery: route.query === undefined ? undefined : compileQueryCheck(route.query),
      validator:
        route.body?.schema === undefined
          ? undefined
          : new BodyValidator(route.body.schema, route.area, route.method === 'POST'),
    };
    let node = this.root;
    const segments = route.path.split('/').slice(1);
    const restName = route.takesRest === true ? segments.pop()?.slice(1, -1) : undefined;
    for (const segment of segments) node = childOf(node, segment, route.path);
    if (restName !== undefined) {
      node.rest ??= { name: restName, entry: { path: route.path, methods: new Map() } };
      node.rest.entry.methods.set(route.method, compiled);
      return;
    }
    node.entry ??= { path: route.path, methods: new Map() };
    if (node.entry.methods.has(route.method)) throw new Error(`two routes ${route.method} ${route.path}`);
    node.entry.methods.set(route.method, compiled);
    if (!route.path.includes('{')) this.fixed.set(route.path, { entry: node.entry, params: NO_PARAMETERS });
  }
}

/** For the Allow header. */
export function allowedMethods(entry: PathEntry): string {
  const methods = [...entry.methods.keys()] as (Method | 'HEAD' | 'OPTIONS')[];
  if (entry.methods.has('GET')) methods.push('HEAD');
  return [...methods, 'OPTIONS'].join(', ');
}

function newNode(): Node {
  return { fixed: new Map(), parameter: undefined, entry: undefined, rest: undefined };
}

function childOf(node: Node, segment: string, path: string): Node {
  if (segment.startsWith('{') && segment.endsWith('}')) {
    const name = segment.slice(1, -1);
    node.parameter ??= { name, node: newNode() };
    if (node.parameter.name !== name)
      throw new Error(`${path}: the parameter {${name}} is called {${node.parameter.name}} elsewhere`);
    return node.parameter.node;
  }
  const known = node.fixed.get(segment) ?? newNode();
  node.fixed.set(segment, known);
  return known;
}

/** Whether an entry is looked for: of a path, or of one that takes all further segments. */
interface Takes {
  readonly whole?: (entry: PathEntry) => boolean;
  readonly rest?: (entry: PathEntry) => boolean;
}

/** A fixed segment is preferred to a parameter. */
function walk(
  node: Node,
  segments: readonly string[],
  index: number,
  values: [string, string][],
  takes: Takes,
): PathEntry | undefined {
  if (index === segments.length)
    return node.entry !== undefined && takes.whole?.(node.entry) === true ? node.entry : undefined;
  const segment = segments[index];
  const fixed = node.fixed.get(segment);
  const found = fixed === undefined ? undefined : walk(fixed, segments, index + 1, values, takes);
  if (found !== undefined) return found;
  if (node.parameter !== undefined && segment !== '') {
    values.push([node.parameter.name, segment]);
    const below = walk(node.parameter.node, segments, index + 1, values, takes);
    if (below !== undefined) return below;
    values.pop();
  }
  if (node.rest === undefined || takes.rest?.(node.rest.entry) !== true) return undefined;
  values.push([node.rest.name, segments.slice(index).join('/')]);
  return node.rest.entry;
}

function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new PlatformError('general/bad-path', { reason: `broken percent encoding in ${segment}` });
  }
}
