/** Content types of files by the ending of their name. */

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html;charset=UTF-8',
  htm: 'text/html;charset=UTF-8',
  css: 'text/css;charset=UTF-8',
  js: 'text/javascript;charset=UTF-8',
  mjs: 'text/javascript;charset=UTF-8',
  json: 'application/json;charset=UTF-8',
  map: 'application/json;charset=UTF-8',
  txt: 'text/plain;charset=UTF-8',
  md: 'text/markdown;charset=UTF-8',
  csv: 'text/csv;charset=UTF-8',
  xml: 'application/xml',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  ico: 'image/x-icon',
  bmp: 'image/bmp',
  woff: 'font/woff',
  woff2: 'font/woff2',
  ttf: 'font/ttf',
  otf: 'font/otf',
  eot: 'application/vnd.ms-fontobject',
  wasm: 'application/wasm',
  pdf: 'application/pdf',
  zip: 'application/zip',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  webm: 'video/webm',
  webmanifest: 'application/manifest+json',
  glb: 'model/gltf-binary',
  gltf: 'model/gltf+json',
};

/** `application/octet-stream` for others. */
export function contentTypeOf(fileName: string): string {
  const ending = fileName.slice(fileName.lastIndexOf('.') + 1).toLowerCase();
  return Object.hasOwn(TYPES, ending) ? TYPES[ending] : 'application/octet-stream';
}
