/**
 * Which library serves HTTP: uWebSockets.js where its binary loads and passes the check, else the engine on
 * `node:http`, which is slower.
 */
import type { HttpLibrary } from '../library.ts';
import { faultOf } from './check.ts';
import { UWS_VERSION } from './uws-binaries.ts';
import { loadUws } from './uws.ts';

/** The setting `http-engine`. */
export type HttpEngineChoice = 'auto' | 'uws' | 'node';

export interface HttpEngine {
  readonly name: 'uws' | 'node';
  readonly library: HttpLibrary;
  /** What runs and why, for people. */
  readonly description: string;
  /** `auto` wanted the other one. */
  readonly isFallback: boolean;
}

/** Where the libraries come from; tests have others. */
export interface HttpLibraries {
  readonly uws: () => HttpLibrary;
  readonly node: () => Promise<HttpLibrary>;
}

const LIBRARIES: HttpLibraries = {
  uws: loadUws,
  node: async () => (await import('../node-engine/app.ts')).nodeHttpLibrary,
};

/**
 * @param choice.trustsProxy a proxy is in front. It may see the end of a body in chunks elsewhere than uWebSockets.js:
 * `auto` is `node` then.
 * @throws Error where the engine that is asked for does not load or answers wrong.
 */
export async function chooseHttpEngine(
  { engine, trustsProxy }: { readonly engine: HttpEngineChoice; readonly trustsProxy: boolean },
  libraries: HttpLibraries = LIBRARIES,
): Promise<HttpEngine> {
  const checked = async (library: HttpLibrary): Promise<HttpLibrary> => {
    const fault = await faultOf(library);
    if (fault !== undefined) throw new Error(`a request in several reads is answered wrong: ${fault}`);
    return library;
  };
  const onNode = async (reason: string, isFallback: boolean): Promise<HttpEngine> => ({
    name: 'node',
    library: await checked(await libraries.node()),
    description: `node:http, ${reason}`,
    isFallback,
  });
  if (engine === 'node') return onNode('as --http-engine says', false);
  if (engine === 'auto' && trustsProxy)
    return onNode('which reads bodies in chunks as proxies do (--trust-proxy)', false);
  try {
    const library = await checked(libraries.uws());
    const { node, modules } = process.versions;
    const proxied = trustsProxy ? ', which refuses bodies in chunks behind a proxy' : '';
    const description = `uWebSockets.js ${UWS_VERSION} for Node ${node.split('.')[0]} (ABI ${modules})${proxied}`;
    return { name: 'uws', library, description, isFallback: false };
  } catch (error) {
    const { message } = error as Error;
    if (engine === 'uws') throw new Error(`--http-engine uws cannot be: ${message}`, { cause: error });
    return onNode(`which is slower than uWebSockets.js: ${message}`, true);
  }
}
