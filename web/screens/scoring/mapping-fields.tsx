/** Fields that bindings and jobs share: for which device, which model, and which series is which input of it. */
import { useState } from 'preact/hooks';
import { getJson } from '../../core/api/json.ts';
import { useLoaded } from '../../core/api/request.ts';
import type { Loaded } from '../../core/api/request.ts';
import { nameOf } from '../../core/server/managed-object.ts';
import { readSupportedSeries } from '../../core/server/series.ts';
import { Combobox } from '../../parts/combobox.tsx';
import { DeviceSearch } from '../../parts/device/search.tsx';
import { SelectField, TextField } from '../../parts/fields.tsx';
import { FormFault } from '../../parts/states.tsx';
import { modelPath, onnxPath } from './model-data.ts';
import type { Model } from './model-data.ts';
import { columnsOf } from './tensors.ts';
import type { OnnxModel } from './tensors.ts';
import { words as scoringWords } from './text.ts';

const SUGGESTED_MAX = 8;

export interface TargetFieldProps {
  readonly value: string;
  readonly onChange: (id: string) => void;
  readonly hint: string;
  readonly isRequired?: boolean;
}

/** An id, which a search by name fills in. */
export function TargetField({ value, onChange, hint, isRequired = false }: TargetFieldProps) {
  const words = scoringWords();
  const [chosen, setChosen] = useState('');
  return (
    <>
      <DeviceSearch
        label={words.findDevice}
        onChoose={(device) => {
          setChosen(nameOf(device));
          onChange(device.id);
        }}
      />
      <TextField
        label={words.targetId}
        hint={chosen === '' ? hint : chosen}
        value={value}
        inputMode="numeric"
        isRequired={isRequired}
        onInput={(id) => {
          setChosen('');
          onChange(id);
        }}
      />
    </>
  );
}

export interface ModelFieldProps {
  readonly label: string;
  readonly names: Loaded<readonly string[]>;
  readonly value: string;
  readonly onChange: (name: string) => void;
}

export function ModelField({ label, names, value, onChange }: ModelFieldProps) {
  const words = scoringWords();
  const known = names.data ?? [];
  // The model of an old binding may be deleted.
  const all = value === '' || known.includes(value) ? known : [value, ...known];
  return (
    <>
      <SelectField
        label={label}
        value={value}
        isRequired
        options={[{ value: '', text: words.choose }, ...all.map((name) => ({ value: name, text: name }))]}
        onChange={onChange}
      />
      <FormFault error={names.error} />
    </>
  );
}

/** Names of the inputs of a model. @param kind undefined: the name may be that of a group of PMML models */
async function inputsOf(name: string, kind: 'PMML' | 'ONNX' | undefined, signal: AbortSignal): Promise<string[]> {
  if (kind === 'ONNX') return [...columnsOf((await getJson<OnnxModel>(onnxPath(name), signal)).inputs)];
  const groups = kind === undefined ? await groupsOf(signal) : [];
  const model = groups.find(({ groupName }) => groupName === name)?.primaryModel ?? name;
  const { inputFields } = await getJson<Model>(modelPath(model), signal);
  return inputFields.map((field) => field.name);
}

interface Group {
  readonly groupName: string;
  readonly primaryModel: string;
}

/** Groups of PMML models. */
export async function groupsOf(signal: AbortSignal): Promise<readonly Group[]> {
  const path = '/service/scoring/pmml/groups?pageSize=1000';
  return (await getJson<{ readonly groups: readonly Group[] }>(path, signal)).groups;
}

export interface MappingFieldsProps {
  readonly model: string;
  /** See `inputsOf`. */
  readonly kind?: 'PMML' | 'ONNX';
  /** A device whose series are suggested. */
  readonly device: string;
  readonly mappings: Readonly<Record<string, string>>;
  readonly onChange: (mappings: Readonly<Record<string, string>>) => void;
}

/** A field for each input of the model, with the series of the device as suggestions. */
export function MappingFields({ model, kind, device, mappings, onChange }: MappingFieldsProps) {
  const words = scoringWords();
  const inputs = useLoaded(model === '' ? undefined : (signal) => inputsOf(model, kind, signal), [model, kind]);
  const isId = /^\d+$/.test(device);
  const series = useLoaded(isId ? (signal) => readSupportedSeries(device, signal) : undefined, [device]);
  if (model === '') return <p class="field-hint">{words.mappingsLater}</p>;
  const paths = (series.data ?? []).map((one) => `${one}.value`);
  return (
    <fieldset class="stack">
      <legend class="field-label">{words.mappings}</legend>
      <p class="field-hint">{words.mappingsHint}</p>
      <FormFault error={inputs.error} />
      {(inputs.data ?? []).map((input) => {
        const value = mappings[input] ?? '';
        const set = (path: string): void => onChange({ ...mappings, [input]: path });
        const found = paths.filter((path) => path !== value && path.toLowerCase().includes(value.toLowerCase()));
        return (
          <Combobox
            key={input}
            label={input}
            value={value}
            isMono
            placeholder={words.mappingExample}
            suggestions={found.slice(0, SUGGESTED_MAX).map((path) => ({ key: path, value: path, text: path }))}
            onInput={set}
            onChoose={(suggestion) => suggestion && set(suggestion.value)}
          />
        );
      })}
    </fieldset>
  );
}
