/** The difference of two texts by lines; unchanged lines far from a change are left out. */
import { diffLines } from 'diff';
import { useMemo } from 'preact/hooks';
import { words as differenceWords } from './text.ts';

/** Changed lines, of more the difference is not looked for: it would hold up the page. */
const EDITS_MAX = 5_000;
/** Unchanged lines that stand before and after a change. */
const CONTEXT = 3;

export interface DifferenceLine {
  readonly kind: 'added' | 'removed' | 'same' | 'skipped';
  readonly text: string;
  /** Lines that this one stands for. */
  readonly count: number;
}

/** @returns undefined for texts that differ in too many lines, [] for equal ones. */
export function differenceOf(before: string, after: string): readonly DifferenceLine[] | undefined {
  if (before === after) return [];
  // An end without a line break is not a change of the last line.
  const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
  const changes = diffLines(ended(before), ended(after), { maxEditLength: EDITS_MAX });
  if (changes === undefined) return undefined;
  return changes.flatMap(({ value, added, removed }, index): DifferenceLine[] => {
    const lines = value.replace(/\n$/, '').split('\n');
    const kind = added ? 'added' : removed ? 'removed' : 'same';
    const all = lines.map((text): DifferenceLine => ({ kind, text, count: 1 }));
    const [head, tail] = [index === 0 ? 0 : CONTEXT, index === changes.length - 1 ? 0 : CONTEXT];
    const skipped = lines.length - head - tail;
    if (kind !== 'same' || skipped <= 1) return all;
    return [
      ...all.slice(0, head),
      { kind: 'skipped', text: '', count: skipped },
      ...(tail === 0 ? [] : all.slice(-tail)),
    ];
  });
}

const MARKS = { added: '+', removed: '−', same: ' ', skipped: '⋯' } as const;

export function Difference({ before, after }: { readonly before: string; readonly after: string }) {
  const words = differenceWords();
  const lines = useMemo(() => differenceOf(before, after), [before, after]);
  if (lines === undefined) return <p>{words.tooDifferent}</p>;
  if (lines.length === 0) return <p class="muted">{words.same}</p>;
  const count = (kind: DifferenceLine['kind']): number => lines.filter((line) => line.kind === kind).length;
  return (
    <>
      <p class="muted small">
        {words.added(count('added'))}, {words.removed(count('removed'))}
      </p>
      <div class="code">
        <pre tabIndex={0} role="region" aria-label={words.difference}>
          {lines.map(({ kind, text, count: many }, index) => (
            <span key={index} class={`difference difference-${kind}`}>
              {MARKS[kind]} {kind === 'skipped' ? words.unchanged(many) : text}
              {'\n'}
            </span>
          ))}
        </pre>
      </div>
    </>
  );
}
