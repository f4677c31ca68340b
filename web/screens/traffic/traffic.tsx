/** MQTT traffic as it passes: the server samples and filters, the page keeps the last 500. */
import { ArrowDownToLine, ArrowUpFromLine, Pause, Play, Trash, TriangleAlert } from 'lucide';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../core/api/error.ts';
import { useLive } from '../../core/live/live.ts';
import { href } from '../../core/route.ts';
import { numberText } from '../../core/text/language.ts';
import { choiceParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/fields.tsx';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Page } from '../../parts/page.tsx';
import { Empty, Fault } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Time } from '../../parts/time.tsx';
import { words as titles } from './titles.ts';
import { words as trafficWords } from './text.ts';
import type { TrafficTexts } from './text.ts';
import { NOTHING, channelOf, rowsOf, withBatches } from './messages.ts';
import type { Kept, TrafficBatch, TrafficKind } from './messages.ts';

const SHAPE = {
  client: textParameter(),
  device: textParameter(),
  topic: textParameter(),
  kind: choiceParameter(['', 'in', 'out', 'error']),
};
const KINDS = ['', 'in', 'out', 'error'] as const;
const DRAW_MS = 250;
const SHOWN_MAX = 100;
const ICONS = { in: ArrowUpFromLine, out: ArrowDownToLine, error: TriangleAlert } as const satisfies Record<
  TrafficKind,
  unknown
>;

/** `#` stands alone at the end, `+` alone in its level. */
const isTopicFilter = (topic: string): boolean =>
  topic
    .split('/')
    .every(
      (level, index, { length }) => level === '+' || (level === '#' && index === length - 1) || !/[+#]/.test(level),
    );

function Content({ message }: { readonly message: Kept }) {
  const words = trafficWords();
  const { error, payload } = message;
  if (error !== undefined)
    return (
      <>
        <span class="mono">{error.code}</span> {error.message}
      </>
    );
  if (payload === undefined) return <span class="muted">{words.hidden}</span>;
  const rows = rowsOf(message);
  if (rows === undefined) return <code class="traffic-text">{payload}</code>;
  return (
    <>
      {rows.map(({ id, rest }, index) => (
        <div key={index}>
          {words.rows[id] && <strong>{words.rows[id]} </strong>}
          <code class="traffic-text">{[id, rest].filter(Boolean).join(',')}</code>
        </div>
      ))}
    </>
  );
}

const columnsOf = (words: TrafficTexts): readonly Column<Kept>[] => [
  {
    id: 'time',
    title: words.time,
    isHeading: true,
    cell: ({ time }) => <Time value={time} />,
  },
  {
    id: 'kind',
    title: words.kind,
    cell: ({ kind }) => (
      <span class="row">
        <Icon icon={ICONS[kind]} />
        {words.kinds[kind]}
      </span>
    ),
  },
  {
    id: 'client',
    title: words.clientId,
    cell: ({ clientId, source }) =>
      source === undefined ? (
        <span class="mono">{clientId}</span>
      ) : (
        <a class="mono" href={href('/devices/:id', { id: source.id })}>
          {clientId}
        </a>
      ),
  },
  { id: 'topic', title: words.topicName, cell: ({ topic }) => topic && <span class="mono">{topic}</span> },
  { id: 'payload', title: words.payload, cell: (message) => <Content message={message} /> },
  { id: 'qos', title: words.qos, isEnd: true, cell: ({ qos }) => qos ?? '' },
  {
    id: 'size',
    title: words.size,
    isEnd: true,
    text: ({ size = '' }) => size,
    cell: ({ size }) => (size === undefined ? '' : numberText(size)),
  },
  { id: 'node', title: words.node, cell: ({ node }) => node },
];

/** What came of the channel, drawn four times a second at most, and not while paused. */
function useTraffic(channel: string, isPaused: boolean) {
  const kept = useRef(NOTHING);
  const [drawn, setDrawn] = useState(NOTHING);
  const [refusal, setRefusal] = useState<string>();
  const [matchedAtPause, setMatchedAtPause] = useState(0);
  /** Shown while paused. */
  const [frozen, setFrozen] = useState<readonly Kept[]>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const draw = (): void => {
    timer.current = undefined;
    setDrawn(kept.current);
  };
  const empty = (): void => {
    kept.current = NOTHING;
    setMatchedAtPause(0);
    setFrozen((rows) => (rows === undefined ? undefined : []));
    draw();
  };
  useLive(channel === '' ? [] : [channel], {
    onMessages: (messages) => {
      kept.current = withBatches(
        kept.current,
        messages.map(({ data }) => data as TrafficBatch),
      );
      timer.current ??= setTimeout(draw, DRAW_MS);
    },
    onDenied: setRefusal,
  });
  useEffect(() => {
    setRefusal(undefined);
    empty();
  }, [channel]);
  useEffect(() => {
    setMatchedAtPause(kept.current.matched);
    setFrozen(isPaused ? kept.current.kept : undefined);
  }, [isPaused]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return { ...drawn, kept: frozen ?? drawn.kept, sincePause: drawn.matched - matchedAtPause, refusal, empty };
}

export default function TrafficScreen() {
  const words = trafficWords();
  const [filter, set] = useUrlState(SHAPE);
  const [isPaused, setPaused] = useState(false);
  const isGood = isTopicFilter(filter.topic);
  const { kept, matched, dropped, sincePause, refusal, empty } = useTraffic(isGood ? channelOf(filter) : '', isPaused);
  const columns = useMemo(() => columnsOf(words), [words]);
  const hasFilter = Object.values(filter).some((value) => value !== '');
  return (
    <Page copy={undefined} title={titles().title}>
      <p class="field-hint section">{words.about}</p>
      <FilterBar
        onClear={hasFilter ? () => set({ client: '', device: '', topic: '', kind: '' }, { isStep: true }) : undefined}
      >
        <SlowTextField label={words.client} value={filter.client} onChange={(client) => set({ client })} />
        <SlowTextField label={words.device} value={filter.device} onChange={(device) => set({ device })} />
        <SlowTextField
          label={words.topic}
          value={filter.topic}
          onChange={(topic) => set({ topic })}
          error={isGood ? undefined : words.badTopic}
          isMono
        />
        <SelectField
          label={words.kind}
          value={filter.kind}
          options={KINDS.map((value) => ({ value, text: words.kinds[value] }))}
          onChange={(kind) => set({ kind }, { isStep: true })}
        />
      </FilterBar>
      <div class="row section">
        <Button icon={isPaused ? Play : Pause} onClick={() => setPaused(!isPaused)}>
          {isPaused ? words.resume : words.pause}
        </Button>
        <Button kind="quiet" icon={Trash} onClick={empty}>
          {words.empty}
        </Button>
        <span class="muted">{words.matched(matched)}</span>
        {dropped > 0 && <span>{words.dropped(dropped)}</span>}
        {isPaused && sincePause > 0 && <span>{words.pausedNew(sincePause)}</span>}
      </div>
      {refusal !== undefined ? (
        <Fault
          error={
            new ApiError({ status: 403, error: '', message: refusal, method: 'SUBSCRIBE', url: channelOf(filter) })
          }
        />
      ) : kept.length === 0 ? (
        <Empty title={titles().title}>
          <p>{words.waiting}</p>
        </Empty>
      ) : (
        <Table
          label={titles().title}
          columns={columns}
          rows={kept.slice(0, SHOWN_MAX)}
          keyOf={({ key }) => String(key)}
        />
      )}
    </Page>
  );
}
