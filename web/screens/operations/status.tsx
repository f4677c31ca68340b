/** The status of an operation as shape and word. */
import { words } from './text.ts';
import type { OperationStatus } from './operation.ts';

/** Paths in a square of 16: a ring, a half-filled ring, a tick, a cross. */
const SHAPES: Readonly<Record<OperationStatus, string>> = {
  PENDING: 'M8 1a7 7 0 1 0 .01 0zM8 3a5 5 0 1 1-.01 0z',
  EXECUTING: 'M8 1a7 7 0 1 0 .01 0zM8 3a5 5 0 0 1 0 10z',
  SUCCESSFUL: 'M6.2 13.4.9 8.1l1.9-1.9 3.4 3.4 7-7 1.9 1.9z',
  FAILED: 'M3.1 1.2 8 6.1l4.9-4.9 1.9 1.9L9.9 8l4.9 4.9-1.9 1.9L8 9.9l-4.9 4.9-1.9-1.9L6.1 8 1.2 3.1z',
};

export function OperationState({ status }: { readonly status: OperationStatus }) {
  return (
    <span class={`connection operation-${status}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={SHAPES[status]} fill="currentColor" fill-rule="evenodd" />
      </svg>
      {words().statuses[status]}
    </span>
  );
}
