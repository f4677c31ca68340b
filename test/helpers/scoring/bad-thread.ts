/** A scoring thread that does what the record says: it loops, dies or takes all memory. */
import type { Answer, Task } from '../../../src/scoring-workers/protocol.ts';

export default function run(task: Task): Answer {
  const [record = ''] = task.kind === 'apply' ? task.records : [];
  if (record === 'loop') for (;;);
  if (record === 'exit') process.exit(1);
  if (record === 'throw') throw new Error('a fault');
  const held: number[][] = [];
  while (record === 'memory') held.push(Array.from({ length: 100_000 }, (_, index) => index + 0.5));
  return { kind: 'texts', texts: [record], predictions: { classes: [], numbers: new Float64Array() } };
}
