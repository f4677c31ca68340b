/** All operations of the tenant, live. */
import { Layers } from 'lucide';
import { useCallback, useMemo } from 'preact/hooks';
import { href } from '../../core/route.ts';
import { absoluteRange, rangeQuery } from '../../core/time/range.ts';
import { choiceParameter, numberParameter, textParameter, urlWith, useUrlState } from '../../core/url-state.ts';
import { LinkButton } from '../../parts/button.tsx';
import { ExportLink } from '../../parts/export-link.tsx';
import { SelectField } from '../../parts/fields.tsx';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { Page } from '../../parts/page.tsx';
import { TimeRangeField } from '../../parts/time-range.tsx';
import { STATUSES, operationsPath } from './operation.ts';
import type { OperationFilter } from './operation.ts';
import { OperationTable } from './table.tsx';
import { words as operationWords } from './text.ts';

const SHAPE = {
  status: choiceParameter(['', ...STATUSES]),
  command: textParameter(),
  device: textParameter(),
  bulk: textParameter(),
  from: textParameter(),
  to: textParameter(),
  page: numberParameter(1, { minimum: 1 }),
  operation: textParameter(),
};

export default function Operations() {
  const words = operationWords();
  const [state, set] = useUrlState(SHAPE);
  const { status, command, device, bulk, from, to, page } = state;
  // A range that moves with the clock is asked for at the time when it is chosen.
  const filter = useMemo<OperationFilter>(
    () => ({
      ...(status === '' ? {} : { status }),
      ...(command === '' ? {} : { fragmentType: command }),
      ...(device === '' ? {} : { deviceId: device }),
      ...(bulk === '' ? {} : { bulkOperationId: bulk }),
      ...rangeQuery({ from, to }),
    }),
    [status, command, device, bulk, from, to],
  );
  const hasFilters = [status, command, device, bulk, from, to].some((value) => value !== '');
  const clear = (): void =>
    set({ status: '', command: '', device: '', bulk: '', from: '', to: '', page: 1 }, { isStep: true });
  const open = useCallback((operation: string) => set({ operation }, { isStep: true }), [set]);
  return (
    <Page
      copy={{ path: operationsPath(filter, page) }}
      absoluteUrl={() => urlWith(SHAPE, absoluteRange({ from, to }))}
      title={words.title}
      actions={
        <>
          <ExportLink kind="operations" source={device} {...{ status, command, bulk, from, to }} />
          <LinkButton icon={Layers} href={href('/operations/bulk')}>
            {words.bulks}
          </LinkButton>
        </>
      }
    >
      <FilterBar onClear={hasFilters ? clear : undefined}>
        <SelectField
          label={words.status}
          value={status}
          options={[
            { value: '', text: words.allStatuses },
            ...STATUSES.map((value) => ({ value, text: words.statuses[value] })),
          ]}
          onChange={(value) => set({ status: value, page: 1 }, { isStep: true })}
        />
        <SlowTextField
          label={words.commandFilter}
          value={command}
          isMono
          placeholder="c8y_Restart"
          onChange={(value) => set({ command: value.trim(), page: 1 })}
        />
        <SlowTextField
          label={words.deviceFilter}
          value={device}
          isMono
          onChange={(value) => set({ device: value.trim(), page: 1 })}
        />
        <SlowTextField
          label={words.bulkFilter}
          value={bulk}
          isMono
          onChange={(value) => set({ bulk: value.trim(), page: 1 })}
        />
        <TimeRangeField
          value={{ from, to }}
          hasAny
          onChange={(range) => set({ ...range, page: 1 }, { isStep: true })}
        />
      </FilterBar>
      <OperationTable
        hasFile={false}
        filter={filter}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        open={state.operation}
        onOpen={open}
        hasFilters={hasFilters}
        onClearFilters={clear}
        empty={
          <>
            <p>{words.emptyText}</p>
            <LinkButton href={href('/devices')}>{words.toDevices}</LinkButton>
          </>
        }
      />
    </Page>
  );
}
