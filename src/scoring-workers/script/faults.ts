/** From the answer of the runner in Python to the result or the fault of a task. */
import type { TaskFault } from '../processes/serve.ts';
import type { FaultKind } from '../processes/protocol.ts';
import type { RunnerAnswer } from './tasks.ts';

export class ScriptFault extends Error {
  readonly kind: FaultKind;
  /** Whether the interpreter has ended with it. */
  readonly isLast: boolean;

  constructor(kind: FaultKind, text: string, isLast = false) {
    super(text);
    this.kind = kind;
    this.isLast = isLast;
  }
}

/** @throws ScriptFault with what the runner says. */
export function resultOf(answer: string): unknown {
  const read = JSON.parse(answer) as RunnerAnswer;
  if ('fault' in read) throw new ScriptFault(read.fault, read.text);
  return read.result;
}

export function faultOf(error: unknown): TaskFault {
  if (error instanceof ScriptFault) return { kind: error.kind, text: error.message, isLast: error.isLast };
  return { kind: 'internal', text: error instanceof Error ? error.message : String(error) };
}
