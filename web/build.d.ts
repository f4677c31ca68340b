/** What bin/web.mjs puts into the code. */
declare module '*.css';
/** Name of the shared worker's file. */
declare const __WORKER_FILE__: string;
/** docs/reference/limits.md. */
declare const __LIMITS_PAGE__: string;
