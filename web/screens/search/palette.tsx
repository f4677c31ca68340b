/** `Ctrl K`: devices by the beginning of their name, by serial number, id and text, all asked at once; and pages. */
import { useLocation } from 'preact-iso';
import { useEffect, useState } from 'preact/hooks';
import { api, got } from '../../core/api/api.ts';
import { useLoaded } from '../../core/api/request.ts';
import { href } from '../../core/route.ts';
import type { RouteEntry } from '../../core/route.ts';
import { common } from '../../core/text/common.ts';
import { Combobox } from '../../parts/combobox.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { FormFault } from '../../parts/states.tsx';
import { words as searchWords } from './text.ts';

const PAUSE_MS = 80;
const EACH_MAX = 8;
const SERIAL_TYPE = 'c8y_Serial';

interface Found {
  readonly id: string;
  readonly name: string;
  readonly type: string;
}

/** A text inside of a query's quotes. */
const quoted = (text: string): string => text.replaceAll("'", "''");

interface Named {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly type?: string | undefined;
}

const foundOf = ({ id = '', name, type = '' }: Named): Found => ({ id, name: name ?? id, type });

async function listed(query: { query?: string; text?: string }, signal: AbortSignal): Promise<Found[]> {
  const page = await got(
    api.GET('/inventory/managedObjects', { params: { query: { ...query, pageSize: EACH_MAX } }, signal }),
  );
  return ((page as { managedObjects?: Named[] }).managedObjects ?? []).map(foundOf);
}

/** A look-up that may find nothing: 404 is an answer. */
async function one(id: string, signal: AbortSignal): Promise<Found[]> {
  const { data, response } = await api.GET('/inventory/managedObjects/{id}', { params: { path: { id } }, signal });
  return response.ok && data !== undefined ? [foundOf(data as Named)] : [];
}

async function bySerial(text: string, signal: AbortSignal): Promise<Found[]> {
  const { data, response } = await api.GET('/identity/externalIds/{type}/{externalId}', {
    params: { path: { type: SERIAL_TYPE, externalId: text } },
    signal,
  });
  const id = (data as { managedObject?: { id?: string } } | undefined)?.managedObject?.id;
  return response.ok && id !== undefined ? one(id, signal) : [];
}

/** All ways of finding at once; the same object is listed once, the most certain way first. */
export async function searchDevices(text: string, signal: AbortSignal): Promise<readonly Found[]> {
  const ways = await Promise.all([
    /^\d+$/.test(text) ? one(text, signal) : [],
    bySerial(text, signal),
    listed({ query: `$filter=name eq '${quoted(text)}*'` }, signal),
    listed({ text }, signal),
  ]);
  const all = new Map(ways.flat().map((found) => [found.id, found]));
  return [...all.values()].slice(0, EACH_MAX * 2);
}

export interface PaletteProps {
  readonly routes: readonly RouteEntry[];
  readonly onClose: () => void;
}

export default function Palette({ routes, onClose }: PaletteProps) {
  const words = searchWords();
  const { route } = useLocation();
  const [typed, setTyped] = useState('');
  const [asked, setAsked] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setAsked(typed.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const found = useLoaded(asked === '' ? undefined : (signal) => searchDevices(asked, signal), [asked]);
  const pages = routes
    .filter(
      ({ path, title }) => !path.includes(':') && typed !== '' && title().toLowerCase().includes(typed.toLowerCase()),
    )
    .slice(0, EACH_MAX);
  const suggestions = [
    ...(asked === '' ? [] : (found.data ?? [])).map(({ id, name, type }) => ({
      key: `device ${id}`,
      value: `${href('/')}devices/${encodeURIComponent(id)}`,
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
  const isEmpty = asked !== '' && !found.isLoading && suggestions.length === 0 && found.error === undefined;
  return (
    <Dialog title={common().search} onClose={onClose}>
      <div class="palette">
        <Combobox
          label={words.label}
          hint={words.hint}
          hasFocus
          value={typed}
          onInput={setTyped}
          suggestions={suggestions}
          onChoose={(suggestion) => {
            const target = suggestion ?? suggestions[0];
            if (target === undefined) return;
            onClose();
            route(target.value);
          }}
        />
      </div>
      <p role="status" class="muted">
        {found.isLoading ? common().loading : isEmpty ? words.nothing : ''}
      </p>
      <FormFault error={found.error} />
    </Dialog>
  );
}
