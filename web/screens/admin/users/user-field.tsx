/** A field that finds a user by the beginning of the name. */
import { useEffect, useState } from 'preact/hooks';
import { useLoaded } from '../../../core/api/request.ts';
import { collectionAt } from '../../../core/server/collection.ts';
import { Button } from '../../../parts/button.tsx';
import { Combobox } from '../../../parts/combobox.tsx';
import { USER_CREATE, usersPath } from './access.ts';
import type { User } from './access.ts';

const SUGGESTIONS_MAX = 8;
const PAUSE_MS = 150;

export interface UserFieldProps {
  readonly label: string;
  readonly blocked: string | undefined;
  readonly isBusy: boolean;
  readonly onChoose: (userName: string) => void;
}

export function UserField({ label, blocked, isBusy, onChoose }: UserFieldProps) {
  const [typed, setTyped] = useState('');
  const [asked, setAsked] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setAsked(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const found = useLoaded(
    asked === ''
      ? undefined
      : (signal) => collectionAt<User>(usersPath(), 'users', { username: asked }).load(1, signal),
    [asked],
  );
  const choose = (name: string): void => {
    if (name === '') return;
    onChoose(name);
    setTyped('');
  };
  return (
    <div class="filters">
      <Combobox
        class="field-wide"
        label={label}
        value={typed}
        onInput={setTyped}
        suggestions={(found.data ?? [])
          .slice(0, SUGGESTIONS_MAX)
          .map(({ userName }) => ({ key: userName, text: userName, value: userName }))}
        onChoose={(suggestion) => setTyped(suggestion?.value ?? typed)}
      />
      <Button roles={USER_CREATE} blocked={blocked} isBusy={isBusy} onClick={() => choose(typed.trim())}>
        {label}
      </Button>
    </div>
  );
}
