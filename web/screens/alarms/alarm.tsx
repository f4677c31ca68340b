/** One alarm: what it says, what was done to it, and its JSON. */
import { pathOf } from '../../core/api/json.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { useLive } from '../../core/live/live.ts';
import { useSoon } from '../../core/live/pace.ts';
import { href } from '../../core/route.ts';
import type { ScreenProps } from '../../core/route.ts';
import { ALARM_STATUSES, readAlarmText } from '../../core/server/alarm.ts';
import type { Alarm, AlarmStatus } from '../../core/server/alarm.ts';
import { numberText } from '../../core/text/language.ts';
import { SeverityBadge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { JsonView } from '../../parts/json.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Empty, Fault, FormFault, Loading } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import { Time } from '../../parts/time.tsx';
import { ALARM_ADMIN, changeAlarms } from './change.ts';
import { words as alarmWords } from './text.ts';

interface AuditRecord {
  readonly id: string;
  readonly time: string;
  readonly user?: string;
  readonly text?: string;
  readonly activity?: string;
}

interface AlarmWithHistory extends Alarm {
  readonly history?: { readonly auditRecords?: readonly AuditRecord[] };
}

function History({ records }: { readonly records: readonly AuditRecord[] }) {
  const words = alarmWords();
  if (records.length === 0) return <p class="muted">{words.noHistory}</p>;
  return (
    <Table
      label={words.history}
      columns={[
        { id: 'time', title: words.time, isNarrow: true, cell: ({ time }) => <Time value={time} hasAge /> },
        { id: 'text', title: words.activity, isHeading: true, cell: ({ text, activity }) => text ?? activity ?? '' },
        { id: 'user', title: words.user, isNarrow: true, cell: ({ user }) => user ?? '' },
      ]}
      rows={records}
      keyOf={({ id }) => id}
    />
  );
}

function Facts({ alarm }: { readonly alarm: Alarm }) {
  const words = alarmWords();
  return (
    <dl class="facts">
      <dt>{words.status}</dt>
      <dd>{words.statuses[alarm.status]}</dd>
      <dt>{words.source}</dt>
      <dd>
        <a href={href('/devices/:id/alarms', { id: alarm.source.id })}>{alarm.source.name ?? alarm.source.id}</a>
      </dd>
      <dt>{words.type}</dt>
      <dd>
        <span class="mono">{alarm.type}</span>
        <CopyButton text={alarm.type} />
      </dd>
      <dt>{words.time}</dt>
      <dd>
        <Time value={alarm.time} hasAge />
      </dd>
      {alarm.firstOccurrenceTime !== undefined && (
        <>
          <dt>{words.first}</dt>
          <dd>
            <Time value={alarm.firstOccurrenceTime} hasAge />
          </dd>
        </>
      )}
      <dt>{words.count}</dt>
      <dd>{numberText(alarm.count ?? 1)}</dd>
    </dl>
  );
}

export default function AlarmScreen({ params }: ScreenProps) {
  const words = alarmWords();
  const id = params['id'];
  const loaded = useLoaded((signal) => readAlarmText(id, signal), [id]);
  const alarm = loaded.data === undefined ? undefined : (JSON.parse(loaded.data) as AlarmWithHistory);
  const reload = useSoon(loaded.reload);
  useLive(alarm === undefined ? [] : [`/alarms/${alarm.source.id}`], {
    onMessages: (messages) =>
      messages.some(({ data }) => (data as { data?: { id?: string } } | undefined)?.data?.id === id) && reload(),
    onGap: loaded.reload,
  });
  const change = useAction(async (status: AlarmStatus) => {
    if (alarm !== undefined) await changeAlarms([alarm], status, loaded.reload);
  });
  const crumbs = [{ text: words.title, href: href('/alarms') }];
  const copy = { path: pathOf`/alarm/alarms/${id}` };
  const { error } = loaded;
  const fault = error && <Fault error={error} retry={loaded.reload} />;
  if (alarm === undefined || loaded.data === undefined || error?.status === 404)
    return (
      <Page title={words.one} crumbs={crumbs} copy={copy}>
        {error?.status === 404 ? (
          <Empty title={words.gone}>
            <p>{error.message}</p>
          </Empty>
        ) : (
          (fault ?? <Loading />)
        )}
      </Page>
    );
  return (
    <Page
      copy={copy}
      title={alarm.text === '' ? alarm.type : alarm.text}
      crumbs={crumbs}
      beside={<SeverityBadge severity={alarm.severity} />}
      actions={
        <>
          {ALARM_STATUSES.toReversed()
            .filter((status) => status !== alarm.status)
            .map((status) => (
              <Button
                key={status}
                roles={ALARM_ADMIN}
                isBusy={change.isRunning}
                onClick={() => void change.run(status)}
              >
                {words.verbs[status]}
              </Button>
            ))}
        </>
      }
    >
      {fault}
      <FormFault error={change.error} />
      <div class="columns">
        <div>
          <Section title={words.one}>
            <Facts alarm={alarm} />
          </Section>
          <Section title={words.history}>
            <History records={[...(alarm.history?.auditRecords ?? [])].reverse()} />
          </Section>
        </div>
        <Section title={words.json}>
          <JsonView text={loaded.data} label={words.json} />
        </Section>
      </div>
    </Page>
  );
}
