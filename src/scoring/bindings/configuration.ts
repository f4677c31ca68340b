/** What a binding is told to do, and the rules for it (docs/spec/scoring.md#bindings). */
import { ALARM_SEVERITIES, ALARM_TYPE_RULE, isAlarmSeverity, isAlarmType } from '../../model/entities/alarm.ts';
import { NOT_FRAGMENTS } from '../../model/entities/fragments.ts';
import { isMeasurementName, isMeasurementText, MEASUREMENT_NAME_RULE } from '../../model/entities/measurement.ts';
import type {
  AlarmOutput,
  BindingConfiguration,
  BindingOutput,
  EventOutput,
  MeasurementOutput,
  SeriesNames,
} from '../../model/entities/scoring/binding.ts';
import type { ModelKind } from '../../model/entities/scoring/model.ts';
import { MARK } from '../../scoring-workers/measurements/plan.ts';
import { type Body, idOf, JobConfigurationError, mappingsOf, objectOf, safe, textOf } from '../jobs/configuration.ts';
import { BINDING_OUTPUTS_MAX } from '../limits.ts';

const NAME_CHARACTERS_MAX = 200;
const TEXT_CHARACTERS_MAX = 1_000;
const MODEL_TYPES: Readonly<Record<string, ModelKind>> = { PMML: 'pmml', ONNX: 'onnx' };

const MEMBERS = {
  binding: [
    'bindingName',
    'modelName',
    'modelType',
    'measurementType',
    'groupOrDeviceId',
    'modelToDeviceMappings',
    'allowMissing',
    'scorePredictions',
    'isActive',
    'output',
  ],
  output: ['measurement', 'event', 'alarm'],
  measurement: ['type', 'fragment', 'outputs'],
  event: ['type', 'text', 'output', 'forEach'],
  alarm: ['type', 'severity', 'text', 'output', 'above', 'clearBelow', 'equals'],
} as const;
/** Members of an answer, which a client may send back. */
const SERVER_MEMBERS = ['id', 'creationTime', 'lastUpdated'];

/** @throws JobConfigurationError with the text of the answer 400 */
export function readBindingConfiguration(body: unknown): BindingConfiguration {
  const binding = objectOf(body, 'The binding');
  requireMembers(binding, 'binding', SERVER_MEMBERS);
  const measurementType = optional(binding, 'measurementType', NAME_CHARACTERS_MAX);
  const { groupOrDeviceId } = binding;
  return {
    bindingName: safe(textOf(binding, 'bindingName', NAME_CHARACTERS_MAX)),
    modelName: textOf(binding, 'modelName', NAME_CHARACTERS_MAX),
    modelKind: kindOf(binding.modelType),
    ...(measurementType === undefined ? {} : { measurementType }),
    ...(isAbsent(groupOrDeviceId) ? {} : { groupOrDeviceId: idOf(groupOrDeviceId) }),
    modelToDeviceMappings: mappingsOf(binding.modelToDeviceMappings),
    allowsMissing: flagOf(binding, 'allowMissing', false),
    scoresPredictions: flagOf(binding, 'scorePredictions', false),
    isActive: flagOf(binding, 'isActive', true),
    output: outputOf(objectOf(binding.output, 'output')),
  };
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;
const wrong = (message: string): JobConfigurationError => new JobConfigurationError(message);

/** A member that is misspelt would be without effect. */
function requireMembers(body: Body, name: keyof typeof MEMBERS, further: readonly string[] = []): void {
  const known: readonly string[] = MEMBERS[name];
  const unknown = Object.keys(body).find((member) => !known.includes(member) && !further.includes(member));
  if (unknown !== undefined)
    throw wrong(
      `'${unknown.slice(0, NAME_CHARACTERS_MAX)}' is not a member of ${name}, which has ${known.join(', ')}.`,
    );
}

function optional(body: Body, name: string, charactersMax: number): string | undefined {
  return isAbsent(body[name]) ? undefined : textOf(body, name, charactersMax);
}

function flagOf(body: Body, name: string, standard: boolean): boolean {
  const value = body[name];
  if (isAbsent(value)) return standard;
  if (typeof value !== 'boolean') throw wrong(`${name} must be true or false.`);
  return value;
}

function numberOf(body: Body, name: string): number | undefined {
  const value = body[name];
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value)) throw wrong(`${name} must be a number.`);
  return value;
}

