/** The shell of a device: commands with what they printed, the last at the end. What runs is the operation itself. */
import { Send } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAction } from '../../../core/api/request.ts';
import { hasRole } from '../../../core/api/rights.ts';
import type { ScreenProps } from '../../../core/route.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { now } from '../../../core/time/clock.ts';
import { Button } from '../../../parts/button.tsx';
import { CopyButton } from '../../../parts/copy.tsx';
import { Fault, FormFault, Loading } from '../../../parts/states.tsx';
import { Time } from '../../../parts/time.tsx';
import { useOperations } from '../list.ts';
import { CONTROL, createOperation, isOpen, memberText } from '../operation.ts';
import type { Operation } from '../operation.ts';
import { OperationState } from '../status.tsx';
import { words as operationWords } from '../text.ts';
import { TabPage } from './tab-page.tsx';
import { words as tabWords } from './text.ts';

const COMMAND = 'c8y_Command';

function Entry({ operation }: { readonly operation: Operation }) {
  const result = memberText(operation, COMMAND, 'result');
  const seconds = Math.max(0, Math.floor((now.value - Date.parse(operation.creationTime ?? '')) / 1_000));
  return (
    <li class="shell-entry">
      <p class="shell-command">
        <code>$ {memberText(operation, COMMAND, 'text')}</code>
        <span class="muted small">
          <Time value={operation.creationTime} />
        </span>
      </p>
      {isOpen(operation) && (
        <p class="row small">
          <OperationState status={operation.status} />
          <span class="muted">{operationWords().running(seconds)}</span>
        </p>
      )}
      {result !== '' && (
        <div class="shell-result">
          <pre>{result}</pre>
          <CopyButton text={result} />
        </div>
      )}
      {operation.status === 'FAILED' && <pre class="fault-text">{operation.failureReason}</pre>}
    </li>
  );
}

function Shell({ device }: { readonly device: ManagedObject }) {
  const words = tabWords();
  const list = useOperations({ deviceId: device.id, fragmentType: COMMAND }, 1);
  const send = useAction(async (command: string) => {
    await createOperation(device.id, { description: command, [COMMAND]: { text: command } });
  });
  const [text, setText] = useState('');
  /** How far back in the history the field is; 0 is what is written now. */
  const [back, setBack] = useState(0);
  const [draft, setDraft] = useState('');
  const log = useRef<HTMLDivElement>(null);
  const shown = [...(list.data ?? [])].reverse();
  // A command that was sent twice in a row is there once.
  const past = (list.data ?? [])
    .map((operation) => memberText(operation, COMMAND, 'text'))
    .filter((one, index, all) => one !== '' && one !== all[index - 1]);
  const last = shown.at(-1);
  useEffect(() => {
    log.current?.scrollTo({ top: log.current.scrollHeight });
  }, [last?.id, last?.status]);
  const submit = async (): Promise<void> => {
    const command = text.trim();
    if (command === '' || !hasRole(...CONTROL)) return;
    if (await send.run(command)) {
      setText('');
      setBack(0);
    }
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : 0;
    const next = Math.min(Math.max(back + step, 0), past.length);
    if (step === 0 || next === back) return;
    event.preventDefault();
    if (back === 0) setDraft(text);
    setBack(next);
    setText(next === 0 ? draft : past[next - 1]);
  };
  return (
    <div class="stack">
      {list.error && <Fault error={list.error} retry={list.reload} />}
      {list.data === undefined && !list.error && <Loading />}
      {list.data !== undefined && (
        <div class="shell" ref={log} role="log" aria-label={words.shell} tabIndex={0}>
          <ol class="stack">
            {shown.map((operation) => (
              <Entry key={operation.id} operation={operation} />
            ))}
          </ol>
          {shown.length === 0 && <p class="muted">{words.shellEmpty}</p>}
        </div>
      )}
      <form
        class="shell-line"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <input
          class="input mono grow"
          aria-label={words.shellCommand}
          placeholder={words.shellCommand}
          value={text}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setBack(0);
          }}
          onKeyDown={onKey}
        />
        <Button
          kind="main"
          type="submit"
          icon={Send}
          roles={CONTROL}
          isBusy={send.isRunning}
          blocked={text.trim() === '' ? words.shellCommand : undefined}
        >
          {operationWords().sendButton}
        </Button>
      </form>
      <p class="muted small">{words.shellHint}</p>
      <FormFault error={send.error} />
      <span class="visually-hidden" role="status">
        {last && !isOpen(last) ? `${common().details}: ${operationWords().statuses[last.status]}` : ''}
      </span>
    </div>
  );
}

export default function DeviceShell({ params }: ScreenProps) {
  return (
    <TabPage id={params['id']} capability="shell">
      {({ device }) => <Shell device={device} />}
    </TabPage>
  );
}
