/** Where devices are: a map, and beside it the same as a list. */
import { Minus, Plus } from 'lucide';
import { useLocation } from 'preact-iso';
import type { ComponentType } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { usePoll } from '../../core/api/poll.ts';
import { useLoaded } from '../../core/api/request.ts';
import { sendRaw } from '../../core/api/send.ts';
import { SERVER_URL } from '../../core/places.ts';
import { tenantSettings } from '../../core/preferences.ts';
import { href, queryText } from '../../core/route.ts';
import { countObjects } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { textParameter, useUrlState } from '../../core/url-state.ts';
import { IconButton, Button } from '../../parts/button.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Fault, Loading } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import { WORLD, boxQuery, placeOf, viewOf, viewText } from './places.ts';
import type { Box, DevicePlace } from './places.ts';
import { words as mapWords } from './text.ts';
import type { WorldMapProps } from './world-map.tsx';

const SHAPE = { at: textParameter() };
/** Devices of one request; a view with more says so. */
const DRAWN_MAX = 2_000;
const LISTED_MAX = 100;
/** Devices move: the server has no channel for those of a box. */
const MOVED_MS = 10_000;
const NOWHERE: readonly DevicePlace[] = [];

const objectsPath = (query: string): string =>
  `/inventory/managedObjects${queryText({ q: query, pageSize: DRAWN_MAX, withChildren: 'false' })}`;

async function placesIn(query: string, signal: AbortSignal): Promise<readonly DevicePlace[]> {
  const answer = (await (await sendRaw(objectsPath(query), { signal })).json()) as { managedObjects: ManagedObject[] };
  return answer.managedObjects.map(placeOf).filter((place) => place !== undefined);
}

/** The policy of the page allows pictures of this server alone, so tiles have a path of it. */
const tilesOf = (path: string): string => (/^\/[^/]/.test(path) ? SERVER_URL + path : '');

export default function MapScreen() {
  const words = mapWords();
  const { route } = useLocation();
  const [{ at }, set] = useUrlState(SHAPE);
  const view = useMemo(() => viewOf(at), [at]);
  const [box, setBox] = useState<Box>();
  const [Drawn, setDrawn] = useState<ComponentType<WorldMapProps>>();
  useEffect(() => {
    void import('./world-map.tsx').then((loaded) => setDrawn(() => loaded.default));
  }, []);
  const query = box === undefined ? '' : boxQuery(box);
  const places = useLoaded(query === '' ? undefined : (signal) => placesIn(query, signal), [query]);
  const counted = useLoaded(query === '' ? undefined : (signal) => countObjects({ q: query }, signal), [query]);
  usePoll(MOVED_MS, places.reload);
  // The same places stay drawn.
  const placed = JSON.stringify(places.data);
  const found = useMemo(() => places.data ?? NOWHERE, [placed]);
  const zoom = (step: number): void =>
    set({ at: viewText({ ...view, zoom: Math.min(Math.max(view.zoom + step, 1), 19) }) });
  return (
    <Page
      copy={{ path: objectsPath(query || '$filter=has(c8y_Position)') }}
      title={words.title}
      actions={
        <>
          <IconButton icon={Plus} label={words.zoomIn} onClick={() => zoom(1)} />
          <IconButton icon={Minus} label={words.zoomOut} onClick={() => zoom(-1)} />
          <Button onClick={() => set({ at: viewText(WORLD) }, { isStep: true })}>{words.world}</Button>
        </>
      }
    >
      <div class="columns">
        {Drawn === undefined ? (
          <div class="map">
            <Loading />
          </div>
        ) : (
          <Drawn
            view={view}
            places={found}
            tiles={tilesOf(tenantSettings.value.tiles)}
            onView={(next, nextBox) => {
              setBox(nextBox);
              set({ at: viewText(next) });
            }}
            onOpen={(id) => route(href('/devices/:id', { id }))}
          />
        )}
        <Section title={words.list}>
          {places.error ? (
            <Fault error={places.error} retry={places.reload} />
          ) : (
            places.data === undefined && <Loading />
          )}
          <p class="muted small" role="status">
            {counted.data !== undefined &&
              places.data !== undefined &&
              (counted.data > found.length ? words.some(found.length, counted.data) : words.found(found.length))}
          </p>
          {places.data !== undefined && found.length === 0 && <p>{words.emptyText}</p>}
          {found.length > 0 && (
            <Table
              label={words.list}
              rows={found.slice(0, LISTED_MAX)}
              keyOf={({ id }) => id}
              columns={[
                {
                  id: 'name',
                  title: words.name,
                  isHeading: true,
                  cell: ({ id, name }) => <a href={href('/devices/:id', { id })}>{name}</a>,
                },
                {
                  id: 'position',
                  title: words.position,
                  isEnd: true,
                  cell: ({ lat, lng }) => `${lat.toFixed(4)}, ${lng.toFixed(4)}`,
                },
              ]}
            />
          )}
        </Section>
      </div>
    </Page>
  );
}
