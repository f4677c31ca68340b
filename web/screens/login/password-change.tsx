/** The forced change of a password that someone else has set. */
import { isPasswordChangeAsked } from '../../core/api/session.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { PasswordForm } from './password-form.tsx';
import { words } from './text.ts';

export function PasswordChange() {
  return (
    <Dialog title={words().changeTitle}>
      <p>{words().changeText}</p>
      <PasswordForm
        onDone={() => {
          isPasswordChangeAsked.value = false;
        }}
      />
    </Dialog>
  );
}
