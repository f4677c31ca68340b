/** The start page: is the server well, what happened last; without devices it is the way to the first one. */
import { CircleCheck, CircleX } from 'lucide';
import { api, got } from '../../core/api/api.ts';
import { getJson, pathOf } from '../../core/api/json.ts';
import { usePoll } from '../../core/api/poll.ts';
import { useLoaded } from '../../core/api/request.ts';
import type { Loaded } from '../../core/api/request.ts';
import { hasRole } from '../../core/api/rights.ts';
import { sendRaw } from '../../core/api/send.ts';
import { tenant } from '../../core/api/session.ts';
import { useLive } from '../../core/live/live.ts';
import { useSoon } from '../../core/live/pace.ts';
import { keepPreferences } from '../../core/login/keep-preferences.ts';
import { notifyError } from '../../core/notices.ts';
import { preferences } from '../../core/preferences.ts';
import { href, queryText } from '../../core/route.ts';
import { SEVERITIES, countBySeverity } from '../../core/server/alarm.ts';
import { countObjects } from '../../core/server/managed-object.ts';
import { numberText } from '../../core/text/language.ts';
import type { Severity } from '../../core/server/alarm.ts';
import { SeverityBadge } from '../../parts/badge.tsx';
import { Button, LinkButton } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Code } from '../../parts/json.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { With } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { words as homeWords } from './text.ts';

const RECENT = 5;
const POLL_MS = 10_000;
const DEVICES = { fragmentType: 'c8y_IsDevice' };

/** Each number and list of the page. */
const COPY = [
  '/health/ready',
  `/inventory/managedObjects/count${queryText(DEVICES)}`,
  '/alarm/alarms/count?status=ACTIVE',
  `/alarm/alarms?pageSize=${RECENT}`,
  `/event/events?pageSize=${RECENT}`,
].map((path) => ({ path }));

interface Recent {
  readonly id: string;
  readonly time: string;
  readonly text: string;
  readonly severity?: Severity;
  readonly source: { readonly id: string; readonly name?: string };
}

interface Steps {
  readonly isReady: boolean;
  readonly hasDevice: boolean;
  readonly hasData: boolean;
  readonly hasUser: boolean;
}

interface Health {
  readonly ready: boolean;
  readonly parts: Readonly<Record<string, { readonly ready: boolean }>>;
}

/** A server that is not ready answers 503, and says which part. */
async function readHealth(signal: AbortSignal): Promise<Health> {
  const answer = await api.GET('/health/ready', { signal });
  const told = answer.error as Health | undefined;
  // A 503 of something else, such as a proxy, has no parts.
  return told?.parts === undefined ? ((await got(Promise.resolve(answer))) as Health) : told;
}

async function readRecent(path: string, name: string, signal: AbortSignal): Promise<readonly Recent[]> {
  const answer = await (await sendRaw(`${path}pageSize=${RECENT}`, { signal })).json();
  return answer[name] as Recent[];
}

function HealthCard({ health }: { readonly health: Loaded<Health> }) {
  const words = homeWords();
  return (
    <section class="card">
      <h2>{words.server}</h2>
      <With loaded={health}>
        {({ ready, parts }) => {
          const down = Object.entries(parts).filter(([, part]) => !part.ready);
          return (
            <p class="row">
              <Icon icon={ready ? CircleCheck : CircleX} />
              <span>{ready ? words.up : words.partsDown(down.map(([name]) => name))}</span>
            </p>
          );
        }}
      </With>
    </section>
  );
}

function RecentList({ title, loaded, none }: { title: string; loaded: Loaded<readonly Recent[]>; none: string }) {
  return (
    <Section title={title}>
      <With loaded={loaded}>
        {(entries) =>
          entries.length === 0 ? (
            <p class="muted">{none}</p>
          ) : (
            <ul class="stack">
              {entries.map(({ id, time, text, severity, source }) => (
                <li key={id} class="row">
                  <Time value={time} />
                  {severity && <SeverityBadge severity={severity} />}
                  <span>{text}</span>
                  <a href={href('/devices/:id', { id: source.id })}>{source.name ?? source.id}</a>
                </li>
              ))}
            </ul>
          )
        }
      </With>
    </Section>
  );
}

/** As docs/guide/backup.md has it. */
const BACKUP = 'millrace backup backup-1';

