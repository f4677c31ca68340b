/** Where the console and the server are: the page's base URL says it, behind a proxy with its prefix. */

const BASE = typeof document === 'undefined' ? 'http://localhost/console/' : document.baseURI;

/** Path of the console, for instance `/console/`. */
export const CONSOLE_PATH = new URL(BASE).pathname;
/** URL of the server's API without a slash at its end. */
export const SERVER_URL = new URL('..', BASE).href.replace(/\/$/, '');

/** @param path of the API, for instance `/inventory/managedObjects?pageSize=1`. */
export const serverUrl = (path: string): string => `${SERVER_URL}${path}`;

/** The WebSocket of a path of the API. */
export const socketUrl = (path: string): string => serverUrl(path).replace(/^http/, 'ws');
