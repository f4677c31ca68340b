/**
 * As much of Leaflet as the map needs. Handlers add themselves to every map: dragging,
 * keys, wheel, double click, pinching.
 */
import { Map as LeafletMap } from 'leaflet/src/map/Map.js';
import 'leaflet/src/map/handler/Map.DoubleClickZoom.js';
import 'leaflet/src/map/handler/Map.Drag.js';
import 'leaflet/src/map/handler/Map.Keyboard.js';
import 'leaflet/src/map/handler/Map.ScrollWheelZoom.js';
import 'leaflet/src/map/handler/Map.TouchZoom.js';
import 'leaflet/src/layer/Tooltip.js';
import { Canvas } from 'leaflet/src/layer/vector/Canvas.js';

/** All shapes are on the canvas of the map's options. Leaflet's own choice would bring SVG along. */
LeafletMap.include({
  getRenderer(this: LeafletMap): Canvas {
    const canvas = this.options.renderer as Canvas;
    if (!this.hasLayer(canvas)) this.addLayer(canvas);
    return canvas;
  },
});

export { Canvas, LeafletMap };
export { LayerGroup } from 'leaflet/src/layer/LayerGroup.js';
export { DivIcon } from 'leaflet/src/layer/marker/DivIcon.js';
export { Marker } from 'leaflet/src/layer/marker/Marker.js';
export { TileLayer } from 'leaflet/src/layer/tile/TileLayer.js';
export { CircleMarker } from 'leaflet/src/layer/vector/CircleMarker.js';
export { Polygon } from 'leaflet/src/layer/vector/Polygon.js';
