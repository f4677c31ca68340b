/** Form fields: a label, the control, a hint, and the error beside what is wrong. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { common } from '../core/text/common.ts';

interface FieldBase {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly isRequired?: boolean;
  readonly class?: string;
}

export interface TextFieldProps extends FieldBase {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'password' | 'email' | 'number' | 'search' | 'url';
  readonly autocomplete?: string;
  readonly placeholder?: string;
  readonly isMono?: boolean;
  readonly isReadOnly?: boolean;
  readonly hasFocus?: boolean;
  readonly name?: string;
  readonly inputMode?: 'numeric';
}

interface Ids {
  readonly id: string;
  readonly describedBy: string | undefined;
}

function Field({ base, children }: { readonly base: FieldBase; readonly children: (ids: Ids) => ComponentChildren }) {
  const { label, hint, error, isRequired = false } = base;
  const id = useId();
  const described = [...(error ? [`${id}-error`] : []), ...(hint ? [`${id}-hint`] : [])].join(' ');
  return (
    <div class={`field ${base.class ?? ''}`}>
      <label class="field-label" for={id}>
        {label}
        {isRequired && (
          <span aria-hidden="true" class="muted">
            {' '}
            *
          </span>
        )}
      </label>
      {children({ id, describedBy: described === '' ? undefined : described })}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {hint && (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

export function TextField(props: TextFieldProps) {
  return (
    <Field base={props}>
      {({ id, describedBy }) => (
        <input
          id={id}
          class={props.isMono ? 'input mono' : 'input'}
          // The types of JSX know each kind of field apart.
          type={(props.type ?? 'text') as 'text'}
          name={props.name}
          value={props.value}
          onInput={(event) => props.onInput(event.currentTarget.value)}
          autocomplete={props.autocomplete ?? 'off'}
          placeholder={props.placeholder}
          readOnly={props.isReadOnly}
          inputMode={props.inputMode}
          autofocus={props.hasFocus}
          required={props.isRequired}
          spellcheck={false}
          aria-invalid={props.error !== undefined}
          aria-describedby={describedBy}
        />
      )}
    </Field>
  );
}

export interface TextAreaProps extends FieldBase {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly isMono?: boolean;
  readonly rows?: number;
}

export function TextArea(props: TextAreaProps) {
  return (
    <Field base={props}>
      {({ id, describedBy }) => (
        <textarea
          id={id}
          class={props.isMono ? 'textarea mono' : 'textarea'}
          rows={props.rows ?? 8}
          value={props.value}
          onInput={(event) => props.onInput(event.currentTarget.value)}
          required={props.isRequired}
          spellcheck={false}
          aria-invalid={props.error !== undefined}
          aria-describedby={describedBy}
        />
      )}
    </Field>
  );
}

export interface SelectFieldProps<T extends string> extends FieldBase {
  readonly value: T;
  readonly options: readonly { readonly value: T; readonly text: string }[];
  readonly onChange: (value: T) => void;
}

export function SelectField<T extends string>(props: SelectFieldProps<T>) {
  return (
    <Field base={props}>
      {({ id, describedBy }) => (
        <select
          id={id}
          class="select"
          value={props.value}
          onChange={(event) => props.onChange(event.currentTarget.value as T)}
          aria-invalid={props.error !== undefined}
          aria-describedby={describedBy}
        >
          {props.options.map(({ value, text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export interface CheckFieldProps {
  readonly label: ComponentChildren;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
  /** Said instead of the label where that is not a text. */
  readonly name?: string;
}

export function CheckField({ label, isChecked, onChange, name }: CheckFieldProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isChecked}
        aria-label={name}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

export interface FileFieldProps extends FieldBase {
  readonly accept?: string;
  readonly onFile: (file: File | undefined) => void;
}

export function FileField(props: FileFieldProps) {
  return (
    <Field base={props}>
      {({ id, describedBy }) => (
        <input
          id={id}
          class="input"
          type="file"
          accept={props.accept}
          required={props.isRequired}
          onChange={(event) => props.onFile(event.currentTarget.files?.[0])}
          aria-invalid={props.error !== undefined}
          aria-describedby={describedBy}
        />
      )}
    </Field>
  );
}

export interface FormProps {
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
  readonly id?: string;
  readonly label?: string;
}

/** A form that a screen sends by itself; the fields say what is wrong. */
export function Form({ onSubmit, children, id, label }: FormProps) {
  return (
    <form
      class="form"
      id={id}
      aria-label={label}
      noValidate={false}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

/** The text of an optional field's label. */
export const optionalLabel = (label: string): string => `${label} (${common().optional})`;
