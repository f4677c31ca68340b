/** Coast lines, which bin/web/outline.mjs makes short for the way. */

/** Degrees: latitude, longitude. */
type Corner = [number, number];

const PER_DEGREE = 10;

/** @param rings `x, y, dx, dy, …` in tenths of a degree: the edge of a polygon, then its holes. */
const polygonOf = (rings: readonly (readonly number[])[]): Corner[][] =>
  rings.map((steps) => {
    const corners: Corner[] = [];
    let [x, y] = [0, 0];
    for (let index = 0; index < steps.length; index += 2) {
      x += steps[index];
      y += steps[index + 1];
      corners.push([y / PER_DEGREE, x / PER_DEGREE]);
    }
    return corners;
  });

/** Polygons as Leaflet takes them. */
export const polygonsOf = (coded: readonly (readonly (readonly number[])[])[]): Corner[][][] => coded.map(polygonOf);
