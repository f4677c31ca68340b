/**
 * The login, over the page and in place: what is open stays open behind it. One-time codes are asked for, and set up,
 * when the server says so.
 */
import { useState } from 'preact/hooks';
import { ApiError } from '../../core/api/error.ts';
import { logInByBasic, logInByCookie, loginOptions } from '../../core/login/login.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { user } from '../../core/api/session.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Form, TextField } from '../../parts/fields.tsx';
import { FormFault } from '../../parts/states.tsx';
import { CodeField, SecretText } from './code-fields.tsx';
import { PasswordReset } from './password-reset.tsx';
import { activateSecret, newSecret } from './second-factor.ts';
import type { Secret } from './second-factor.ts';
import { words as loginWords } from './text.ts';

/** What the server says of one-time codes (docs/spec/login.md#two-factors). */
const CODE_REQUIRED = /TFA TOTP code required/;
const SETUP_REQUIRED = /TFA TOTP setup required/;
/** Another node of a cluster learns of a new secret within a second. */
const NODE_DELAY_MS = 1_000;

const says = (error: unknown, text: RegExp): boolean => error instanceof ApiError && text.test(error.message);

export function Login() {
  const words = loginWords();
  const [name, setName] = useState(user.value?.userName ?? '');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [isCodeAsked, setCodeAsked] = useState(false);
  const [secret, setSecret] = useState<Secret>();
  const [isResetting, setResetting] = useState(false);
  const options = useLoaded(() => loginOptions(), []);
  const isByCookie = (options.data ?? []).some(
    ({ type, visibleOnLoginPage }) => type === 'OAUTH2_INTERNAL' && visibleOnLoginPage !== false,
  );

  const logIn = useAction(async () => {
    const credentials = { name: name.trim(), password, code: code.trim() };
    try {
      if (secret !== undefined) {
        await activateSecret(credentials);
        setSecret(undefined);
        // A code is good once: the next login asks for a new one, unless this node has not heard yet.
        await new Promise((resolve) => setTimeout(resolve, NODE_DELAY_MS));
      }
      await (isByCookie || options.data === undefined ? logInByCookie(credentials) : logInByBasic(credentials));
    } catch (error) {
      if (says(error, SETUP_REQUIRED)) {
        setSecret(await newSecret(credentials));
        setCodeAsked(true);
        return;
      }
      setCode('');
      if (says(error, CODE_REQUIRED)) {
        setCodeAsked(true);
        if (!isCodeAsked) return;
      }
      throw error;
    }
  });

  if (isResetting) return <PasswordReset onBack={() => setResetting(false)} />;
  return (
    <Dialog
      title={words.title}
      foot={
        <>
          <Button kind="quiet" onClick={() => setResetting(true)}>
            {words.forgot}
          </Button>
          <Button kind="main" type="submit" form="login" isBusy={logIn.isRunning}>
            {words.logIn}
          </Button>
        </>
      }
    >
      {user.value !== undefined && <p>{words.again}</p>}
      <Form id="login" onSubmit={() => void logIn.run()}>
        <TextField
          label={words.user}
          hint={words.userHint}
          name="username"
          autocomplete="username"
          value={name}
          onInput={setName}
          isRequired
          hasFocus
        />
        <TextField
          label={words.password}
          name="password"
          type="password"
          autocomplete="current-password"
          value={password}
          onInput={setPassword}
          isRequired
        />
        {secret && <SecretText secret={secret} />}
        {isCodeAsked && <CodeField value={code} onInput={setCode} />}
        {options.data !== undefined && !isByCookie && <p class="field-hint">{words.basicOnly}</p>}
        <FormFault error={logIn.error ?? options.error} />
      </Form>
    </Dialog>
  );
}
