/** One operation in a dialog: what was asked, how it ended; cancelling it and sending it again. */
import { Ban, RotateCcw } from 'lucide';
import { api, got } from '../../core/api/api.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { sendRaw } from '../../core/api/send.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { useSoon } from '../../core/live/pace.ts';
import { notify } from '../../core/notices.ts';
import { href } from '../../core/route.ts';
import { Button } from '../../parts/button.tsx';
import { CopyAs, CopyButton } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { JsonView } from '../../parts/json.tsx';
import { FormFault, With } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { CONTROL, cancelOperation, commandOf, createOperation, isOpen, repeatOf } from './operation.ts';
import type { Operation } from './operation.ts';
import { OperationState } from './status.tsx';
import { words as operationWords } from './text.ts';

export interface OperationDetailsProps {
  readonly id: string;
  readonly onClose: () => void;
}

function Facts({ operation }: { readonly operation: Operation }) {
  const words = operationWords();
  return (
    <dl class="facts">
      <dt>{words.status}</dt>
      <dd>
        <OperationState status={operation.status} />
      </dd>
      {operation.failureReason !== undefined && (
        <>
          <dt>{words.reason}</dt>
          <dd class="pre">{operation.failureReason}</dd>
        </>
      )}
      <dt>{words.device}</dt>
      <dd>
        <a href={href('/devices/:id/operations', { id: operation.deviceId })}>
          {operation.deviceName ?? operation.deviceId}
        </a>
      </dd>
      <dt>{words.command}</dt>
      <dd class="mono">{commandOf(operation)}</dd>
      {operation.description !== undefined && (
        <>
          <dt>{words.description}</dt>
          <dd>{operation.description}</dd>
        </>
      )}
      <dt>{words.time}</dt>
      <dd>
        <Time value={operation.creationTime} hasAge />
      </dd>
      {operation.bulkOperationId !== undefined && (
        <>
          <dt>{words.bulk}</dt>
          <dd>
            <a href={href('/operations', undefined, { bulk: operation.bulkOperationId })}>
              {operation.bulkOperationId}
            </a>
          </dd>
        </>
      )}
      <dt>{words.id}</dt>
      <dd>
        <span class="mono">{operation.id}</span>
        <CopyButton text={operation.id} />
      </dd>
    </dl>
  );
}

export function OperationDetails({ id, onClose }: OperationDetailsProps) {
  const words = operationWords();
  const path = `/devicecontrol/operations/${encodeURIComponent(id)}`;
  const loaded = useLoaded(
    async (signal) => {
      const operation = (await got(
        api.GET('/devicecontrol/operations/{id}', { params: { path: { id } }, signal }),
      )) as unknown as Operation;
      // Its own text, so that numbers keep their digits.
      return { operation, text: await (await sendRaw(path, { signal })).text() };
    },
    [id],
  );
  const deviceId = loaded.data?.operation.deviceId;
  const reload = useSoon(loaded.reload);
  useLive(deviceId === undefined ? [] : [`/operations/${deviceId}`], {
    onMessages: (messages) => {
      if (messages.some((message) => (changeOf(message)?.data as Operation | undefined)?.id === id)) reload();
    },
    onGap: loaded.reload,
  });
  const cancel = useAction(async () => {
    await cancelOperation(id, words.cancelReason, words.endedMeanwhile);
    loaded.reload();
    notify(words.cancelled);
  });
  const again = useAction(async (operation: Operation) => {
    await createOperation(operation.deviceId, repeatOf(operation));
    notify(words.sent);
    onClose();
  });
  const operation = loaded.data?.operation;
  return (
    <Dialog
      title={words.details(id)}
      isWide
      onClose={onClose}
      foot={
        operation && (
          <>
            <CopyAs requests={{ path }} />
            {isOpen(operation) && (
              <Button
                kind="danger"
                icon={Ban}
                roles={CONTROL}
                isBusy={cancel.isRunning}
                onClick={() => void cancel.run()}
              >
                {words.cancel}
              </Button>
            )}
            <Button icon={RotateCcw} roles={CONTROL} isBusy={again.isRunning} onClick={() => void again.run(operation)}>
              {words.again}
            </Button>
          </>
        )
      }
    >
      <With loaded={loaded}>
        {(data) => (
          <>
            <Facts operation={data.operation} />
            {isOpen(data.operation) && <p class="muted small">{words.cancelText}</p>}
            <FormFault error={cancel.error ?? again.error} />
            <JsonView text={data.text} label={words.details(id)} />
          </>
        )}
      </With>
    </Dialog>
  );
}