function kindOf(value: unknown): ModelKind {
  if (isAbsent(value)) return 'pmml';
  const kind = typeof value === 'string' && Object.hasOwn(MODEL_TYPES, value) ? MODEL_TYPES[value] : undefined;
  if (kind === undefined) throw wrong(`modelType can be ${Object.keys(MODEL_TYPES).join(' or ')}.`);
  return kind;
}

function outputOf(output: Body): BindingOutput {
  requireMembers(output, 'output');
  const { measurement, event, alarm } = output;
  if (isAbsent(measurement) && isAbsent(event) && isAbsent(alarm))
    throw wrong('output must have a measurement, an event or an alarm.');
  return {
    ...(isAbsent(measurement) ? {} : { measurement: measurementOf(objectOf(measurement, 'measurement')) }),
    ...(isAbsent(event) ? {} : { event: eventOf(objectOf(event, 'event')) }),
    ...(isAbsent(alarm) ? {} : { alarm: alarmOf(objectOf(alarm, 'alarm')) }),
  };
}

function measurementOf(body: Body): MeasurementOutput {
  requireMembers(body, 'measurement');
  const type = textOf(body, 'type', NAME_CHARACTERS_MAX);
  const fragment = optional(body, 'fragment', NAME_CHARACTERS_MAX) ?? type;
  if (!isMeasurementText(type)) throw wrong(`type '${type}' of measurement has too many bytes.`);
  if (!isMeasurementName(fragment) || NOT_FRAGMENTS.has(fragment) || fragment === MARK)
    throw wrong(
      `fragment must be ${MEASUREMENT_NAME_RULE}, and not a member of all measurements, but is '${fragment}'.`,
    );
  if (isAbsent(body.outputs)) return { type, fragment };
  return { type, fragment, outputs: seriesNamesOf(objectOf(body.outputs, 'outputs')) };
}

function seriesNamesOf(body: Body): SeriesNames {
  const names = Object.keys(body);
  if (names.length === 0 || names.length > BINDING_OUTPUTS_MAX)
    throw wrong(`outputs has ${names.length} members, 1 to ${BINDING_OUTPUTS_MAX} are allowed.`);
  const series = Object.create(null) as Record<string, string>;
  for (const name of names) {
    const value = body[name];
    if (typeof value !== 'string' || !isMeasurementName(value) || name.length > NAME_CHARACTERS_MAX)
      throw wrong(`The series of the output '${name.slice(0, NAME_CHARACTERS_MAX)}' must be ${MEASUREMENT_NAME_RULE}.`);
    series[name] = value;
  }
  if (new Set(Object.values(series)).size < names.length) throw wrong('outputs names a series twice.');
  return series;
}

function outputNameOf(body: Body): { readonly output?: string } {
  const output = optional(body, 'output', NAME_CHARACTERS_MAX);
  return output === undefined ? {} : { output };
}

function eventOf(body: Body): EventOutput {
  requireMembers(body, 'event');
  return {
    type: textOf(body, 'type', NAME_CHARACTERS_MAX),
    text: optional(body, 'text', TEXT_CHARACTERS_MAX) ?? '{value}',
    ...outputNameOf(body),
    isForEach: flagOf(body, 'forEach', false),
  };
}

function alarmOf(body: Body): AlarmOutput {
  requireMembers(body, 'alarm');
  const type = textOf(body, 'type', NAME_CHARACTERS_MAX);
  if (!isAlarmType(type)) throw wrong(`type of alarm must be ${ALARM_TYPE_RULE}.`);
  const severity = textOf(body, 'severity', NAME_CHARACTERS_MAX);
  if (!isAlarmSeverity(severity)) throw wrong(`severity can be ${ALARM_SEVERITIES.join(', ')}.`);
  return {
    type,
    severity,
    text: optional(body, 'text', TEXT_CHARACTERS_MAX) ?? '{value}',
    ...outputNameOf(body),
    ...conditionOf(body),
  };
}

function conditionOf(body: Body): Pick<AlarmOutput, 'above' | 'clearBelow' | 'equals'> {
  const above = numberOf(body, 'above');
  const clearBelow = numberOf(body, 'clearBelow');
  const equals = optional(body, 'equals', TEXT_CHARACTERS_MAX);
  if ((above === undefined) === (equals === undefined)) throw wrong('alarm must have either above or equals.');
  if (above === undefined) {
    if (clearBelow !== undefined) throw wrong('clearBelow goes with above.');
    return { equals };
  }
  if (clearBelow !== undefined && clearBelow > above)
    throw wrong(`clearBelow must not be greater than above, but is ${clearBelow}.`);
  return { above, clearBelow: clearBelow ?? above };
}
