/** One-time codes as forms show them: the secret for the app, and the field for a code of it. */
import { TextField } from '../../parts/fields.tsx';
import type { Secret } from './second-factor.ts';
import { words as loginWords } from './text.ts';

export function SecretText({ secret }: { readonly secret: Secret }) {
  const words = loginWords();
  return (
    <>
      <p>{words.setup}</p>
      <img src={secret.secretQrUrl} alt={words.qr} width="180" height="180" />
      <p>
        {words.secret}: <code>{secret.rawSecret}</code>
      </p>
    </>
  );
}

export function CodeField({ value, onInput }: { readonly value: string; readonly onInput: (code: string) => void }) {
  const words = loginWords();
  return (
    <TextField
      label={words.code}
      hint={words.codeHint}
      inputMode="numeric"
      autocomplete="one-time-code"
      value={value}
      onInput={onInput}
      isRequired
    />
  );
}
