/** The map itself: Leaflet with the outline of the world; tiles only from this server, when an option names them. */
import { useEffect, useRef } from 'preact/hooks';
import outline from 'world-outline';
import { Canvas, CircleMarker, DivIcon, LayerGroup, LeafletMap, Marker, Polygon, TileLayer } from './leaflet.ts';
import { polygonsOf } from './outline.ts';
import { clustersOf } from './places.ts';
import type { Box, DevicePlace, View } from './places.ts';
import { words as mapWords } from './text.ts';

const ZOOM_MAX = 19;
/** Side of a cluster's cell, pixels. */
const CELL_PIXELS = 56;

export interface WorldMapProps {
  readonly view: View;
  readonly places: readonly DevicePlace[];
  /** Path of this server with `{z}`, `{x}`, `{y}`; '' for none. */
  readonly tiles: string;
  readonly onView: (view: View, box: Box) => void;
  readonly onOpen: (id: string) => void;
}

/** A colour of the theme of the moment: a canvas knows no variables. */
const tone = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The name as text: a name is not HTML. */
function nameLabel(name: string): HTMLElement {
  const label = document.createElement('span');
  label.textContent = name;
  return label;
}

function clusterMarker(map: LeafletMap, place: { lat: number; lng: number }, count: number): Marker {
  const title = mapWords().cluster(count);
  const icon = new DivIcon({ html: nameLabel(String(count)), className: 'map-cluster', iconSize: [36, 36] });
  const marker = new Marker([place.lat, place.lng], { icon, title, alt: title });
  return marker.on('click', () => map.setView([place.lat, place.lng], Math.min(map.getZoom() + 2, ZOOM_MAX)));
}

export default function WorldMap({ view, places, tiles, onView, onOpen }: WorldMapProps) {
  const box = useRef<HTMLDivElement>(null);
  const made = useRef<{ readonly map: LeafletMap; readonly layer: LayerGroup }>(undefined);
  const latest = useRef({ onView, onOpen });
  latest.current = { onView, onOpen };
  useEffect(() => {
    const words = mapWords();
    const map = new LeafletMap(box.current as HTMLDivElement, {
      zoomControl: false,
      attributionControl: false,
      maxZoom: ZOOM_MAX,
      minZoom: 1,
      renderer: new Canvas(),
      zoomAnimation: false,
      fadeAnimation: false,
      inertia: false,
    });
    if (tiles === '')
      new Polygon(polygonsOf(outline), {
        interactive: false,
        weight: 1,
        color: tone('--control-border'),
        fillColor: tone('--hover'),
        fillOpacity: 1,
      }).addTo(map);
    else new TileLayer(tiles, { maxZoom: ZOOM_MAX }).addTo(map);
    made.current = { map, layer: new LayerGroup().addTo(map) };
    const tell = (): void => {
      const { lat, lng } = map.getCenter();
      const bounds = map.getBounds();
      latest.current.onView(
        { lat, lng, zoom: map.getZoom() },
        { south: bounds.getSouth(), west: bounds.getWest(), north: bounds.getNorth(), east: bounds.getEast() },
      );
    };
    map.on('moveend', tell);
    map.setView([view.lat, view.lng], view.zoom);
    box.current?.setAttribute('aria-label', words.map);
    return () => {
      map.remove();
      made.current = undefined;
    };
  }, [tiles]);
  // Back and a link move the map; its own moves are there already.
  useEffect(() => {
    const map = made.current?.map;
    if (map === undefined) return;
    const centre = map.getCenter();
    const isThere =
      map.getZoom() === view.zoom && Math.abs(centre.lat - view.lat) < 1e-3 && Math.abs(centre.lng - view.lng) < 1e-3;
    if (!isThere) map.setView([view.lat, view.lng], view.zoom);
  }, [view.lat, view.lng, view.zoom]);
  useEffect(() => {
    if (made.current === undefined) return;
    const { map, layer } = made.current;
    layer.clearLayers();
    const cell = (360 / (256 * 2 ** map.getZoom())) * CELL_PIXELS;
    const accent = tone('--accent');
    for (const { lat, lng, places: inCell } of clustersOf(places, cell)) {
      if (inCell.length > 1) layer.addLayer(clusterMarker(map, { lat, lng }, inCell.length));
      else
        layer.addLayer(
          new CircleMarker([lat, lng], { radius: 7, weight: 2, color: accent, fillColor: accent, fillOpacity: 0.6 })
            .bindTooltip(nameLabel(inCell[0].name))
            .on('click', () => latest.current.onOpen(inCell[0].id)),
        );
    }
  }, [places, tiles]);
  return <div class="map" role="application" ref={box} tabIndex={0} />;
}
