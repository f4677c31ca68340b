/** Health, lag of each stage, queues, limits that refused something, slow consumers: the page reads them every 2 s. */
import { CircleCheck, CircleX } from 'lucide';
import { usePoll } from '../../core/api/poll.ts';
import { useLoaded } from '../../core/api/request.ts';
import { readAbout } from '../../core/server/about.ts';
import { href } from '../../core/route.ts';
import { limitOf, readLimits } from '../../core/server/limits.ts';
import { numberText } from '../../core/text/language.ts';
import { bytesText, durationText } from '../../core/text/units.ts';
import { Icon } from '../../parts/icon.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Sparkline } from '../../parts/sparkline.tsx';
import { Fault, Loading } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Consumers } from './consumers.tsx';
import { SAMPLE_EVERY_MS, lagOf, ratesOf, readState, samples } from './metrics.ts';
import type { Metric, Node, Part, ServerState, Status } from './metrics.ts';
import { words as operateWords } from './text.ts';

const ONE_DIGIT = { maximumFractionDigits: 1 };

function Card({ title, value, values }: { readonly title: string; readonly value: string; readonly values: number[] }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <p class="number">{value}</p>
      <Sparkline values={values} />
    </section>
  );
}

function Cards() {
  const words = operateWords();
  const kept = samples.value;
  const last = kept.at(-1);
  const rates = ratesOf(kept);
  if (last === undefined) return null;
  const minutes = Math.max(1, Math.round((last.atMs - kept[0].atMs) / 60_000));
  return (
    <>
      <div class="cards">
        <Card title={words.messages} value={numberText(rates.at(-1) ?? 0, ONE_DIGIT)} values={rates} />
        <Card title={words.lag} value={numberText(last.lagRecords)} values={kept.map(({ lagRecords }) => lagRecords)} />
        <Card
          title={words.connections}
          value={numberText(last.connections)}
          values={kept.map(({ connections }) => connections)}
        />
        <Card
          title={words.memory}
          value={bytesText(last.memoryBytes)}
          values={kept.map(({ memoryBytes }) => memoryBytes)}
        />
      </div>
      <p class="field-hint section">{words.minutes(minutes)}</p>
    </>
  );
}

const factText = (name: string, value: unknown): string => {
  if (typeof value !== 'number') return typeof value === 'object' ? JSON.stringify(value) : String(value);
  return name.endsWith('Bytes') ? bytesText(value) : numberText(value);
};

function Stages({ parts }: { readonly parts: Status['parts'] }) {
  const words = operateWords();
  const rows = Object.entries(parts);
  type Row = readonly [string, Part];
  const columns: readonly Column<Row>[] = [
    { id: 'stage', title: words.stage, isHeading: true, cell: ([name]) => words.stageNames[name] ?? name },
    {
      id: 'state',
      title: words.state,
      cell: ([, { ready }]) => (
        <span class="row">
          <Icon icon={ready ? CircleCheck : CircleX} />
          {ready ? words.isReady : words.isNotReady}
        </span>
      ),
    },
    {
      id: 'lag',
      title: words.lag,
      isEnd: true,
      text: ([, { lagRecords = '' }]) => lagRecords,
      cell: ([, { lagRecords }]) => (lagRecords === undefined ? '' : numberText(lagRecords)),
    },
    {
      id: 'facts',
      title: words.facts,
      cell: ([, { ready: _, lagRecords: __, ...facts }]) =>
        Object.entries(facts)
          .map(([name, value]) => `${words.factNames[name] ?? name}: ${factText(name, value)}`)
          .join(' · '),
    },
  ];
  return (
    <Section title={words.stages}>
      <Table label={words.stages} columns={columns} rows={rows} keyOf={([name]) => name} />
    </Section>
  );
}

/** Nodes of a cluster; the page is of the one that has answered. */
function Nodes({ nodes }: { readonly nodes: readonly Node[] }) {
  const words = operateWords();
  const number = (value: number | undefined): string => (value === undefined ? '' : numberText(value));
  const columns: readonly Column<Node>[] = [
    { id: 'node', title: words.nodeName, isHeading: true, cell: ({ node }) => node },
    {
      id: 'state',
      title: words.state,
      cell: ({ state, notReady = [] }) => (
        <span class="row">
          <Icon icon={state === 'ready' ? CircleCheck : CircleX} />
          {words.nodeStates[state]}
          {notReady.length > 0 && `: ${notReady.join(', ')}`}
        </span>
      ),
    },
    { id: 'lag', title: words.lagGroups, isEnd: true, cell: ({ lag }) => number(lag) },
    { id: 'connections', title: words.connections, isEnd: true, cell: ({ connections }) => number(connections) },
    { id: 'shards', title: words.shards, isEnd: true, cell: ({ shards }) => number(shards) },
    { id: 'roles', title: words.roles, cell: ({ roles }) => roles.join(', ') },
    {
      id: 'uptime',
      title: words.uptime,
      cell: ({ uptimeSeconds }) => (uptimeSeconds === undefined ? '' : durationText(uptimeSeconds)),
    },
    { id: 'version', title: words.version, cell: ({ version }) => version },
  ];
  return (
    <Section title={words.nodes}>
      <Table label={words.nodes} columns={columns} rows={nodes} keyOf={({ node }) => node} />
    </Section>
  );
}

