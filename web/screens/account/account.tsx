/** The person's account: who, how the console looks, password, what can be undone. */
import { useState } from 'preact/hooks';
import type { ApiError } from '../../core/api/error.ts';
import { asApiError } from '../../core/api/request.ts';
import { tenant, user } from '../../core/api/session.ts';
import { keepPreferences } from '../../core/login/keep-preferences.ts';
import { notify, runUndo, undoList } from '../../core/notices.ts';
import type { UndoEntry } from '../../core/notices.ts';
import { DENSITIES, THEMES, linkedZone, preferences, tenantSettings } from '../../core/preferences.ts';
import type { Preferences } from '../../core/preferences.ts';
import { common } from '../../core/text/common.ts';
import { usualZone } from '../../core/time/time.ts';
import { Button } from '../../parts/button.tsx';
import { CheckField, SelectField } from '../../parts/fields.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { FormFault } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { PasswordForm } from '../login/password-form.tsx';
import { Codes, Sessions } from './security.tsx';
import { words as accountWords } from './text.ts';

/** Those that the browser lists, and the chosen one, which another browser may have listed under that name. */
const zones = (chosen: string): readonly string[] => [
  ...new Set(['UTC', ...Intl.supportedValuesOf('timeZone'), ...(chosen === '' ? [] : [chosen])]),
];

function Display() {
  const [words, shared] = [accountWords(), common()];
  const { theme, zone, language, density, hasKeys } = preferences.value;
  const [error, setError] = useState<ApiError>();
  const set = (changes: Partial<Preferences>): void => {
    setError(undefined);
    keepPreferences(changes).catch((fault: unknown) => setError(asApiError(fault)));
  };
  return (
    <Section title={words.display}>
      <div class="form">
        <SelectField
          label={shared.theme}
          value={theme}
          options={THEMES.map((value) => ({ value, text: shared.themes[value] }))}
          onChange={(value) => set({ theme: value })}
        />
        <SelectField
          label={shared.zone}
          value={linkedZone.value || zone}
          options={[
            {
              value: '',
              text: `${tenantSettings.value.zone === '' ? shared.browserZone : shared.tenantZone} (${usualZone()})`,
            },
            ...zones(linkedZone.value || zone).map((value) => ({ value, text: value })),
          ]}
          onChange={(value) => {
            linkedZone.value = '';
            set({ zone: value });
          }}
        />
        <SelectField
          label={shared.language}
          value={language}
          options={(['en', 'de'] as const).map((value) => ({
            value: value as typeof language,
            text: shared.languages[value],
          }))}
          onChange={(value) => set({ language: value })}
        />
        <SelectField
          label={words.density}
          value={density}
          options={DENSITIES.map((value) => ({ value, text: words.densities[value] }))}
          onChange={(value) => set({ density: value })}
        />
        <CheckField label={words.keys} isChecked={hasKeys} onChange={(isOn) => set({ hasKeys: isOn })} />
        <p class="field-hint">{words.kept}</p>
        <FormFault error={error} />
      </div>
    </Section>
  );
}

async function undo(entry: UndoEntry): Promise<void> {
  const words = common();
  try {
    await runUndo(entry);
    notify(words.undone);
  } catch (error) {
    notify(`${words.undoFailed}: ${error instanceof Error ? error.message : String(error)}`, { kind: 'fault' });
  }
}

function UndoList() {
  const words = accountWords();
  return (
    <Section title={words.undoList}>
      {undoList.value.length === 0 && <p class="muted">{words.undoEmpty}</p>}
      <ul class="stack">
        {undoList.value.map((entry) => (
          <li key={entry.id} class="row">
            <Time value={entry.atMs} />
            <span>{entry.text}</span>
            {entry.state === 'open' ? (
              <Button onClick={() => void undo(entry)}>{common().undo}</Button>
            ) : (
              <span class="muted">{words.states[entry.state]}</span>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

export default function Account() {
  const words = accountWords();
  const { userName, email, effectiveRoles = [] } = user.value ?? { userName: '' };
  return (
    <Page copy={{ path: '/user/currentUser' }} title={common().account}>
      <div class="columns columns-even">
        <div>
          <Section title={words.profile}>
            <dl class="facts">
              <dt>{words.userName}</dt>
              <dd>{userName}</dd>
              <dt>{words.tenant}</dt>
              <dd>{tenant.value?.name}</dd>
              <dt>{words.email}</dt>
              <dd>{email ?? '–'}</dd>
              <dt>{words.roles}</dt>
              <dd class="small">
                {effectiveRoles
                  .map(({ id }) => id)
                  .sort()
                  .join(', ')}
              </dd>
            </dl>
          </Section>
          <Display />
        </div>
        <div>
          <Section title={words.password}>
            <PasswordForm onDone={() => undefined} />
          </Section>
          <Codes />
          <Sessions />
          <UndoList />
        </div>
      </div>
    </Page>
  );
}
