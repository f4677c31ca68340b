/**
 * Query parameters that a route does not know (docs/spec/conventions.md#paths): they are ignored, and the log tells
 * their names, for a client that asks for a filter which does not exist gets more than it wants. Where it would change
 * more, it is refused.
 */
import { PlatformError } from '../../model/errors.ts';
import { ANONYMOUS } from '../../model/access/principal.ts';
import type { Log } from '../../ports/log.ts';
import type { ApiRequest } from './request.ts';

/** Names of one route that are logged; further ones are counted only. */
const NAMES_MAX = 20;
/** Longer names are logged cut. */
const NAME_LENGTH_MAX = 64;
/** What clients add so that nothing answers out of a cache: it changes no result. */
const WITHOUT_MEANING: ReadonlySet<string> = new Set(['_', '_dc', 'nocache']);

export class UnknownParameters {
  readonly #log: Log;
  readonly #count: (route: string) => void;
  /** Names by method and path: as many as the route table has, times {@link NAMES_MAX}. */
  readonly #logged = new Map<string, Set<string>>();

  constructor(log: Log, count: (route: string) => void) {
    this.#log = log;
    this.#count = count;
  }

  /**
   * Of strangers nothing is noted: they could fill the log.
   * @throws PlatformError `general/invalid-parameter` where it would change more than is meant.
   */
  note({ query, route, principal }: ApiRequest): void {
    if (query.isEmpty || route.takesAnyQuery === true || principal === ANONYMOUS) return;
    const known = route.query ?? {};
    for (const name of query.names) {
      if (Object.hasOwn(known, name) || WITHOUT_MEANING.has(name)) continue;
      if (route.changesAllThatMatch === true) {
        const limit = `no parameter of this path, which would change more without it; it takes ${Object.keys(known).join(', ')}`;
        throw new PlatformError('general/invalid-parameter', {
          name: name.slice(0, NAME_LENGTH_MAX),
          value: query.text(name) ?? '',
          limit,
        });
      }
      this.#count(route.path);
      this.#logOnce(`${route.method} ${route.path}`, name.slice(0, NAME_LENGTH_MAX), principal.tenant);
    }
  }

  #logOnce(route: string, parameter: string, tenant: string): void {
    const names = this.#logged.get(route) ?? new Set();
    this.#logged.set(route, names);
    if (names.size >= NAMES_MAX || names.has(parameter)) return;
    names.add(parameter);
    this.#log.info({ route, parameter, tenant }, 'the route does not know a query parameter; it is ignored');
  }
}
