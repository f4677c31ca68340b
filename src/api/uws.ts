/** uWebSockets.js, the only file that imports it. */
import './uws-limits.ts';
import uWS from 'uWebSockets.js';
import type { HttpLibrary } from './http-library.ts';

/** Its declaration lacks the form of `listen` with host and mode. */
export const uwsLibrary = uWS as unknown as HttpLibrary;
