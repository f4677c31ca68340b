/** Loads what draws charts: asked for beside the points, it is there before them. */

type PlotModule = typeof import('./plot.ts');

let loaded: PlotModule | undefined;

/** undefined until it is loaded. */
export const plotModule = (): PlotModule | undefined => loaded;

export async function loadPlot(): Promise<PlotModule> {
  loaded ??= await import('./plot.ts');
  return loaded;
}
