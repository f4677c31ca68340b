/** What the route table says about a screen, and links to screens. The table itself is web/routes.ts. */
import { createContext } from 'preact';
import type { ComponentType } from 'preact';
import type { IconNode } from 'lucide';
import { CONSOLE_PATH } from './places.ts';
import { ZONE_PARAMETER, linkedZone } from './preferences.ts';

/** Groups of the navigation, in their order. */
export const SECTIONS = ['watch', 'devices', 'data', 'operate', 'admin'] as const;
export type Section = (typeof SECTIONS)[number];

export interface ScreenProps {
  /** The values of `:name` in the path. */
  readonly params: Readonly<Record<string, string>>;
}

export interface RouteEntry {
  /** Below the console, with `:name` segments: `/devices/:id/alarms`. */
  readonly path: `/${string}`;
  /** Title of the page and of its entry in the navigation, in the language of the moment. */
  readonly title: () => string;
  readonly load: () => Promise<{ readonly default: ComponentType<ScreenProps> }>;
  /** An entry of the navigation. `order` within its section. */
  readonly nav?: { readonly section: Section; readonly order: number; readonly icon: IconNode };
  /** A tab of the page of a device (`/devices/:id…`); `isFor` says which devices have it, all when it is absent. */
  readonly tab?: { readonly order: number; readonly isFor?: (device: Readonly<Record<string, unknown>>) => boolean };
  /** The keys that open it, for instance `g d`. */
  readonly keys?: string;
  /** A user without any of these roles sees which are missing. With `BY_READING` readers by inventory role are let in. */
  readonly roles?: readonly string[];
  /** Roles of which one shows everything. Without them it is what the user owns or has by inventory roles, and is said. */
  readonly allRoles?: readonly string[];
  /** A path of /openapi.json: without it the server does not offer what the screen is for. */
  readonly needs?: string;
  /** Values of `:name` for the tests that open every screen. `device` is the id of a device made by them. */
  readonly example?: Readonly<Record<string, 'device' | (string & {})>>;
}

/** The route table, for what shows links to screens of other areas. */
export const RouteTable = createContext<readonly RouteEntry[]>([]);

/** `allRoles` of the screen that is shown. */
export const AllRoles = createContext<readonly string[]>([]);

/** The names of `:name` segments. */
type Names<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Names<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** Texts of a query; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** The query as text with its question mark, or ''. */
export function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

/**
 * The link to a screen: `href('/devices/:id', { id: '42' })`.
 * The zone of the link that opened the page goes along. @param path as in the route table. @param params a value for
 * each `:name`.
 */
export function href<Path extends `/${string}`>(
  path: Path,
  ...[params, query]: [Names<Path>] extends [never]
    ? [params?: undefined, query?: Query]
    : [params: Readonly<Record<Names<Path>, string>>, query?: Query]
): string {
  const values = (params ?? {}) as Readonly<Record<string, string>>;
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name]));
  return CONSOLE_PATH + filled.slice(1) + queryText({ ...query, [ZONE_PARAMETER]: linkedZone.value || undefined });
}
