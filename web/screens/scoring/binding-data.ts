/** Bindings as their form has them, and what they have made of measurements. */
import { SEVERITIES } from '../../core/server/alarm.ts';
import type { Severity } from '../../core/server/alarm.ts';
import { filledMappings } from './job-data.ts';

type Members = Readonly<Record<string, unknown>>;

export interface Binding {
  readonly id: string;
  readonly bindingName: string;
  readonly modelName: string;
  readonly modelType?: 'PMML' | 'ONNX';
  readonly measurementType?: string;
  readonly groupOrDeviceId?: number | string;
  readonly modelToDeviceMappings: Readonly<Record<string, string>>;
  readonly allowMissing?: boolean;
  readonly scorePredictions?: boolean;
  readonly creationTime?: string;
  readonly lastUpdated?: string;
  readonly isActive: boolean;
  readonly output: { readonly measurement?: Members; readonly event?: Members; readonly alarm?: Members };
}

export interface BindingForm {
  readonly name: string;
  readonly kind: 'PMML' | 'ONNX';
  readonly model: string;
  readonly measurementType: string;
  /** Id of a device or group; '' for all devices. */
  readonly target: string;
  readonly mappings: Readonly<Record<string, string>>;
  readonly allowsMissing: boolean;
  readonly hasMeasurement: boolean;
  readonly type: string;
  /** Names of outputs, with `=` and the series where that has another name; '' for all. */
  readonly outputs: string;
  readonly hasEvent: boolean;
  readonly eventType: string;
  readonly hasAlarm: boolean;
  readonly alarmType: string;
  readonly severity: Severity;
  readonly text: string;
  readonly alarmOutput: string;
  readonly above: string;
  readonly clearBelow: string;
  readonly equals: string;
}

const textOf = (value: unknown): string => (value === undefined || value === null ? '' : String(value));

export function bindingForm(binding?: Binding): BindingForm {
  const { measurement, event, alarm } = binding?.output ?? {};
  const outputs = (measurement?.['outputs'] ?? {}) as Readonly<Record<string, string>>;
  return {
    name: binding?.bindingName ?? '',
    kind: binding?.modelType ?? 'PMML',
    model: binding?.modelName ?? '',
    measurementType: binding?.measurementType ?? '',
    target: textOf(binding?.groupOrDeviceId),
    mappings: binding?.modelToDeviceMappings ?? {},
    allowsMissing: binding?.allowMissing ?? false,
    hasMeasurement: binding === undefined || measurement !== undefined,
    type: textOf(measurement?.['type']),
    outputs: Object.entries(outputs)
      .map(([name, series]) => (name === series ? name : `${name}=${series}`))
      .join(', '),
    hasEvent: event !== undefined,
    eventType: textOf(event?.['type']),
    hasAlarm: alarm !== undefined,
    alarmType: textOf(alarm?.['type']),
    severity: SEVERITIES.find((severity) => severity === alarm?.['severity']) ?? 'MAJOR',
    text: textOf(alarm?.['text']),
    alarmOutput: textOf(alarm?.['output']),
    above: textOf(alarm?.['above']),
    clearBelow: textOf(alarm?.['clearBelow']),
    equals: textOf(alarm?.['equals']),
  };
}

/** What is sent: what the form does not show stays as it was. @param before absent for a new one */
export function bindingBody(form: BindingForm, before?: Binding): object {
  const {
    id: _,
    creationTime: __,
    lastUpdated: ___,
    groupOrDeviceId: ____,
    measurementType: _____,
    ...rest
  } = before ?? {
    id: '',
  };
  const { measurement, event, alarm } = before?.output ?? {};
  return {
    ...rest,
    bindingName: form.name.trim(),
    modelName: form.model,
    modelType: form.kind,
    ...optional('measurementType', form.measurementType),
    ...(form.target.trim() === '' ? {} : { groupOrDeviceId: Number(form.target) }),
    modelToDeviceMappings: filledMappings(form.mappings),
    allowMissing: form.allowsMissing,
    output: {
      ...(form.hasMeasurement ? { measurement: measurementOf(form, measurement) } : {}),
      ...(form.hasEvent ? { event: { ...event, type: form.eventType.trim() } } : {}),
      ...(form.hasAlarm ? { alarm: alarmOf(form, alarm) } : {}),
    },
  };
}

const optional = (name: string, text: string): Members => (text.trim() === '' ? {} : { [name]: text.trim() });

function measurementOf({ type, outputs }: BindingForm, before: Members = {}): Members {
  const { fragment, outputs: _, type: typeBefore, ...rest } = before;
  const named = outputs
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map((one) => {
      const at = one.lastIndexOf('=');
      return at === -1 ? [one, one] : [one.slice(0, at).trim(), one.slice(at + 1).trim()];
    });
  return {
    ...rest,
    type: type.trim(),
    // A fragment of the same name follows the type.
    ...(fragment === undefined || fragment === typeBefore ? {} : { fragment }),
    ...(named.length === 0 ? {} : { outputs: Object.fromEntries(named) }),
  };
}

function alarmOf(form: BindingForm, before: Members = {}): Members {
  const { above: _, clearBelow: __, equals: ___, output: ____, ...rest } = before;
  const number = (name: string, text: string): Members => (text.trim() === '' ? {} : { [name]: Number(text) });
  return {
    ...rest,
    type: form.alarmType.trim(),
    severity: form.severity,
    ...optional('text', form.text),
    ...optional('output', form.alarmOutput),
    ...(form.equals.trim() === ''
      ? { ...number('above', form.above), ...number('clearBelow', form.clearBelow) }
      : { equals: form.equals.trim() }),
  };
}

/** The fragment of the measurements that the binding makes; undefined where it makes none. */
export function predictedFragment({ output: { measurement } }: Binding): string | undefined {
  return measurement === undefined ? undefined : textOf(measurement['fragment'] ?? measurement['type']);
}

/** Series of a device that the binding reads and makes, in this order. @param supported those that the device has */
export function seriesOfBinding(binding: Binding, supported: readonly string[]): readonly string[] {
  const fragment = predictedFragment(binding);
  const read = Object.values(binding.modelToDeviceMappings).flatMap((path) => {
    const series = path.replace(/\.value$/, '');
    if (supported.includes(series)) return [series];
    // The first part may be the type of the measurement: its fragment has another name.
    const ending = series.slice(series.lastIndexOf('.'));
    return supported.filter((one) => one.endsWith(ending) && !one.startsWith(`${fragment}.`)).slice(0, 1);
  });
  const made = supported.filter((one) => fragment !== undefined && one.startsWith(`${fragment}.`));
  return [...new Set([...read, ...made])];
}

/** The record that a model was given: the values of measurements of one device and time. */
export function recordOfTime(binding: Binding, measurements: readonly Members[]): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const [input, path] of Object.entries(binding.modelToDeviceMappings)) {
    const parts = path.replace(/\.value$/, '');
    const at = parts.lastIndexOf('.');
    const [name, series] = [parts.slice(0, at), parts.slice(at + 1)];
    for (const measurement of measurements) {
      const fragments = measurement['type'] === name ? Object.values(measurement) : [measurement[name]];
      for (const fragment of fragments) {
        const value = (fragment as Readonly<Record<string, { readonly value?: unknown }>> | undefined)?.[series]?.value;
        if (value !== undefined) record[input] = value;
      }
    }
  }
  return record;
}
