/** Operations as a list; a row opens its details, which have an address. */
import { useMemo } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { href } from '../../core/route.ts';
import { ListPage } from '../../parts/list/list-page.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Time } from '../../parts/time.tsx';
import { OperationDetails } from './details.tsx';
import { useOperations } from './list.ts';
import { commandOf } from './operation.ts';
import type { Operation, OperationFilter } from './operation.ts';
import { OperationState } from './status.tsx';
import { words as operationWords } from './text.ts';
import type { OperationTexts } from './text.ts';

export interface OperationTableProps {
  readonly filter: OperationFilter;
  readonly page: number;
  readonly onPage: (page: number) => void;
  /** That whose details are open, or ''. */
  readonly open: string;
  readonly onOpen: (id: string) => void;
  /** False where the screen has a link to the server's own export. */
  readonly hasFile?: boolean;
  readonly hasFilters?: boolean;
  readonly onClearFilters?: () => void;
  readonly empty: ComponentChildren;
}

function columnsOf(words: OperationTexts, hasDevice: boolean, onOpen: (id: string) => void): Column<Operation>[] {
  return [
    {
      id: 'command',
      title: words.command,
      isHeading: true,
      cell: (operation) => (
        <button
          type="button"
          class="button-text"
          aria-label={words.open(`${commandOf(operation)} ${operation.id}`)}
          onClick={() => onOpen(operation.id)}
        >
          {commandOf(operation) || operation.id}
        </button>
      ),
    },
    { id: 'status', title: words.status, isNarrow: true, cell: ({ status }) => <OperationState status={status} /> },
    ...(hasDevice
      ? [
          {
            id: 'device',
            title: words.device,
            cell: ({ deviceId, deviceName }: Operation) => (
              <a href={href('/devices/:id/operations', { id: deviceId })}>{deviceName ?? deviceId}</a>
            ),
          },
        ]
      : []),
    { id: 'time', title: words.time, cell: ({ creationTime }) => <Time value={creationTime} hasAge /> },
    {
      id: 'text',
      title: words.description,
      cell: ({ description, failureReason }) =>
        failureReason === undefined ? (description ?? '') : <span class="fault-text">{failureReason}</span>,
    },
  ];
}

export function OperationTable(props: OperationTableProps) {
  const { filter, page, onPage, open, onOpen, empty } = props;
  const words = operationWords();
  const list = useOperations(filter, page);
  const hasDevice = filter.deviceId === undefined;
  const columns = useMemo(() => columnsOf(words, hasDevice, onOpen), [words, hasDevice, onOpen]);
  return (
    <>
      <ListPage
        label={words.title}
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        page={page}
        onPage={onPage}
        hasFile={props.hasFile ?? true}
        hasFilters={props.hasFilters ?? false}
        {...(props.onClearFilters ? { onClearFilters: props.onClearFilters } : {})}
        empty={empty}
      />
      {open !== '' && <OperationDetails id={open} onClose={() => onOpen('')} />}
    </>
  );
}
