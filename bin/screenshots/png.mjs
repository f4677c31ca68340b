/** Pictures with a palette of at most 256 colours: a screen has few, and takes a third of the bytes. */
import { deflateSync } from 'node:zlib';

const COLOURS_MAX = 256;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const PALETTE_TYPE = 3;
/** Colours that differ less than this in each part count as one at first. */
const STEP_BITS = 2;

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crcOf(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRC_TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crcOf(body), body.length + 4);
  return framed;
}

const partsOf = (colour) => [colour >> 16, (colour >> 8) & 0xff, colour & 0xff];
const colourAt = (pixels, at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];

/** The most frequent colours; of those that are nearly the same the most frequent one. */
function paletteOf(pixels) {
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += 4) {
    const colour = colourAt(pixels, at);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [];
  const taken = new Set();
  for (const [colour] of [...counts].sort(([, one], [, other]) => other - one)) {
    const cell = partsOf(colour)
      .map((part) => part >> STEP_BITS)
      .join();
    if (taken.has(cell)) continue;
    taken.add(cell);
    palette.push(colour);
    if (palette.length === COLOURS_MAX) break;
  }
  return palette;
}

/** @returns finds the place of the nearest colour; each colour is looked for once. */
function nearestIn(palette) {
  const parts = palette.map(partsOf);
  const known = new Map();
  return (colour) => {
    let found = known.get(colour);
    if (found !== undefined) return found;
    const [red, green, blue] = partsOf(colour);
    let least = Infinity;
    for (const [index, [r, g, b]] of parts.entries()) {
      const distance = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
      if (distance < least) [least, found] = [distance, index];
    }
    known.set(colour, found);
    return found;
  };
}

/** @param pixels red, green, blue, opacity of each, row by row. @returns the file. */
export function encodePalette({ width, height, pixels }) {
  const palette = paletteOf(pixels);
  const nearest = nearestIn(palette);
  // Each row begins with its filter, 0 for none.
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) rows[y * (width + 1) + x + 1] = nearest(colourAt(pixels, (y * width + x) * 4));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, PALETTE_TYPE], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(palette.flatMap(partsOf))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
