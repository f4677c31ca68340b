/** What a person has chosen. This browser keeps it for the first paint; the account keeps it for other browsers. */
import { signal } from '@preact/signals';
import { LANGUAGES, language, setLanguage } from './text/language.ts';
import type { Language } from './text/language.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export const DENSITIES = ['normal', 'comfortable', 'compact'] as const;

export interface Preferences {
  readonly theme: (typeof THEMES)[number];
  /** An IANA name, or '' for that of the tenant, or else of the browser. */
  readonly zone: string;
  readonly language: Language;
  readonly density: (typeof DENSITIES)[number];
  /** Shortcuts of one key; those with Ctrl stay. */
  readonly hasKeys: boolean;
  /** The steps of the first run, on the start page. */
  readonly hasSteps: boolean;
  /** Columns of the list of devices, in their order; none stands for the usual ones. */
  readonly deviceColumns: readonly string[];
}

/** Columns of one list. */
export const COLUMNS_MAX = 20;

/** Also read by theme/first-paint.ts. */
const STORAGE_KEY = 'millrace.preferences';

const preferredLanguage = (): Language => (/^de\b/i.test(globalThis.navigator?.language ?? '') ? 'de' : 'en');

const DEFAULTS = (): Preferences => ({
  theme: 'system',
  zone: '',
  language: preferredLanguage(),
  density: 'normal',
  hasKeys: true,
  hasSteps: true,
  deviceColumns: [],
});

const oneOf = <T extends string>(values: readonly T[], value: unknown, otherwise: T): T =>
  values.find((one) => one === value) ?? otherwise;

const isText = (value: unknown): value is string => typeof value === 'string';

/** What is stored may be of another version, or wrong: each member counts alone. */
export function preferencesOf(stored: unknown): Preferences {
  const told = (typeof stored === 'object' && stored !== null ? stored : {}) as Readonly<Record<string, unknown>>;
  const otherwise = DEFAULTS();
  return {
    theme: oneOf(THEMES, told['theme'], otherwise.theme),
    zone: typeof told['zone'] === 'string' && isZone(told['zone']) ? told['zone'] : otherwise.zone,
    language: oneOf(LANGUAGES, told['language'], otherwise.language),
    density: oneOf(DENSITIES, told['density'], otherwise.density),
    hasKeys: told['hasKeys'] !== false,
    hasSteps: told['hasSteps'] !== false,
    deviceColumns: Array.isArray(told['deviceColumns'])
      ? told['deviceColumns'].filter(isText).slice(0, COLUMNS_MAX)
      : otherwise.deviceColumns,
  };
}

/** '' names none. */
function isZone(zone: string): boolean {
  if (zone === '') return true;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    // RangeError: the browser does not know it.
    return false;
  }
}

/** What the tenant has set for all its people. */
export const tenantSettings = signal({ zone: '', tiles: '' });

/** @param options system options of the category `console`. */
export function takeTenantSettings(options: Readonly<Record<string, string>>): void {
  const { 'time.zone': zone = '', 'map.tiles': tiles = '' } = options;
  tenantSettings.value = { zone: isZone(zone) ? zone : '', tiles };
}

/** The parameter of links that says the zone, so that others see the same times. */
export const ZONE_PARAMETER = 'tz';

/** Of the link that opened the page; '' when it names none, or one that the browser does not know. */
export const linkedZone = signal(zoneOfLink());

function zoneOfLink(): string {
  const zone = new URLSearchParams(globalThis.location?.search).get(ZONE_PARAMETER) ?? '';
  return isZone(zone) ? zone : '';
}

function readStored(): unknown {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '{}');
  } catch {
    // Storage is switched off, or another program has written there.
    return {};
  }
}

export const preferences = signal<Preferences>(preferencesOf(typeof localStorage === 'undefined' ? {} : readStored()));

/** Takes the changes for this browser and shows them. */
export function setPreferences(changes: Partial<Preferences>): void {
  preferences.value = { ...preferences.peek(), ...changes };
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(preferences.peek()));
  } catch {
    // Storage is switched off: they hold until the page is closed.
  }
  showPreferences();
}

/** Writes theme, density and language into the page. */
export function showPreferences(): void {
  const { theme, density, language: wanted } = preferences.peek();
  const { dataset } = document.documentElement;
  if (theme === 'system') delete dataset['theme'];
  else dataset['theme'] = theme;
  dataset['density'] = density;
  document.documentElement.lang = wanted === 'de' ? 'de' : 'en';
  if (language.peek() !== wanted) void setLanguage(wanted);
}
