/** What bin/web.mjs puts into the code. */
declare module '*.css';
/** Name of the shared worker's file. */
declare const __WORKER_FILE__: string;
/** Pages of the documentation as text. */
declare module '*.md' {
  const text: string;
  export default text;
}
