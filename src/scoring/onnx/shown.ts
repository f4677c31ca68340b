/** An ONNX model as clients are shown it (docs/spec/scoring.md#onnx-models). */
import type { StoredModel } from '../../model/entities/scoring/model.ts';
import type { OnnxDescription } from '../../scoring-workers/onnx/tasks.ts';

/** Releases of ONNX by the version of the main operators that each brought, from version 7 on. */
const FIRST_OPSET = 7;
const FIRST_RELEASE = 2;

/** `1.6` for version 11; that of the format where a model has no main operators. */
function releaseOf({ opsetVersions, irVersion }: OnnxDescription): string {
  const opset = Number(/^ai\.onnx v(\d+)$/m.exec(opsetVersions.join('\n'))?.[1] ?? 0);
  if (opset >= FIRST_OPSET) return `1.${opset - FIRST_OPSET + FIRST_RELEASE}`;
  return `IR ${irVersion}`;
}

export function shownOnnxModel({ name, isActive }: StoredModel, description: OnnxDescription): object {
  const { modelVersion, opsetVersions, producerName, producerVersion, inputs, outputs } = description;
  const values = (list: OnnxDescription['inputs']): object[] =>
    list.map(({ name: value, shape, type }) => ({ name: value, shape: shape ?? null, type }));
  return {
    modelName: name,
    modelVersion,
    onnxVersion: releaseOf(description),
    opsetVersions,
    producerName,
    producerVersion,
    isActive,
    inputs: values(inputs),
    outputs: values(outputs),
  };
}