/** Shown until they are done or sent away. */
function FirstSteps({ isReady, hasDevice, hasData, hasUser }: Steps) {
  const { steps, firstTitle, dismiss } = homeWords();
  const cards = [
    { title: steps.server, text: steps.serverText, isDone: isReady },
    { title: steps.device, text: steps.deviceText, isDone: hasDevice, target: href('/devices/new') },
    { title: steps.data, text: steps.dataText, isDone: hasData },
    { title: steps.user, text: steps.userText, isDone: hasUser, target: href('/admin/users'), code: BACKUP },
  ];
  const next = cards.findIndex(({ isDone, target }) => !isDone && target !== undefined);
  return (
    <Section
      title={firstTitle}
      actions={
        <Button kind="quiet" onClick={() => keepPreferences({ hasSteps: false }).catch(notifyError)}>
          {dismiss}
        </Button>
      }
    >
      <ol class="cards">
        {cards.map(({ title, text, isDone, target, code }, index) => (
          <li key={title} class="card">
            <h3>
              {index + 1} · {title}
              {isDone && ' ✓'}
            </h3>
            <p>{text}</p>
            {code && <Code text={code} label={steps.backupLabel} />}
            {target && (
              <LinkButton href={target} {...(index === next ? { kind: 'main' } : {})}>
                {title}
              </LinkButton>
            )}
          </li>
        ))}
      </ol>
    </Section>
  );
}

const ALL_DEVICES = ['ROLE_INVENTORY_READ', 'ROLE_MANAGED_OBJECT_READ'];
const USERS = ['ROLE_USER_MANAGEMENT_READ', 'ROLE_USER_MANAGEMENT_CREATE', 'ROLE_USER_MANAGEMENT_ADMIN'];

/** Whether the tenant has a second user, beside those of devices. */
async function hasSecondUser(signal: AbortSignal): Promise<boolean> {
  const path = pathOf`/user/${tenant.peek()?.name ?? ''}/users`;
  return (await getJson<{ users: readonly unknown[] }>(`${path}?pageSize=2`, signal)).users.length > 1;
}

const hasMeasurement = async (signal: AbortSignal): Promise<boolean> =>
  (await getJson<{ measurements: readonly unknown[] }>('/measurement/measurements?pageSize=1', signal)).measurements
    .length > 0;

export default function Home() {
  const words = homeWords();
  const health = useLoaded(readHealth, []);
  const devices = useLoaded((signal) => countObjects(DEVICES, signal), []);
  const counts = useLoaded((signal) => countBySeverity({ status: 'ACTIVE' }, signal), []);
  const alarms = useLoaded((signal) => readRecent('/alarm/alarms?', 'alarms', signal), []);
  const events = useLoaded((signal) => readRecent('/event/events?', 'events', signal), []);
  const areWanted = preferences.value.hasSteps;
  const second = useLoaded(areWanted && hasRole(...USERS) ? hasSecondUser : undefined, []);
  // Who does not see all devices is not told that there are none.
  const isNew = devices.data === 0 && hasRole(...ALL_DEVICES);
  const isShown = areWanted && (isNew || second.data === false);
  const measured = useLoaded(isShown ? hasMeasurement : undefined, []);
  const reloadAlarms = useSoon(() => {
    alarms.reload();
    counts.reload();
  });
  const reloadEvents = useSoon(events.reload);
  const isPolled = [
    useLive(['/alarms/*'], { onMessages: reloadAlarms, onGap: reloadAlarms }),
    useLive(['/events/*'], { onMessages: reloadEvents, onGap: reloadEvents }),
  ].some(Boolean);
  usePoll(POLL_MS, () => {
    health.reload();
    if (isShown) for (const one of [devices, second, measured]) one.reload();
    if (!isPolled) return;
    reloadAlarms();
    reloadEvents();
  });
  return (
    <Page copy={COPY} title={words.title}>
      {isShown && (
        <FirstSteps
          isReady={health.data?.ready === true}
          hasDevice={(devices.data ?? 0) > 0}
          hasData={measured.data === true || (events.data ?? []).length > 0 || (alarms.data ?? []).length > 0}
          hasUser={second.data === true}
        />
      )}
      <div class="cards section">
        <HealthCard health={health} />
        <section class="card">
          <h2>{words.devices}</h2>
          <With loaded={devices}>
            {(count) => (
              <a class="number" href={href('/devices')} aria-label={words.count(count)}>
                {numberText(count)}
              </a>
            )}
          </With>
        </section>
        <section class="card">
          <h2>{words.alarms}</h2>
          <With loaded={counts}>
            {(found) => {
              const some = SEVERITIES.filter((severity) => found[severity] > 0);
              // Who may not list them counts none.
              return some.length === 0 ? (
                <p class="muted">{alarms.error === undefined ? words.noAlarms : '–'}</p>
              ) : (
                <p class="row">
                  {some.map((severity) => (
                    <SeverityBadge key={severity} severity={severity} count={found[severity]} />
                  ))}
                </p>
              );
            }}
          </With>
        </section>
      </div>
      <div class="columns columns-even">
        <RecentList title={words.recentAlarms} loaded={alarms} none={words.noAlarms} />
        <RecentList title={words.recentEvents} loaded={events} none={words.noEvents} />
      </div>
    </Page>
  );
}
