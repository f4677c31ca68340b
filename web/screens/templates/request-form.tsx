/** One request template: what a row of the device asks for, with what it makes of an example. */
import { Plus, X } from 'lucide';
import { useState } from 'preact/hooks';
import { common } from '../../core/text/common.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { CheckField, SelectField, TextField } from '../../parts/fields.tsx';
import { Code, prettyJson } from '../../parts/json.tsx';
import {
  KINDS,
  REQUEST_KINDS,
  VALUE_TYPES,
  exampleBody,
  hasExternalId,
  isFound,
  requestRow,
  sentRow,
} from './template-data.ts';
import type { CustomValue, RequestKind, RequestTemplate } from './template-data.ts';
import { words as templateWords } from './text.ts';

/** What a message id may not have; undefined for one that may be. */
export function msgIdFault(msgId: string): string | undefined {
  const words = templateWords();
  if (msgId === '') return words.msgIdNeeded;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the server refuses them.
  return /[,"\u0000-\u001f]/.test(msgId) || msgId !== msgId.trim() ? words.msgIdBad : undefined;
}

function Preview({ request, xid }: { readonly request: RequestTemplate; readonly xid: string }) {
  const words = templateWords();
  const body = exampleBody(request);
  return (
    <section class="stack">
      <h3>{words.preview}</h3>
      <p class="muted small">{words.row}</p>
      <Code label={words.row} text={requestRow(request)} />
      <p class="muted small">
        {words.sends}: s/uc/{xid}
      </p>
      <Code label={words.sends} text={sentRow(request)} />
      {body !== undefined && (
        <>
          <p class="muted small">
            {words.body}: {request.kind}
          </p>
          <Code label={words.body} text={prettyJson(body)} />
        </>
      )}
    </section>
  );
}

interface CustomProps {
  readonly values: readonly CustomValue[];
  readonly onChange: (values: readonly CustomValue[]) => void;
}

function CustomValues({ values, onChange }: CustomProps) {
  const words = templateWords();
  const change = (index: number, changes: Partial<CustomValue>): void =>
    onChange(values.map((value, at) => (at === index ? { ...value, ...changes } : value)));
  return (
    <fieldset class="stack">
      <legend>{words.custom}</legend>
      <p class="field-hint">{words.customHint}</p>
      {values.map(({ path, type, value }, index) => (
        <div key={index} class="row">
          <TextField
            label={words.path(index + 1)}
            value={path}
            isMono
            isRequired
            onInput={(text) => change(index, { path: text })}
          />
          <SelectField
            label={words.type(index + 1)}
            value={type}
            options={VALUE_TYPES.map((one) => ({ value: one, text: one }))}
            onChange={(one) => change(index, { type: one, ...(one === 'FLAG' ? { value: '' } : {}) })}
          />
          {type !== 'FLAG' && (
            <TextField
              label={words.value(index + 1)}
              value={value}
              isMono
              onInput={(text) => change(index, { value: text })}
            />
          )}
          <IconButton
            icon={X}
            label={words.removeValue(index + 1)}
            onClick={() => onChange(values.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <div>
        <Button icon={Plus} onClick={() => onChange([...values, { path: '', type: 'STRING', value: '' }])}>
          {words.addValue}
        </Button>
      </div>
    </fieldset>
  );
}

export interface RequestFormProps {
  readonly request: RequestTemplate;
  readonly xid: string;
  readonly onSave: (request: RequestTemplate) => void;
  readonly onClose: () => void;
}

export function RequestForm({ request: given, xid, onSave, onClose }: RequestFormProps) {
  const words = templateWords();
  const [request, setRequest] = useState(given);
  const { msgId, kind, response, byId, externalIdType, mandatoryValues, customValues } = request;
  const set = (changes: Partial<RequestTemplate>): void => setRequest({ ...request, ...changes });
  const setKind = (next: RequestKind): void =>
    set({ kind: next, mandatoryValues: REQUEST_KINDS[next].map((_, index) => mandatoryValues[index] ?? '') });
  const fault = msgIdFault(msgId);
  return (
    <FormDialog
      title={words.editRequest}
      isWide
      onClose={onClose}
      onSubmit={() => fault === undefined && onSave(request)}
      action={common().apply}
      blocked={fault}
      below={<Preview request={request} xid={xid} />}
    >
      <TextField
        label={words.msgId}
        value={msgId}
        isMono
        isRequired
        hint={words.msgIdHint}
        error={msgId === '' ? undefined : fault}
        onInput={(text) => set({ msgId: text })}
      />
      <SelectField
        label={words.kind}
        value={kind}
        options={KINDS.map((value) => ({ value, text: value }))}
        onChange={setKind}
      />
      {isFound(request) && <CheckField label={words.byId} isChecked={byId} onChange={(isOn) => set({ byId: isOn })} />}
      {hasExternalId(request) && (
        <TextField
          label={words.externalIdType}
          value={externalIdType}
          isMono
          hint={words.externalIdHint}
          onInput={(text) => set({ externalIdType: text })}
        />
      )}
      {REQUEST_KINDS[kind].map((name, index) => (
        <TextField
          key={name}
          label={words.valueOf(name)}
          value={mandatoryValues[index] ?? ''}
          isMono
          hint={words.valueHint}
          onInput={(text) =>
            set({
              mandatoryValues: REQUEST_KINDS[kind].map((_, at) => (at === index ? text : (mandatoryValues[at] ?? ''))),
            })
          }
        />
      ))}
      {kind !== 'GET INVENTORY' && (
        <CustomValues values={customValues} onChange={(values) => set({ customValues: values })} />
      )}
      <CheckField label={words.response} isChecked={response} onChange={(isOn) => set({ response: isOn })} />
    </FormDialog>
  );
}
