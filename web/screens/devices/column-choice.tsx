/** Which columns the list of devices has, and in which order. */
import { ArrowDown, ArrowUp, X } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import { useAction } from '../../core/api/request.ts';
import { keepPreferences } from '../../core/login/keep-preferences.ts';
import { COLUMNS_MAX } from '../../core/preferences.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { common } from '../../core/text/common.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Combobox } from '../../parts/combobox.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { FormFault } from '../../parts/states.tsx';
import { KNOWN_COLUMNS, USUAL_COLUMNS, isPath, pathsOf, titleOf } from './columns.tsx';
import { words as deviceWords } from './text.ts';

/** Paths of the devices of one page that are offered. */
const PATHS_MAX = 500;
const SUGGESTIONS_MAX = 12;

export interface ColumnChoiceProps {
  readonly chosen: readonly string[];
  /** Those on the page: their members are offered. */
  readonly devices: readonly ManagedObject[];
  /** Gets none for the usual ones. */
  readonly onChange: (columns: readonly string[]) => void;
  readonly onClose: () => void;
}

function moved(columns: readonly string[], from: number, to: number): readonly string[] {
  const next = [...columns];
  next.splice(to, 0, ...next.splice(from, 1));
  return next;
}

export function ColumnChoice({ chosen, devices, onChange, onClose }: ColumnChoiceProps) {
  const words = deviceWords();
  const [columns, setColumns] = useState(chosen);
  const [typed, setTyped] = useState('');
  const offered = useMemo(
    () => [...new Set([...KNOWN_COLUMNS, ...pathsOf(devices, PATHS_MAX)])].filter((path) => path !== 'name'),
    [devices],
  );
  const wanted = typed.trim().toLowerCase();
  const suggestions = offered
    .filter((path) => !columns.includes(path))
    .filter((path) => `${path} ${titleOf(path, words)}`.toLowerCase().includes(wanted))
    .slice(0, SUGGESTIONS_MAX)
    .map((path) => ({ key: path, value: path, text: titleOf(path, words) }));
  const path = typed.trim();
  const fault =
    columns.length >= COLUMNS_MAX
      ? words.columnsFull(COLUMNS_MAX)
      : path === '' || isPath(path)
        ? undefined
        : words.columnPathBad;
  const add = (one: string): void => {
    if (!isPath(one) || columns.length >= COLUMNS_MAX) return;
    if (!columns.includes(one)) setColumns([...columns, one]);
    setTyped('');
  };
  const isUsual = columns.length === USUAL_COLUMNS.length && USUAL_COLUMNS.every((one, at) => one === columns[at]);
  const apply = useAction(async () => {
    const kept = isUsual ? [] : columns;
    onChange(kept);
    await keepPreferences({ deviceColumns: kept });
    onClose();
  });
  return (
    <Dialog
      title={common().columns}
      onClose={onClose}
      foot={
        <>
          <Button kind="quiet" onClick={() => setColumns(USUAL_COLUMNS)}>
            {words.columnsUsual}
          </Button>
          <Button onClick={onClose}>{common().cancel}</Button>
          <Button
            kind="main"
            isBusy={apply.isRunning}
            blocked={columns.length === 0 ? words.columnsNone : undefined}
            onClick={() => void apply.run()}
          >
            {common().apply}
          </Button>
        </>
      }
    >
      <ol class="stack" aria-label={common().columns}>
        {columns.map((one, index) => {
          const title = titleOf(one, words);
          return (
            <li key={one} class="row row-apart">
              <span class={title === one ? 'mono' : ''}>{title}</span>
              <span class="row">
                <IconButton
                  icon={ArrowUp}
                  label={words.columnUp(title)}
                  onClick={() => setColumns(moved(columns, index, Math.max(index - 1, 0)))}
                />
                <IconButton
                  icon={ArrowDown}
                  label={words.columnDown(title)}
                  onClick={() => setColumns(moved(columns, index, index + 1))}
                />
                <IconButton
                  icon={X}
                  label={words.columnRemove(title)}
                  onClick={() => setColumns(columns.filter((other) => other !== one))}
                />
              </span>
            </li>
          );
        })}
      </ol>
      <Combobox
        label={words.columnAdd}
        value={typed}
        onInput={setTyped}
        onChoose={(suggestion) => add(suggestion?.value ?? path)}
        suggestions={suggestions}
        hint={words.columnAddHint}
        error={fault}
        isMono
      />
      <FormFault error={apply.error} />
    </Dialog>
  );
}
