/** Asks for a mail with a link to set a new password. */
import { useState } from 'preact/hooks';
import { plainRequest } from '../../core/login/login.ts';
import { useAction } from '../../core/api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Form, TextField, optionalLabel } from '../../parts/fields.tsx';
import { FormFault } from '../../parts/states.tsx';
import { words as loginWords } from './text.ts';

export function PasswordReset({ onBack }: { readonly onBack: () => void }) {
  const words = loginWords();
  const [email, setEmail] = useState('');
  const [tenant, setTenant] = useState('');
  const [isSent, setSent] = useState(false);
  const ask = useAction(async () => {
    const query = tenant.trim() === '' ? '' : `?tenantId=${encodeURIComponent(tenant.trim())}`;
    await plainRequest(`/user/passwordReset${query}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: email.trim() }),
    });
    setSent(true);
  });
  return (
    <Dialog
      title={words.forgot}
      foot={
        <>
          <Button kind="quiet" onClick={onBack}>
            {words.back}
          </Button>
          {!isSent && (
            <Button kind="main" type="submit" form="reset" isBusy={ask.isRunning}>
              {words.sendLink}
            </Button>
          )}
        </>
      }
    >
      {isSent ? (
        <p role="status">{words.linkSent}</p>
      ) : (
        <Form id="reset" onSubmit={() => void ask.run()}>
          <TextField
            label={words.email}
            type="email"
            autocomplete="email"
            value={email}
            onInput={setEmail}
            isRequired
            hasFocus
          />
          <TextField label={optionalLabel(words.tenant)} value={tenant} onInput={setTenant} />
          <FormFault error={ask.error} />
        </Form>
      )}
    </Dialog>
  );
}
