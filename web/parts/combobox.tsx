/** A text field with suggestions below it, after the combobox pattern of the ARIA practices. */
import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';

export interface Suggestion {
  readonly key: string;
  readonly text: ComponentChildren;
  /** What stands in the field when it is chosen. */
  readonly value: string;
}

export interface ComboboxProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string, cursor: number) => void;
  /** A suggestion was taken, or Enter was pressed without one. */
  readonly onChoose: (suggestion: Suggestion | undefined) => void;
  readonly suggestions: readonly Suggestion[];
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly placeholder?: string;
  readonly isMono?: boolean;
  readonly class?: string;
  readonly hasFocus?: boolean;
  /** The label is read but not shown. */
  readonly isLabelHidden?: boolean;
}

export function Combobox(props: ComboboxProps) {
  const { label, value, onInput, onChoose, suggestions, hint, error } = props;
  const [isOpen, setOpen] = useState(false);
  /** Its key: the list may change below it. */
  const [chosenKey, setChosen] = useState<string>();
  const chosen = suggestions.findIndex(({ key }) => key === chosenKey);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const isShown = isOpen && suggestions.length > 0;
  const take = (suggestion: Suggestion | undefined): void => {
    setOpen(false);
    setChosen(undefined);
    onChoose(suggestion);
    input.current?.focus();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setOpen(true);
      const count = suggestions.length;
      const next = event.key === 'ArrowDown' ? chosen + 1 : Math.max(chosen, 0) - 1 + count;
      if (count > 0) setChosen(suggestions[next % count].key);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      take(isShown ? suggestions[chosen] : undefined);
    } else if (event.key === 'Escape' && isShown) {
      // A dialog around it stays open.
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  };
  const described = [...(error ? [`${id}-error`] : []), ...(hint ? [`${id}-hint`] : [])].join(' ');
  return (
    <div class={`field combobox ${props.class ?? ''}`}>
      <label class={props.isLabelHidden ? 'visually-hidden' : 'field-label'} for={id}>
        {label}
      </label>
      <div class="combobox">
        <input
          ref={input}
          id={id}
          class={props.isMono ? 'input mono' : 'input'}
          role="combobox"
          autocomplete="off"
          spellcheck={false}
          autofocus={props.hasFocus}
          placeholder={props.placeholder}
          value={value}
          aria-expanded={isShown}
          aria-controls={isShown ? `${id}-list` : undefined}
          aria-activedescendant={isShown && chosen >= 0 ? `${id}-${chosen}` : undefined}
          aria-invalid={error !== undefined}
          aria-describedby={described === '' ? undefined : described}
          aria-autocomplete="list"
          onInput={(event) => {
            setOpen(true);
            setChosen(undefined);
            onInput(event.currentTarget.value, event.currentTarget.selectionStart ?? event.currentTarget.value.length);
          }}
          onKeyDown={onKey}
          onBlur={() => setOpen(false)}
        />
        {isShown && (
          <ul class="options" role="listbox" id={`${id}-list`} aria-label={label}>
            {suggestions.map((suggestion, index) => (
              <li
                key={suggestion.key}
                id={`${id}-${index}`}
                class="option"
                role="option"
                aria-selected={index === chosen}
                // Before the field loses the focus, which closes the list.
                onMouseDown={(event) => {
                  event.preventDefault();
                  take(suggestion);
                }}
              >
                {suggestion.text}
              </li>
            ))}
          </ul>
        )}
      </div>
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
