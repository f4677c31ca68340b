/** Makes a job, a new one or a copy: jobs themselves do not change. */
import { useState } from 'preact/hooks';
import { changeJson, getJson } from '../../core/api/json.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { notify } from '../../core/notices.ts';
import { FormDialog } from '../../parts/dialog.tsx';
import { CheckField, SelectField, TextField, optionalLabel } from '../../parts/fields.tsx';
import { jobBody, jobForm } from './job-data.ts';
import type { Job, JobForm as Fields } from './job-data.ts';
import { MappingFields, ModelField, TargetField, groupsOf } from './mapping-fields.tsx';
import { MODELS_PATH } from './model-data.ts';
import { words as scoringWords } from './text.ts';

const JOB_PATH = '/service/scoring/job';

export interface JobFormProps {
  /** What the form begins with. */
  readonly copied?: Job | undefined;
  readonly onClose: () => void;
  readonly onCreated: (job: Job) => void;
}

/** Names of models, and of groups behind them. */
async function modelsAndGroups(signal: AbortSignal): Promise<readonly string[]> {
  const [{ models }, groups] = await Promise.all([
    getJson<{ readonly models: readonly string[] }>(MODELS_PATH, signal),
    groupsOf(signal),
  ]);
  return [...models, ...groups.map(({ groupName }) => groupName).filter((name) => !models.includes(name))];
}

/** A text field of the form. */
type Member = 'cron' | 'seconds' | 'timeZone' | 'at' | 'from' | 'to';

function Schedule({ form, set }: { readonly form: Fields; readonly set: (change: Partial<Fields>) => void }) {
  const words = scoringWords();
  const field = (member: Member, label: string, type: 'text' | 'number' | 'datetime-local' = 'text') => (
    <TextField
      label={label}
      value={form[member]}
      isRequired
      // The types of fields leave it out: browsers without it show a text.
      type={type as 'text'}
      onInput={(value) => set({ [member]: value })}
    />
  );
  return (
    <>
      <SelectField
        label={words.frequency}
        value={form.frequency}
        options={[
          { value: 'periodic', text: words.periodic },
          { value: 'once', text: words.once },
        ]}
        onChange={(frequency) => set({ frequency })}
      />
      {form.frequency === 'periodic' ? (
        <>
          {field('cron', words.cron)}
          <p class="field-hint">{words.cronHint}</p>
          {field('seconds', words.seconds, 'number')}
          {field('timeZone', words.timeZone)}
        </>
      ) : (
        <>
          {field('at', words.runAt, 'datetime-local')}
          {field('from', words.dataFrom, 'datetime-local')}
          {field('to', words.dataTo, 'datetime-local')}
        </>
      )}
    </>
  );
}

export function JobForm({ copied, onClose, onCreated }: JobFormProps) {
  const words = scoringWords();
  const [form, setForm] = useState(() => jobForm(copied, Date.now()));
  const set = (change: Partial<Fields>): void => setForm((before) => ({ ...before, ...change }));
  const names = useLoaded(modelsAndGroups, []);
  const create = useAction(async () => {
    const job = (await changeJson<Job>('POST', JOB_PATH, jobBody(form))) as Job;
    notify(words.jobCreated(job.jobName));
    onCreated(job);
    onClose();
  });
  return (
    <FormDialog
      title={words.newJob}
      isWide
      onClose={onClose}
      onSubmit={() => void create.run()}
      action={words.newJob}
      isBusy={create.isRunning}
      error={create.error}
    >
      <TextField label={words.name} value={form.name} isRequired hasFocus onInput={(name) => set({ name })} />
      <TextField
        label={optionalLabel(words.description)}
        value={form.description}
        onInput={(description) => set({ description })}
      />
      <TargetField value={form.target} hint={words.targetHint} isRequired onChange={(target) => set({ target })} />
      <ModelField label={words.modelOrGroup} names={names} value={form.model} onChange={(model) => set({ model })} />
      <CheckField label={words.applyAll} isChecked={form.isForAll} onChange={(isForAll) => set({ isForAll })} />
      <MappingFields
        model={form.model}
        device={form.target}
        mappings={form.mappings}
        onChange={(mappings) => set({ mappings })}
      />
      <Schedule form={form} set={set} />
    </FormDialog>
  );
}