function Queues({ metrics }: { readonly metrics: readonly Metric[] }) {
  const words = operateWords();
  const rows = metrics.filter(({ name }) => name === 'millrace_queue_size');
  const columns: readonly Column<Metric>[] = [
    { id: 'queue', title: words.queue, isHeading: true, cell: ({ labels }) => labels['queue'] },
    { id: 'size', title: words.size, isEnd: true, text: ({ value }) => value, cell: ({ value }) => numberText(value) },
  ];
  return (
    <Section title={words.queues}>
      <Table label={words.queues} columns={columns} rows={rows} keyOf={({ labels }) => labels['queue']} />
    </Section>
  );
}

const LimitLink = ({ name }: { readonly name: string }) => (
  <a class="mono" href={href('/limits', undefined, { q: name })}>
    {name}
  </a>
);

function Refusals({ refusals }: { readonly refusals: NonNullable<Status['refusals']> }) {
  const words = operateWords();
  type Row = (typeof refusals)[number];
  const limits = useLoaded(() => readLimits(), []);
  /** The page of limits tells of a limit; what has no bound is explained here. */
  const isLimit = ({ limit }: Row): boolean => limits.data !== undefined && limitOf(limits.data, limit) !== undefined;
  const told = (member: 'bounds' | 'bound' | 'beyond') => (row: Row) =>
    limits.data === undefined ? '' : (limitOf(limits.data, row.limit)?.[member] ?? '');
  const kindOf = ({ limit }: Row): string =>
    Object.entries(words.refusalKinds).find(([start]) => limit.startsWith(start))?.[1] ?? '';
  const columns: readonly Column<Row>[] = [
    {
      id: 'limit',
      title: words.limit,
      isHeading: true,
      cell: (row) => (isLimit(row) ? <LimitLink name={row.limit} /> : <span class="mono">{row.limit}</span>),
    },
    {
      id: 'count',
      title: words.count,
      isEnd: true,
      text: ({ count }) => count,
      cell: ({ count }) => numberText(count),
    },
    { id: 'bounds', title: words.bounds, cell: (row) => told('bounds')(row) || kindOf(row) },
    { id: 'bound', title: words.bound, cell: told('bound') },
    { id: 'beyond', title: words.beyond, cell: told('beyond') },
  ];
  return (
    <Section title={words.refusals}>
      {limits.error && <Fault error={limits.error} retry={limits.reload} />}
      {refusals.length === 0 ? (
        <p class="muted">{words.noRefusals}</p>
      ) : (
        <Table label={words.refusals} columns={columns} rows={refusals} keyOf={({ limit }) => limit} />
      )}
    </Section>
  );
}

function State({ status, metrics }: ServerState) {
  const words = operateWords();
  const down = Object.entries(status.parts).flatMap(([name, { ready }]) => (ready ? [] : [name]));
  const lag = lagOf(status.parts);
  return (
    <>
      <p class="row section" role="status">
        <Icon icon={status.ready ? CircleCheck : CircleX} />
        <strong>{status.ready ? words.up : words.down(down.join(', '))}</strong>
        {lag > 0 && <span>{words.behind(lag)}</span>}
      </p>
      <Cards />
      {metrics === undefined && <p class="note section">{words.onlyOperators}</p>}
      {/* Of a single node the page says the same above. */}
      {status.nodes && status.nodes.length > 1 && <Nodes nodes={status.nodes} />}
      <Stages parts={status.parts} />
      {status.refusals && <Refusals refusals={status.refusals} />}
      {metrics && <Queues metrics={metrics} />}
      {status.consumers && <Consumers consumers={status.consumers} />}
    </>
  );
}

function Facts({ status }: { readonly status: Status | undefined }) {
  const words = operateWords();
  const about = useLoaded(readAbout, []).data;
  return (
    <dl class="facts section">
      <dt>{words.node}</dt>
      <dd>{status?.node ?? '–'}</dd>
      <dt>{words.uptime}</dt>
      <dd>{status === undefined ? '–' : durationText(status.uptimeSeconds)}</dd>
      <dt>{words.version}</dt>
      <dd>{about?.version ?? '–'}</dd>
      <dt>{words.shape}</dt>
      <dd>{about?.shape === undefined ? '–' : words.shapes[about.shape]}</dd>
    </dl>
  );
}

export default function ServerScreen() {
  const words = operateWords();
  const loaded = useLoaded(readState, []);
  const { data, error, isLoading } = loaded;
  usePoll(SAMPLE_EVERY_MS, isLoading ? undefined : loaded.reload);
  return (
    <Page copy={[{ path: '/millrace/status' }, { path: '/millrace/about' }]} title={words.server}>
      <Facts status={data?.status} />
      {error && data && <p class="note section">{words.notSeen}</p>}
      {error && <Fault error={error} retry={loaded.reload} />}
      {data ? <State {...data} /> : !error && <Loading />}
    </Page>
  );
}
