/** The row of filters above a list. `/` goes to its first field. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useShortcuts } from '../core/keys.ts';
import { common } from '../core/text/common.ts';
import { Button } from './button.tsx';
import { TextField } from './fields.tsx';
import type { TextFieldProps } from './fields.tsx';

export interface FilterBarProps {
  readonly children: ComponentChildren;
  /** Absent while no filter is set. */
  readonly onClear?: (() => void) | undefined;
}

export function FilterBar({ children, onClear }: FilterBarProps) {
  const box = useRef<HTMLDivElement>(null);
  useShortcuts(
    useMemo(
      () => [
        {
          keys: '/',
          text: () => common().shortcutTexts.filter,
          run: () => box.current?.querySelector<HTMLElement>('input, select')?.focus(),
        },
      ],
      [],
    ),
  );
  return (
    <div class="filters" role="search" aria-label={common().filters} ref={box}>
      {children}
      {onClear && (
        <Button kind="quiet" onClick={onClear}>
          {common().clearFilters}
        </Button>
      )}
    </div>
  );
}

const DEBOUNCE_MS = 80;

export type SlowTextFieldProps = Omit<TextFieldProps, 'onInput'> & { readonly onChange: (value: string) => void };

/** A text that is used when the person pauses for 80 ms: each use is a request. */
export function SlowTextField({ value, onChange, ...props }: SlowTextFieldProps) {
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    clearTimeout(timer.current);
    setTyped(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <TextField
      {...props}
      value={typed}
      onInput={(text) => {
        setTyped(text);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => onChange(text), DEBOUNCE_MS);
      }}
    />
  );
}
