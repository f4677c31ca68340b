/** TypeScript to JavaScript, a file for a file, about a second for all of it. Types are checked elsewhere: `npm run typecheck`, `npm test`. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Imports stay imports: only the ending of the file's name changes. */
const FILES_STAY_APART = {
  name: 'files-stay-apart',
  setup(build) {
    build.onResolve({ filter: /\.ts$/ }, ({ kind, path }) => (kind === 'entry-point' ? undefined : { path: path.replace(/\.ts$/, '.js'), external: true }));
  },
};

/**
 * Writes over what is in `outDir`: a server that runs from there may still load a file.
 * @returns false when a file could not be read as TypeScript; esbuild has printed why.
 */
export async function transpile({ root, folders, outDir }) {
  // Loaded here: this file is imported before packages are installed.
  const { build, stop } = await import('esbuild');
  const entryPoints = folders.flatMap((folder) => readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts')).map((name) => join(folder, name)));
  try {
    await build({
      absWorkingDir: root, entryPoints, outdir: outDir, outbase: '.',
      bundle: true, packages: 'external', plugins: [FILES_STAY_APART], treeShaking: false,
      format: 'esm', platform: 'node', target: 'node20', sourcemap: true, sourcesContent: false, logLevel: 'warning',
    });
    return true;
  } catch (error) {
    if (error.errors === undefined) throw error;
    return false;
  } finally {
    // Its process would go on, with 350 MB, beside the server or the tests.
    await stop();
  }
}
