/** The form that sets a new password of the user, here and in the account. */
import { useState } from 'preact/hooks';
import { api, got } from '../../core/api/api.ts';
import { useAction } from '../../core/api/request.ts';
import { isBasic, loginDone, renewBasic, user, userWithTenant } from '../../core/api/session.ts';
import { logInByCookie } from '../../core/login/login.ts';
import { notify } from '../../core/notices.ts';
import { Button } from '../../parts/button.tsx';
import { Form, TextField } from '../../parts/fields.tsx';
import { FormFault } from '../../parts/states.tsx';
import { words as loginWords } from './text.ts';

export function PasswordForm({ onDone }: { readonly onDone: () => void }) {
  const words = loginWords();
  const [current, setCurrent] = useState('');
  const [wanted, setWanted] = useState('');
  const [again, setAgain] = useState('');
  const [isChecked, setChecked] = useState(false);
  const differs = wanted !== again;
  const change = useAction(async () => {
    await got(api.PUT('/user/currentUser/password', { body: { currentUserPassword: current, newPassword: wanted } }));
    if (isBasic()) {
      renewBasic(wanted);
      // What left before with the old credentials goes on with the new ones.
      loginDone();
    } else {
      // The cookie ends with the old password. The new one is set also where this fails, for instance because a code is
      // asked for: the next request asks for a login.
      await logInByCookie({ name: userWithTenant(), password: wanted }).catch(() => undefined);
    }
    notify(words.changed);
    onDone();
  });
  const submit = (): void => {
    setChecked(true);
    if (!differs) void change.run();
  };
  return (
    <Form onSubmit={submit}>
      {/* Password managers look for the name. */}
      <input type="text" autocomplete="username" value={user.value?.userName} readOnly hidden />
      <TextField
        label={words.currentPassword}
        type="password"
        autocomplete="current-password"
        value={current}
        onInput={setCurrent}
        isRequired
      />
      <TextField
        label={words.newPassword}
        type="password"
        autocomplete="new-password"
        value={wanted}
        onInput={setWanted}
        isRequired
      />
      <TextField
        label={words.repeatPassword}
        type="password"
        autocomplete="new-password"
        value={again}
        onInput={setAgain}
        isRequired
        error={isChecked && differs ? words.differ : undefined}
      />
      <FormFault error={change.error} />
      <div class="form-buttons">
        <Button kind="main" type="submit" isBusy={change.isRunning}>
          {words.change}
        </Button>
      </div>
    </Form>
  );
}
