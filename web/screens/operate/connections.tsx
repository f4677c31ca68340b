/** Who is connected over MQTT, on all nodes; clients that messages wait for stand out. */
import { getJson } from '../../core/api/json.ts';
import { usePoll } from '../../core/api/poll.ts';
import { href, queryText } from '../../core/route.ts';
import { pagePath } from '../../core/server/collection.ts';
import { numberText } from '../../core/text/language.ts';
import { numberParameter, textParameter, useUrlState } from '../../core/url-state.ts';
import { useState } from 'preact/hooks';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { ListPage } from '../../parts/list/list-page.tsx';
import { useList } from '../../parts/list/list.ts';
import { Page } from '../../parts/page.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Time } from '../../parts/time.tsx';
import { words as operateWords } from './text.ts';
import type { OperateTexts } from './text.ts';

const SHAPE = { text: textParameter(), page: numberParameter(1, { minimum: 1 }) };
const PATH = '/millrace/connections';
const EVERY_MS = 5_000;

interface Connection {
  readonly clientId: string;
  readonly user: string;
  readonly source?: { readonly id: string };
  readonly address: string;
  readonly transport: string;
  readonly protocolVersion: string;
  readonly since: string;
  readonly subscriptions: number;
  readonly inFlight: number;
  readonly queued: number;
  readonly node: string;
}

interface Connections {
  readonly connections: readonly Connection[];
  readonly silentNodes: readonly string[];
  readonly statistics: { readonly totalElements?: number };
}

const columnsOf = (words: OperateTexts): readonly Column<Connection>[] => [
  { id: 'client', title: words.client, isHeading: true, cell: ({ clientId }) => <span class="mono">{clientId}</span> },
  { id: 'user', title: words.user, cell: ({ user }) => user },
  {
    id: 'device',
    title: words.device,
    cell: ({ source }) => source && <a href={href('/devices/:id', { id: source.id })}>{source.id}</a>,
  },
  { id: 'address', title: words.address, cell: ({ address }) => <span class="mono">{address}</span> },
  {
    id: 'protocol',
    title: words.protocol,
    cell: ({ protocolVersion, transport }) => `MQTT ${protocolVersion} · ${transport}`,
  },
  { id: 'since', title: words.since, cell: ({ since }) => <Time value={since} hasAge /> },
  {
    id: 'subscriptions',
    title: words.subscriptions,
    isEnd: true,
    text: ({ subscriptions }) => subscriptions,
    cell: ({ subscriptions }) => numberText(subscriptions),
  },
  {
    id: 'inFlight',
    title: words.inFlight,
    isEnd: true,
    text: ({ inFlight }) => inFlight,
    cell: ({ inFlight }) => numberText(inFlight),
  },
  {
    id: 'queued',
    title: words.queued,
    isEnd: true,
    text: ({ queued }) => queued,
    cell: ({ queued }) =>
      queued === 0 ? (
        '0'
      ) : (
        <strong title={words.slow}>
          {numberText(queued)} · {words.slow}
        </strong>
      ),
  },
  { id: 'node', title: words.node, cell: ({ node }) => node },
];

const keyOf = ({ node, clientId }: Connection): string => `${node} ${clientId}`;

export default function Connections() {
  const words = operateWords();
  const [{ text, page }, set] = useUrlState(SHAPE);
  const [silent, setSilent] = useState<readonly string[]>([]);
  const filter = text === '' ? {} : { text };
  const list = useList({
    load: async (number, signal, size) => {
      const answer = await getJson<Connections>(pagePath(PATH, number, filter, size), signal);
      setSilent(answer.silentNodes);
      return answer.connections;
    },
    count: async (signal) => {
      const query = queryText({ ...filter, pageSize: 1, withTotalElements: 'true' });
      return (await getJson<Connections>(PATH + query, signal)).statistics.totalElements;
    },
    keyOf,
    page,
    inputs: [text],
  });
  usePoll(EVERY_MS, list.isLoading ? undefined : list.reload);
  const clear = (): void => set({ text: '', page: 1 }, { isStep: true });
  return (
    <Page copy={{ path: pagePath(PATH, page, filter) }} title={words.connections}>
      <FilterBar onClear={text === '' ? undefined : clear}>
        <SlowTextField
          class="field-wide"
          label={words.filter}
          value={text}
          onChange={(value) => set({ text: value, page: 1 })}
        />
      </FilterBar>
      {silent.length > 0 && <p class="note">{words.silent(silent.join(', '))}</p>}
      <ListPage
        label={words.connections}
        list={list}
        columns={columnsOf(words)}
        keyOf={keyOf}
        page={page}
        onPage={(value) => set({ page: value }, { isStep: true })}
        hasFilters={text !== ''}
        onClearFilters={clear}
        empty={<p>{words.noConnections}</p>}
      />
    </Page>
  );
}
