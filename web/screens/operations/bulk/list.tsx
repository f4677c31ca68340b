/** Bulk operations with their progress, live. */
import { Ban, Layers, List, RotateCcw } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import { usePoll } from '../../../core/api/poll.ts';
import { useLive } from '../../../core/live/live.ts';
import { useSoon } from '../../../core/live/pace.ts';
import { notify } from '../../../core/notices.ts';
import { href } from '../../../core/route.ts';
import { flagParameter, numberParameter, useUrlState } from '../../../core/url-state.ts';
import { Badge } from '../../../parts/badge.tsx';
import { Button, LinkButton } from '../../../parts/button.tsx';
import { Confirm } from '../../../parts/dialog.tsx';
import { CheckField } from '../../../parts/fields.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { LOOK_MS, useList } from '../../../parts/list/list.ts';
import { Page } from '../../../parts/page.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { Time } from '../../../parts/time.tsx';
import { commandOf } from '../operation.ts';
import { words as operationWords } from '../text.ts';
import { BULK_ADMIN, bulksPath, cancelBulk, isRunning, listBulks, openOf } from './bulk.ts';
import type { Bulk } from './bulk.ts';
import { words as bulkWords } from './text.ts';
import type { BulkTexts } from './text.ts';

const SHAPE = { cancelled: flagParameter, page: numberParameter(1, { minimum: 1 }) };

function Progress({ bulk }: { readonly bulk: Bulk }) {
  const { successful, failed, all } = bulk.progress;
  return (
    <span class="stack-tight">
      <progress class="progress" max={Math.max(all, 1)} value={successful + failed} aria-label={bulkWords().progress} />
      <span class="small">{bulkWords().counts(successful, failed, openOf(bulk), all)}</span>
    </span>
  );
}

function columnsOf(words: BulkTexts, onCancel: (bulk: Bulk) => void): Column<Bulk>[] {
  return [
    {
      id: 'command',
      title: words.command,
      isHeading: true,
      cell: ({ operationPrototype, note }) => (
        <span>
          <span class="mono">{commandOf(operationPrototype)}</span>
          {note !== undefined && <span class="muted"> {note}</span>}
        </span>
      ),
    },
    {
      id: 'targets',
      title: words.targets,
      cell: ({ groupId, failedParentId }) =>
        groupId === undefined ? (
          words.failedOf(failedParentId ?? '')
        ) : (
          <a href={href('/groups/:id', { id: groupId })}>{words.groupOf(groupId)}</a>
        ),
    },
    {
      id: 'status',
      title: words.status,
      cell: ({ generalStatus }) => <Badge>{words.statuses[generalStatus] ?? generalStatus}</Badge>,
    },
    { id: 'progress', title: words.progress, cell: (bulk) => <Progress bulk={bulk} /> },
    { id: 'start', title: words.start, cell: ({ startDate }) => <Time value={startDate} /> },
    {
      id: 'ramp',
      title: words.ramp,
      isEnd: true,
      text: ({ creationRamp }) => creationRamp,
      cell: ({ creationRamp }) => words.seconds(creationRamp),
    },
    {
      id: 'actions',
      title: words.actions,
      isNarrow: true,
      cell: (bulk) => (
        <span class="cell-actions">
          <LinkButton icon={List} href={href('/operations', undefined, { bulk: bulk.id })}>
            {words.show}
          </LinkButton>
          {isRunning(bulk) && (
            <Button
              icon={Ban}
              kind="danger"
              roles={BULK_ADMIN}
              label={words.cancelOf(bulk.id)}
              onClick={() => onCancel(bulk)}
            >
              {words.cancel}
            </Button>
          )}
          {!isRunning(bulk) && bulk.progress.failed > 0 && (
            <LinkButton icon={RotateCcw} href={href('/operations/bulk/new', undefined, { failed: bulk.id })}>
              {words.retry}
            </LinkButton>
          )}
        </span>
      ),
    },
  ];
}

export default function BulkOperations() {
  const words = bulkWords();
  const [{ cancelled, page }, set] = useUrlState(SHAPE);
  const [cancelling, setCancelling] = useState<Bulk>();
  const list = useList({
    load: (number, signal) => listBulks(number, cancelled, signal),
    keyOf: ({ id }) => id,
    page,
    inputs: [cancelled],
  });
  // Operations may end by the thousand.
  const reload = useSoon(list.reload);
  const isDenied = useLive(['/operations/*'], { onMessages: reload, onGap: reload });
  usePoll(LOOK_MS, isDenied ? list.reload : undefined);
  const columns = useMemo(() => columnsOf(words, setCancelling), [words]);
  return (
    <Page
      copy={{ path: bulksPath(page, cancelled) }}
      title={words.title}
      crumbs={[{ text: operationWords().title, href: href('/operations') }]}
      actions={
        <LinkButton kind="main" icon={Layers} href={href('/operations/bulk/new')}>
          {words.create}
        </LinkButton>
      }
    >
      <div class="filters">
        <CheckField
          label={words.withDeleted}
          isChecked={cancelled}
          onChange={(value) => set({ cancelled: value, page: 1 }, { isStep: true })}
        />
      </div>
      <ListPage
        label={words.title}
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        empty={<p>{words.emptyText}</p>}
      />
      {cancelling && (
        <Confirm
          title={words.cancelTitle(cancelling.id)}
          action={words.cancel}
          isDangerous
          onClose={() => setCancelling(undefined)}
          run={async () => {
            await cancelBulk(cancelling.id);
            notify(words.cancelled);
            list.reload();
          }}
        >
          <p>{words.cancelText(openOf(cancelling))}</p>
        </Confirm>
      )}
    </Page>
  );
}
