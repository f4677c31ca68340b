/** The operations of one kind of a device, below the tab that sends them. */
import { useCallback } from 'preact/hooks';
import { numberParameter, textParameter, useUrlState } from '../../../core/url-state.ts';
import { Section } from '../../../parts/page.tsx';
import { OperationTable } from '../table.tsx';
import { words as operationWords } from '../text.ts';

export const HISTORY_SHAPE = { page: numberParameter(1, { minimum: 1 }), operation: textParameter() };

/** @param fragment of the operations; all without it. */
export function History({ deviceId, fragment }: { readonly deviceId: string; readonly fragment?: string }) {
  const words = operationWords();
  const [{ page, operation }, set] = useUrlState(HISTORY_SHAPE);
  const open = useCallback((id: string) => set({ operation: id }, { isStep: true }), [set]);
  return (
    <Section title={words.history}>
      <OperationTable
        filter={{ deviceId, ...(fragment === undefined ? {} : { fragmentType: fragment }) }}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        open={operation}
        onOpen={open}
        empty={<p>{words.noHistory}</p>}
      />
    </Section>
  );
}
