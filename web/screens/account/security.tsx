/** One-time codes of the account, and the end of all its sessions. */
import { LogOut } from 'lucide';
import { useState } from 'preact/hooks';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { logOutEverywhere } from '../../core/login/login.ts';
import { notify } from '../../core/notices.ts';
import { common } from '../../core/text/common.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm, FormDialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/fields.tsx';
import { Section } from '../../parts/page.tsx';
import { FormFault, With } from '../../parts/states.tsx';
import { CodeField, SecretText } from '../login/code-fields.tsx';
import { activateOwnSecret, newOwnSecret, readActivity } from '../login/second-factor.ts';
import type { Secret } from '../login/second-factor.ts';
import { words as loginWords } from '../login/text.ts';
import { words as accountWords } from './text.ts';

interface SetUpProps {
  readonly secret: Secret;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function SetUp({ secret, onDone, onClose }: SetUpProps) {
  const words = accountWords();
  const [code, setCode] = useState('');
  const [password, setPassword] = useState('');
  const activate = useAction(async () => {
    await activateOwnSecret(code.trim(), password);
    notify(words.codesAreOn);
    onDone();
    onClose();
  });
  return (
    <FormDialog
      title={words.setUpCodes}
      onClose={onClose}
      onSubmit={() => void activate.run()}
      isBusy={activate.isRunning}
      error={activate.error}
    >
      <SecretText secret={secret} />
      <CodeField value={code} onInput={setCode} />
      <TextField
        label={loginWords().currentPassword}
        type="password"
        autocomplete="current-password"
        value={password}
        onInput={setPassword}
        isRequired
      />
    </FormDialog>
  );
}

/** The server lets administrators alone take codes away that are in use. */
export function Codes() {
  const words = accountWords();
  const activity = useLoaded(readActivity, []);
  const [secret, setSecret] = useState<Secret>();
  const begin = useAction(async () => setSecret(await newOwnSecret()));
  return (
    <Section title={words.codes}>
      <With loaded={activity}>
        {({ isActive }) =>
          isActive ? (
            <p>{words.codesAreOn}</p>
          ) : (
            <Button isBusy={begin.isRunning} onClick={() => void begin.run()}>
              {words.setUpCodes}
            </Button>
          )
        }
      </With>
      <FormFault error={begin.error} />
      {secret && <SetUp secret={secret} onDone={activity.reload} onClose={() => setSecret(undefined)} />}
    </Section>
  );
}

export function Sessions() {
  const words = accountWords();
  const [isAsked, setAsked] = useState(false);
  return (
    <Section title={words.sessions}>
      <Button icon={LogOut} onClick={() => setAsked(true)}>
        {words.logOutEverywhere}
      </Button>
      {isAsked && (
        <Confirm
          title={words.logOutEverywhere}
          action={common().logOut}
          run={logOutEverywhere}
          onClose={() => setAsked(false)}
        >
          <p>{words.logOutText}</p>
        </Confirm>
      )}
    </Section>
  );
}
