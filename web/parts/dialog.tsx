/** Dialogs on the browser's own `<dialog>`, which keeps the focus and closes by Escape. */
import { X } from 'lucide';
import type { IconNode } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../core/api/error.ts';
import { useAction } from '../core/api/request.ts';
import { common } from '../core/text/common.ts';
import { Button, IconButton } from './button.tsx';
import { Form, TextField } from './fields.tsx';
import { FormFault } from './states.tsx';

export interface DialogProps {
  readonly title: string;
  /** Asked for by Escape and by the button; absent for a dialog that has to be answered. */
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
  /** Buttons at the bottom. */
  readonly foot?: ComponentChildren;
  readonly isWide?: boolean;
}

/** An open dialog: render it to open it. The focus returns to where it was. */
export function Dialog({ title, onClose, children, foot, isWide = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      // Some browsers close at the second Escape without asking.
      onClose={() => (onClose === undefined ? dialog.current?.showModal() : onClose())}
    >
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        {onClose && <IconButton icon={X} label={common().close} onClick={onClose} />}
      </div>
      <div class="dialog-body">{children}</div>
      {foot && <div class="dialog-foot">{foot}</div>}
    </dialog>
  );
}

export interface FormDialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly onSubmit: () => void;
  /** Its fields. */
  readonly children: ComponentChildren;
  /** The verb on the button. */
  readonly action?: string;
  readonly icon?: IconNode;
  readonly blocked?: string | undefined;
  readonly isBusy?: boolean;
  /** What the server said. */
  readonly error?: ApiError | undefined;
  /** In front of the buttons. */
  readonly beside?: ComponentChildren;
  /** Behind the form. */
  readonly below?: ComponentChildren;
  readonly isWide?: boolean;
}

/** A form in a dialog, with its buttons. */
export function FormDialog(props: FormDialogProps) {
  const { title, onClose, onSubmit, children, action, icon, blocked, isBusy = false, isWide = false } = props;
  const words = common();
  const id = useId();
  return (
    <Dialog
      title={title}
      isWide={isWide}
      onClose={onClose}
      foot={
        <>
          {props.beside}
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button kind="main" type="submit" form={id} blocked={blocked} isBusy={isBusy} {...(icon ? { icon } : {})}>
            {action ?? words.save}
          </Button>
        </>
      }
    >
      <Form id={id} onSubmit={onSubmit}>
        {children}
        <FormFault error={props.error} />
      </Form>
      {props.below}
    </Dialog>
  );
}

export interface ConfirmProps {
  readonly title: string;
  /** The verb on the button: "Delete 3 devices". */
  readonly action: string;
  /** What goes along, with its counts. */
  readonly children: ComponentChildren;
  readonly run: () => Promise<void>;
  readonly onClose: () => void;
  readonly isDangerous?: boolean;
  /** Has to be typed first, for what cannot be taken back. */
  readonly phrase?: string;
}

export function Confirm({ title, action, children, run, onClose, isDangerous = false, phrase }: ConfirmProps) {
  const [typed, setTyped] = useState('');
  const words = common();
  const acting = useAction(run);
  const blocked = phrase !== undefined && typed !== phrase ? words.confirmPhrase(phrase) : undefined;
  const press = async (): Promise<void> => {
    if (await acting.run()) onClose();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button
            kind={isDangerous ? 'danger-main' : 'main'}
            blocked={blocked}
            isBusy={acting.isRunning}
            onClick={() => void press()}
          >
            {action}
          </Button>
        </>
      }
    >
      <div class="stack">{children}</div>
      {phrase !== undefined && <TextField label={words.confirmPhrase(phrase)} value={typed} onInput={setTyped} />}
      <FormFault error={acting.error} />
    </Dialog>
  );
}
