/** What bin/web/build.mjs puts into the code. */
declare module '*.css';
/** Name of the shared worker's file. */
declare const __WORKER_FILE__: string;

/** Coast lines (bin/web/outline.mjs): polygons, each a list of rings. */
declare module 'world-outline' {
  const polygons: readonly (readonly (readonly number[])[])[];
  export default polygons;
}

/** Parts of Leaflet: their types are those of the whole. */
declare module 'leaflet/src/map/Map.js' {
  export { Map } from 'leaflet';
}
declare module 'leaflet/src/layer/LayerGroup.js' {
  export { LayerGroup } from 'leaflet';
}
declare module 'leaflet/src/layer/marker/DivIcon.js' {
  export { DivIcon } from 'leaflet';
}
declare module 'leaflet/src/layer/marker/Marker.js' {
  export { Marker } from 'leaflet';
}
declare module 'leaflet/src/layer/tile/TileLayer.js' {
  export { TileLayer } from 'leaflet';
}
declare module 'leaflet/src/layer/vector/Canvas.js' {
  export { Canvas } from 'leaflet';
}
declare module 'leaflet/src/layer/vector/CircleMarker.js' {
  export { CircleMarker } from 'leaflet';
}
declare module 'leaflet/src/layer/vector/Polygon.js' {
  export { Polygon } from 'leaflet';
}
declare module 'leaflet/src/map/handler/*';
declare module 'leaflet/src/layer/Tooltip.js';
