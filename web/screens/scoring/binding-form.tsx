/** Makes a binding, or changes one. */
import { useState } from 'preact/hooks';
import { changeJson, getJson } from '../../core/api/json.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { hasTime, offerUndo } from '../../core/api/undo.ts';
import { notify } from '../../core/notices.ts';
import { common } from '../../core/text/common.ts';
import { SEVERITIES } from '../../core/server/alarm.ts';
import { FormDialog } from '../../parts/dialog.tsx';
import { CheckField, SelectField, TextField, optionalLabel } from '../../parts/fields.tsx';
import { bindingBody, bindingForm } from './binding-data.ts';
import type { Binding, BindingForm as Fields } from './binding-data.ts';
import { MappingFields, ModelField, TargetField } from './mapping-fields.tsx';
import { BINDINGS_PATH, MODELS_PATH, ONNX_MODELS_PATH, bindingPath } from './model-data.ts';
import { words as scoringWords } from './text.ts';

type Set = (change: Partial<Fields>) => void;
/** Members of the form that are texts. */
type Text = { [Name in keyof Fields]: Fields[Name] extends string ? Name : never }[keyof Fields];

function Outputs({ form, set }: { readonly form: Fields; readonly set: Set }) {
  const words = scoringWords();
  const field = (member: Text, label: string, hint?: string, isRequired = false) => (
    <TextField
      label={isRequired ? label : optionalLabel(label)}
      {...(hint === undefined ? {} : { hint })}
      value={form[member]}
      isRequired={isRequired}
      onInput={(value) => set({ [member]: value } as Partial<Fields>)}
    />
  );
  return (
    <fieldset class="stack">
      <legend class="field-label">{words.output}</legend>
      <CheckField
        label={words.asMeasurement}
        isChecked={form.hasMeasurement}
        onChange={(hasMeasurement) => set({ hasMeasurement })}
      />
      {form.hasMeasurement && (
        <>
          {field('type', words.predictionType, undefined, true)}
          {field('outputs', words.outputNames, words.outputNamesHint)}
        </>
      )}
      <CheckField label={words.asEvent} isChecked={form.hasEvent} onChange={(hasEvent) => set({ hasEvent })} />
      {form.hasEvent && field('eventType', words.eventType, undefined, true)}
      <CheckField label={words.asAlarm} isChecked={form.hasAlarm} onChange={(hasAlarm) => set({ hasAlarm })} />
      {form.hasAlarm && (
        <>
          {field('alarmType', words.alarmType, undefined, true)}
          <SelectField
            label={words.severity}
            value={form.severity}
            options={SEVERITIES.map((value) => ({ value, text: common().severities[value] }))}
            onChange={(severity) => set({ severity })}
          />
          {field('text', words.alarmText, words.alarmTextHint)}
          {field('alarmOutput', words.alarmOutput)}
          {field('above', words.above, words.aboveHint)}
          {field('clearBelow', words.clearBelow)}
          {field('equals', words.equalTo)}
        </>
      )}
    </fieldset>
  );
}

export interface BindingFormProps {
  /** Absent for a new one. */
  readonly binding?: Binding | undefined;
  readonly onClose: () => void;
  readonly onSaved: (id: string) => void;
}

export function BindingForm({ binding, onClose, onSaved }: BindingFormProps) {
  const words = scoringWords();
  const [form, setForm] = useState(() => bindingForm(binding));
  const set: Set = (change) => setForm((before) => ({ ...before, ...change }));
  const names = useLoaded(
    async (signal) => {
      const path = form.kind === 'PMML' ? MODELS_PATH : ONNX_MODELS_PATH;
      return (await getJson<{ readonly models: readonly string[] }>(path, signal)).models;
    },
    [form.kind],
  );
  const save = useAction(async () => {
    const body = bindingBody(form, binding);
    if (binding === undefined) {
      const made = (await changeJson<Binding>('POST', BINDINGS_PATH, body)) as Binding;
      notify(words.bindingCreated(made.bindingName));
      onSaved(made.id);
    } else {
      const { id, creationTime: _, lastUpdated: __, ...before } = binding;
      const path = bindingPath(id);
      const changed = (await changeJson<Binding>('PUT', path, body)) as Binding;
      offerUndo(words.changed(changed.bindingName), {
        isAsLeft: hasTime(() => getJson<Binding>(path), changed),
        run: async () => {
          await changeJson('PUT', path, before);
          onSaved(id);
        },
      });
      onSaved(id);
    }
    onClose();
  });
  const title = binding === undefined ? words.newBinding : words.editTitle(binding.bindingName);
  return (
    <FormDialog
      title={title}
      isWide
      onClose={onClose}
      onSubmit={() => void save.run()}
      action={binding === undefined ? words.newBinding : common().save}
      isBusy={save.isRunning}
      error={save.error}
    >
      <TextField label={words.name} value={form.name} isRequired hasFocus onInput={(name) => set({ name })} />
      <SelectField
        label={words.modelKind}
        value={form.kind}
        options={[
          { value: 'PMML', text: 'PMML' },
          { value: 'ONNX', text: 'ONNX' },
        ]}
        onChange={(kind) => set({ kind, model: '' })}
      />
      <ModelField label={words.model} names={names} value={form.model} onChange={(model) => set({ model })} />
      <TargetField value={form.target} hint={words.bindingTargetHint} onChange={(target) => set({ target })} />
      <TextField
        label={optionalLabel(words.measurementType)}
        hint={words.measurementTypeHint}
        value={form.measurementType}
        onInput={(measurementType) => set({ measurementType })}
      />
      <MappingFields
        model={form.model}
        kind={form.kind}
        device={form.target}
        mappings={form.mappings}
        onChange={(mappings) => set({ mappings })}
      />
      {form.kind === 'PMML' && (
        <CheckField
          label={words.allowMissing}
          isChecked={form.allowsMissing}
          onChange={(allowsMissing) => set({ allowsMissing })}
        />
      )}
      <Outputs form={form} set={set} />
    </FormDialog>
  );
}
