/** A pipeline of scripts around an ONNX model (docs/spec/scoring.md#pipelines), of `scoring` under `pipeline\n<name>`. */
export interface StoredPipeline {
  readonly pipelineName: string;
  /** File name of a script. */
  readonly preProcessing?: string;
  readonly modelName: string;
  readonly postProcessing?: string;
}

export const PIPELINE_PREFIX = 'pipeline\n';
export const pipelineId = (name: string): string => `${PIPELINE_PREFIX}${name}`;
/** Id of the sum over the pipelines of a tenant. */
export const PIPELINES_TOTAL_ID = 'pipelines';

/** Scripts that the pipeline needs. */
export const scriptsOf = ({ preProcessing, postProcessing }: StoredPipeline): string[] =>
  [preProcessing, postProcessing].filter((name) => name !== undefined);
