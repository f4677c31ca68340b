/** A scoring thread that does what the record, or the name of a resource file, says: it loops or dies. */
import type { Answer, Task } from '../../../src/scoring-workers/protocol.ts';

export default function run(task: Task): Answer {
  if (task.kind === 'inspect') {
    if (task.fileName === 'loop.csv') for (;;);
    return { kind: 'inspected', type: 'Lookup Tables', names: [task.fileName] };
  }
  const [record = ''] = task.kind === 'apply' ? task.records : [];
  if (record === 'loop') for (;;);
  if (record === 'exit') process.exit(1);
  return { kind: 'texts', texts: [record], refusals: [], predictions: { classes: [], numbers: new Float64Array() } };
}
