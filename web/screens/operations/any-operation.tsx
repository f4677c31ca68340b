/** A dialog for an operation that a person writes as JSON, for one device or several. */
import { Send } from 'lucide';
import { useState } from 'preact/hooks';
import { useAction } from '../../core/api/request.ts';
import { FormDialog } from '../../parts/dialog.tsx';
import { SelectField, TextField } from '../../parts/fields.tsx';
import { JsonField } from '../../parts/json.tsx';
import { EXAMPLES, operationFault } from './json.ts';
import { words as operationWords } from './text.ts';

export interface AnyOperationProps {
  readonly title?: string;
  /** What the devices say they take: offered first. */
  readonly known: readonly string[];
  /** @throws ApiError, which the dialog shows. */
  readonly send: (body: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly onClose: () => void;
}

export function AnyOperation({ title, known, send, onClose }: AnyOperationProps) {
  const words = operationWords();
  const [text, setText] = useState('{\n  "c8y_Restart": {}\n}');
  const [description, setDescription] = useState('');
  const sending = useAction(send);
  const fault = operationFault(text, words);
  const submit = async (): Promise<void> => {
    if (fault !== undefined) return;
    const body = JSON.parse(text) as Record<string, unknown>;
    if (await sending.run({ ...(description === '' ? {} : { description }), ...body })) onClose();
  };
  const names = [...new Set([...known, ...Object.keys(EXAMPLES)])];
  return (
    <FormDialog
      title={title ?? words.send}
      isWide
      onClose={onClose}
      onSubmit={() => void submit()}
      action={words.sendButton}
      icon={Send}
      blocked={fault}
      isBusy={sending.isRunning}
      error={sending.error}
    >
      <SelectField
        label={words.examples}
        value=""
        options={[{ value: '', text: words.example }, ...names.map((name) => ({ value: name, text: name }))]}
        onChange={(name) => name !== '' && setText(JSON.stringify({ [name]: EXAMPLES[name] ?? {} }, null, 2))}
      />
      <TextField label={words.description} value={description} onInput={setDescription} />
      <JsonField label={words.json} value={text} onInput={setText} rows={10} hint={words.jsonHint} />
    </FormDialog>
  );
}
