/** A scoring thread that does what the record says: it loops or dies. */
import type { Answer, Task } from '../../../src/scoring-workers/protocol.ts';

export default function run(task: Task): Answer {
  const [record = ''] = task.kind === 'apply' ? task.records : [];
  if (record === 'loop') for (;;);
  if (record === 'exit') process.exit(1);
  return { kind: 'texts', texts: [record], predictions: { classes: [], numbers: new Float64Array() } };
}
