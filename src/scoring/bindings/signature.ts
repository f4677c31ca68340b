/** What a binding does with the inputs and outputs of its model, or why it cannot. */
import { isMeasurementName } from '../../model/entities/measurement.ts';
import type { BindingConfiguration, SeriesNames } from '../../model/entities/scoring/binding.ts';
import type { ModelKind } from '../../model/entities/scoring/model.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Plan, PlannedInput, PlannedOutput } from '../../scoring-workers/measurements/plan.ts';
import type { OnnxDescription } from '../../scoring-workers/onnx/tasks.ts';
import type { ModelInformation } from '../../scoring-workers/pmml/engine.ts';
import { pathOf } from '../jobs/configuration.ts';
import { BINDING_OUTPUTS_MAX } from '../limits.ts';
import { onnxInputs, onnxOutputs, RowsError } from './onnx-rows.ts';

/** Names in an answer. */
const NAMES_SHOWN = 50;
const NOT_IN_NAMES = /[\s.,*[\]()@$]/g;

export interface Signature {
  readonly inputs: readonly string[];
  /** Undefined: not known before the model is applied. */
  readonly outputs: readonly string[] | undefined;
}

const refused = (reason: string): PlatformError => new PlatformError('scoring/invalid-binding', { reason });

/** @param information JSON text that shows the model @throws PlatformError 400 for a model that takes no rows */
export function signatureOf(kind: ModelKind, information: string): Signature {
  if (kind === 'pmml') {
    const { inputFields, outputFields } = JSON.parse(information) as ModelInformation;
    return { inputs: inputFields.map(({ name }) => name), outputs: outputFields.map(({ name }) => name) };
  }
  const description = JSON.parse(information) as OnnxDescription;
  try {
    return { inputs: onnxInputs(description), outputs: onnxOutputs(description) };
  } catch (error) {
    if (error instanceof RowsError) throw refused(`The model cannot be bound: ${error.message}.`);
    throw error;
  }
}

/** Types or fragments, one of which every measurement has that the binding scores. */
export function namesOf({ measurementType, modelToDeviceMappings, allowsMissing }: BindingConfiguration): string[] {
  if (measurementType !== undefined) return [measurementType];
  const types = inputsOf(modelToDeviceMappings).map(({ type }) => type);
  return allowsMissing ? types : types.slice(0, 1);
}

/** @throws PlatformError 400 where mappings or outputs are not those of the model. */
export function planOf(binding: BindingConfiguration, { inputs, outputs }: Signature): Plan {
  const { modelToDeviceMappings, modelName, modelKind, allowsMissing, output } = binding;
  const mapped = inputsOf(modelToDeviceMappings);
  const unknown = mapped.find(({ name }) => !inputs.includes(name));
  if (unknown !== undefined)
    throw refused(
      `modelToDeviceMappings names '${unknown.name}', which is not an input of the model '${modelName}'; its inputs are ${shown(inputs)}.`,
    );
  if (modelKind === 'onnx') {
    const missing = inputs.find((name) => !Object.hasOwn(modelToDeviceMappings, name));
    if (missing !== undefined || allowsMissing)
      throw refused(
        missing === undefined
          ? 'allowMissing is for PMML models: an ONNX model takes no missing values.'
          : `modelToDeviceMappings lacks '${missing}': an ONNX model needs all of its inputs.`,
      );
  }
  const { measurement, event, alarm } = output;
  const chosen = (name: string | undefined): string => {
    const found = name ?? outputs?.[0];
    if (found === undefined) throw refused(`Name the output of the model '${modelName}' that event or alarm is about.`);
    requireOutput(binding, outputs, found);
    return found;
  };
  return {
    inputs: mapped,
    allowsMissing,
    ...(measurement === undefined
      ? {}
      : {
          measurement: {
            type: measurement.type,
            fragment: measurement.fragment,
            outputs: plannedOutputs(binding, outputs, measurement.outputs),
            mark: '{}',
          },
        }),
    ...(event === undefined ? {} : { event: chosen(event.output) }),
    ...(alarm === undefined ? {} : { alarm: chosen(alarm.output) }),
  };
}

function inputsOf(mappings: BindingConfiguration['modelToDeviceMappings']): PlannedInput[] {
  return Object.entries(mappings).map(([name, path]) => {
    const { type, series } = pathOf(path) as { type: string; series: string };
    return { name, type, series };
  });
}

function plannedOutputs(
  binding: BindingConfiguration,
  known: Signature['outputs'],
  named: SeriesNames | undefined,
): readonly PlannedOutput[] {
  if (named !== undefined) {
    for (const name of Object.keys(named)) requireOutput(binding, known, name);
    return Object.entries(named).map(([name, series]) => ({ name, series }));
  }
  const { modelName } = binding;
  if (known === undefined || known.length > BINDING_OUTPUTS_MAX)
    throw refused(
      known === undefined
        ? `The outputs of the model '${modelName}' are not known before it is applied: name them in outputs.`
        : `The model '${modelName}' has ${known.length} outputs: name at most ${BINDING_OUTPUTS_MAX} of them in outputs.`,
    );
  const series = known.map((name) => ({ name, series: name.replace(NOT_IN_NAMES, '_') }));
  const wrong = series.find(
    (one, index) => !isMeasurementName(one.series) || series.findIndex((other) => other.series === one.series) < index,
  );
  if (wrong !== undefined)
    throw refused(`The output '${wrong.name}' needs another name as a series: name it in outputs.`);
  return series;
}

function requireOutput({ modelName }: BindingConfiguration, known: Signature['outputs'], name: string): void {
  if (known === undefined || known.includes(name)) return;
  throw refused(`'${name}' is not an output of the model '${modelName}'; its outputs are ${shown(known)}.`);
}

const shown = (names: readonly string[]): string => names.slice(0, NAMES_SHOWN).join(', ');
