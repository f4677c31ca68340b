/** Events as they arrive: the last thousand are kept, the newest hundred are shown, a few times a second. */
import { Pause, Play } from 'lucide';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { changeOf, useLive } from '../../core/live/live.ts';
import type { DeviceEvent, EventFilter } from '../../core/server/event.ts';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import { eventColumns } from './columns.tsx';
import { words as eventWords } from './text.ts';

const KEPT_MAX = 1_000;
const SHOWN_MAX = 100;
const DRAW_MS = 250;

/** Whether an event that came live belongs to the list. */
export const matches = (event: DeviceEvent, { type = '', source = '' }: EventFilter): boolean =>
  (type === '' || event.type === type) && (source === '' || event.source.id === source);

export function EventStream({ filter, hasSource }: { readonly filter: EventFilter; readonly hasSource: boolean }) {
  const words = eventWords();
  const kept = useRef<DeviceEvent[]>([]);
  const [shown, setShown] = useState<readonly DeviceEvent[]>([]);
  const [count, setCount] = useState(0);
  const [isPaused, setPaused] = useState(false);
  const [missed, setMissed] = useState(0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const sincePause = useRef(0);
  const draw = (): void => {
    timer.current = undefined;
    setCount(kept.current.length);
    if (isPausedNow.current) setMissed(sincePause.current);
    else setShown(kept.current.slice(-SHOWN_MAX).reverse());
  };
  const isPausedNow = useRef(isPaused);
  isPausedNow.current = isPaused;
  const source = filter['source'] ?? '';
  useLive([source === '' ? '/events/*' : `/events/${source}`], {
    onMessages: (messages) => {
      const arrived = messages.flatMap((message) => {
        const change = changeOf(message);
        return change?.realtimeAction === 'CREATE' ? [change.data as DeviceEvent] : [];
      });
      const wanted = arrived.filter((event) => matches(event, filter));
      if (wanted.length === 0) return;
      kept.current = [...kept.current, ...wanted].slice(-KEPT_MAX);
      sincePause.current += wanted.length;
      timer.current ??= setTimeout(draw, DRAW_MS);
    },
  });
  useEffect(() => {
    kept.current = [];
    setShown([]);
    setCount(0);
  }, [JSON.stringify(filter)]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const toggle = (): void => {
    sincePause.current = 0;
    setMissed(0);
    if (isPaused) setShown(kept.current.slice(-SHOWN_MAX).reverse());
    setPaused(!isPaused);
  };
  const columns = useMemo(() => eventColumns(words, hasSource), [words, hasSource]);
  return (
    <>
      <div class="row">
        <Button icon={isPaused ? Play : Pause} onClick={toggle}>
          {isPaused ? words.resume : words.pause}
        </Button>
        <span class="muted">{words.kept(count)}</span>
        {isPaused && missed > 0 && <span>{words.pausedNew(missed)}</span>}
      </div>
      {shown.length === 0 ? (
        <Empty title={words.stream}>
          <p>{words.waiting}</p>
        </Empty>
      ) : (
        <Table hasFile={false} label={words.stream} columns={columns} rows={shown} keyOf={({ id }) => id} />
      )}
    </>
  );
}
