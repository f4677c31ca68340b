/** `Ctrl K`: devices by the beginning of their name, by serial number, id and text; and pages. */
import { useLocation } from 'preact-iso';
import { api, got } from '../../core/api/api.ts';
import { useSearch } from '../../core/api/search.ts';
import { href } from '../../core/route.ts';
import type { RouteEntry } from '../../core/route.ts';
import { quoted } from '../../core/server/managed-object.ts';
import { common } from '../../core/text/common.ts';
import { Combobox } from '../../parts/combobox.tsx';
import type { Suggestion } from '../../parts/combobox.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { FormFault } from '../../parts/states.tsx';
import { words as searchWords } from './text.ts';

const EACH_MAX = 8;
const SERIAL_TYPE = 'c8y_Serial';

interface Found {
  readonly id: string;
  readonly name: string;
  readonly type: string;
}

interface Named {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly type?: string | undefined;
}

const foundOf = ({ id = '', name, type = '' }: Named): Found => ({ id, name: name ?? id, type });

async function listed(
  query: { q?: string; text?: string; fragmentType?: string },
  signal: AbortSignal,
): Promise<Found[]> {
  const page = await got(
    api.GET('/inventory/managedObjects', {
      params: { query: { ...query, pageSize: EACH_MAX, withChildren: false } },
      signal,
    }),
  );
  return ((page as { managedObjects?: Named[] }).managedObjects ?? []).map(foundOf);
}

/** A look-up that may find nothing: 404 is an answer. */
async function one(id: string, signal: AbortSignal): Promise<Found[]> {
  const { data, response } = await api.GET('/inventory/managedObjects/{id}', { params: { path: { id } }, signal });
  return response.ok && data !== undefined && 'c8y_IsDevice' in data ? [foundOf(data as Named)] : [];
}

async function bySerial(text: string, signal: AbortSignal): Promise<Found[]> {
  const { data, response } = await api.GET('/identity/externalIds/{type}/{externalId}', {
    params: { path: { type: SERIAL_TYPE, externalId: text } },
    signal,
  });
  const id = (data as { managedObject?: { id?: string } } | undefined)?.managedObject?.id;
  return response.ok && id !== undefined ? one(id, signal) : [];
}

/**
 * All ways of finding, the most certain way first, and the same object once.
 * @param show gets what is found so far with each answer that has something.
 */
export async function searchDevices(
  text: string,
  signal: AbortSignal,
  show: (found: readonly Found[]) => void,
): Promise<readonly Found[]> {
  const ways: (readonly Found[])[] = [];
  const all = (): readonly Found[] =>
    [...new Map(ways.flat().map((found) => [found.id, found])).values()].slice(0, EACH_MAX * 2);
  const take = async (place: number, way: Promise<readonly Found[]>): Promise<void> => {
    ways[place] = await way;
    if (ways[place].length > 0) show(all());
  };
  await Promise.all([
    /^\d+$/.test(text) && take(0, one(text, signal)),
    take(1, bySerial(text, signal)),
    take(2, listed({ q: `$filter=name eq ${quoted(`${text}*`)}` }, signal)),
  ]);
  // Texts of whole objects take the longest, and beside the others would make them slower.
  if (ways.flat().length < EACH_MAX) await take(3, listed({ text, fragmentType: 'c8y_IsDevice' }, signal));
  return all();
}

export interface PaletteProps {
  readonly routes: readonly RouteEntry[];
  readonly onClose: () => void;
}

export default function Palette({ routes, onClose }: PaletteProps) {
  const words = searchWords();
  const { route } = useLocation();
  const search = useSearch(searchDevices, () => suggestions.length > 0 && open(suggestions[0]));
  const { typed } = search;
  const open = ({ value }: Suggestion): void => {
    onClose();
    route(value);
  };
  const pages = routes
    .filter(
      ({ path, title }) => !path.includes(':') && typed !== '' && title().toLowerCase().includes(typed.toLowerCase()),
    )
    .slice(0, EACH_MAX);
  const suggestions: readonly Suggestion[] = [
    ...(search.found ?? []).map(({ id, name, type }) => ({
      key: `device ${id}`,
      value: href('/devices/:id', { id }),
      text: (
        <>
          <span class="grow">{name}</span>
          <span class="muted small">{type}</span>
          <span class="muted mono">{id}</span>
        </>
      ),
    })),
    ...pages.map((entry) => ({
      key: entry.path,
      value: href(entry.path),
      text: (
        <>
          <span class="grow">{entry.title()}</span>
          <span class="muted small">{words.page}</span>
        </>
      ),
    })),
  ];
  const isEmpty = typed !== '' && !search.isPending && suggestions.length === 0 && search.error === undefined;
  return (
    <Dialog title={common().search} onClose={onClose}>
      <div class="palette">
        <Combobox
          label={words.label}
          hint={words.hint}
          hasFocus
          value={typed}
          onInput={search.setTyped}
          suggestions={suggestions}
          onChoose={(suggestion) => (suggestion ? open(suggestion) : search.takeFirst())}
        />
      </div>
      <p role="status" class="muted">
        {search.isPending ? common().loading : isEmpty ? words.nothing : ''}
      </p>
      <FormFault error={search.error} />
    </Dialog>
  );
}
