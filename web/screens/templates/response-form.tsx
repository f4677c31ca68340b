/** One response template: which values of an answer or an operation the device gets as a row. */
import { useState } from 'preact/hooks';
import { common } from '../../core/text/common.ts';
import { FormDialog } from '../../parts/dialog.tsx';
import { TextArea, TextField } from '../../parts/fields.tsx';
import { Code } from '../../parts/json.tsx';
import { msgIdFault } from './request-form.tsx';
import { receivedRow, responseRow } from './template-data.ts';
import type { ResponseTemplate } from './template-data.ts';
import { words as templateWords } from './text.ts';

export interface ResponseFormProps {
  readonly response: ResponseTemplate;
  readonly xid: string;
  readonly onSave: (response: ResponseTemplate) => void;
  readonly onClose: () => void;
}

export function ResponseForm({ response: given, xid, onSave, onClose }: ResponseFormProps) {
  const words = templateWords();
  const [typed, setTyped] = useState(given);
  const [patterns, setPatterns] = useState(given.pattern.join('\n'));
  const pattern = patterns
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const response = { ...typed, pattern };
  const set = (changes: Partial<ResponseTemplate>): void => setTyped({ ...typed, ...changes });
  const idFault = msgIdFault(typed.msgId);
  const fault = idFault ?? (pattern.length === 0 ? words.patternsNeeded : undefined);
  return (
    <FormDialog
      title={words.editResponse}
      isWide
      onClose={onClose}
      onSubmit={() => fault === undefined && onSave(response)}
      action={common().apply}
      blocked={fault}
      below={
        <section class="stack">
          <h3>{words.preview}</h3>
          <p class="muted small">{words.row}</p>
          <Code label={words.row} text={responseRow(response)} />
          <p class="muted small">
            {words.receives}: s/dc/{xid}
          </p>
          <p class="muted small">{words.ofAnswer}</p>
          <Code label={words.ofAnswer} text={receivedRow(response, false)} />
          <p class="muted small">{words.ofOperation}</p>
          <Code label={words.ofOperation} text={receivedRow(response, true)} />
        </section>
      }
    >
      <TextField
        label={words.msgId}
        value={typed.msgId}
        isMono
        isRequired
        hint={words.msgIdHint}
        error={typed.msgId === '' ? undefined : idFault}
        onInput={(msgId) => set({ msgId })}
      />
      <TextField label={words.base} value={typed.base} isMono hint={words.baseHint} onInput={(base) => set({ base })} />
      <TextField
        label={words.condition}
        value={typed.condition}
        isMono
        hint={words.conditionHint}
        onInput={(condition) => set({ condition })}
      />
      <TextArea
        label={words.patterns}
        value={patterns}
        isMono
        isRequired
        rows={5}
        hint={words.patternsHint}
        onInput={setPatterns}
      />
    </FormDialog>
  );
}
