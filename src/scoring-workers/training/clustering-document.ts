import type { TrainedCluster } from './clustering.ts';

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => ENTITIES[character] as string);

/**
 * The PMML 4.4 document of a trained clustering: fields `X_0` to `X_n-1`, and the nearest centroid by squared euclidean
 * distance.
 *
 * @param name name of the model
 */
export function clusteringDocument(name: string, clusters: readonly TrainedCluster[]): string {
  const fields = Array.from({ length: clusters[0]?.centroid.length ?? 0 }, (_, i) => `X_${i}`);
  const each = (line: (field: string) => string): string => fields.map(line).join('\n');
  return `<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
<Header description="Clusters of series"/>
<DataDictionary numberOfFields="${fields.length}">
${each((field) => `<DataField name="${field}" optype="continuous" dataType="double"/>`)}
</DataDictionary>
<ClusteringModel modelName="${escaped(name)}" functionName="clustering" modelClass="centerBased" numberOfClusters="${clusters.length}">
<MiningSchema>
${each((field) => `<MiningField name="${field}"/>`)}
</MiningSchema>
<Output>
<OutputField name="cluster" optype="categorical" dataType="string" feature="predictedValue"/>
<OutputField name="distance" optype="continuous" dataType="double" feature="affinity"/>
</Output>
<ComparisonMeasure kind="distance"><squaredEuclidean/></ComparisonMeasure>
${each((field) => `<ClusteringField field="${field}" compareFunction="absDiff"/>`)}
${clusters
  .map(
    ({ centroid, members }, index) =>
      `<Cluster id="${index + 1}" size="${members.length}"><Array n="${centroid.length}" type="real">${centroid.join(' ')}</Array></Cluster>`,
  )
  .join('\n')}
</ClusteringModel>
</PMML>
`;
}
