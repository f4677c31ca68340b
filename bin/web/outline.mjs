/**
 * Coast lines of the earth for the map of the console: Natural Earth 1:110m, made coarser. Numbers are tenths of a degree,
 * and each point is its step from the one before, so that it compresses to a few kilobytes.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const SPECIFIER = 'world-outline';
const PER_DEGREE = 10;
const TURN = 360 * PER_DEGREE;
/** A point whose triangle with its neighbours is smaller changes nothing that can be seen. Tenths of a degree, squared. */
const TRIANGLE_MIN = 50;
const CORNERS_MIN = 3;

const triangle = ([ax, ay], [bx, by], [cx, cy]) => Math.abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay)) / 2;

/** The corners of a ring without those that matter least, smallest first. */
function coarser(corners) {
  const kept = [...corners];
  while (kept.length > CORNERS_MIN) {
    let least = TRIANGLE_MIN;
    let at = -1;
    for (let index = 1; index < kept.length - 1; index += 1) {
      const size = triangle(kept[index - 1], kept[index], kept[index + 1]);
      if (size < least) [least, at] = [size, index];
    }
    if (at === -1) break;
    kept.splice(at, 1);
  }
  return kept;
}

/**
 * A ring that crosses the 180th meridian goes on beyond it, so that no line is drawn around the earth. Its middle stays
 * between the meridians: Asia begins at -180 degrees, and would lie west of America.
 */
function unturned(corners) {
  let turn = 0;
  const steady = corners.map(([x, y], index) => {
    const step = index === 0 ? 0 : x - corners[index - 1][0];
    if (step > TURN / 2) turn -= TURN;
    else if (step < -TURN / 2) turn += TURN;
    return [x + turn, y];
  });
  const all = steady.map(([x]) => x);
  const shift = Math.round((Math.min(...all) + Math.max(...all)) / 2 / TURN) * TURN;
  return steady.map(([x, y]) => [x - shift, y]);
}

/** @param ring `[longitude, latitude]` in degrees, its last point being its first. @returns `x, y, dx, dy, dx, dy, …`. */
function coded(ring) {
  const tenths = ring.slice(0, -1).map((point) => point.map((degrees) => Math.round(degrees * PER_DEGREE)));
  const corners = coarser(unturned(tenths));
  return corners.flatMap(([x, y], index) =>
    index === 0 ? [x, y] : [x - corners[index - 1][0], y - corners[index - 1][1]],
  );
}

/** @param topology TopoJSON with an object `land`. @returns polygons, each a list of coded rings: its edge, then its holes. */
export async function outlineOf(topology) {
  // Loaded here: this file is imported before packages are installed.
  const { feature } = await import('topojson-client');
  const { features } = feature(topology, topology.objects.land);
  return features
    .flatMap(({ geometry }) => (geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates))
    .map((rings) => rings.map(coded));
}

/** Plug-in of esbuild: `import outline from 'world-outline'`. */
export const worldOutline = {
  name: SPECIFIER,
  setup(build) {
    build.onResolve({ filter: /^world-outline$/ }, ({ path }) => ({ path, namespace: SPECIFIER }));
    build.onLoad({ filter: /.*/, namespace: SPECIFIER }, async () => {
      const path = createRequire(import.meta.url).resolve('world-atlas/land-110m.json');
      return { contents: JSON.stringify(await outlineOf(JSON.parse(readFileSync(path, 'utf8')))), loader: 'json' };
    });
  },
};
