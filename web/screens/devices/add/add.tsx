/** Adds a device: makes it with real credentials, shows a complete command, and the first message as it arrives. */
import { Play, Trash2 } from 'lucide';
import { useEffect, useState } from 'preact/hooks';
import { api, got } from '../../../core/api/api.ts';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import { tenant } from '../../../core/api/session.ts';
import { randomText } from '../../../core/clipboard.ts';
import { changeOf, useLive } from '../../../core/live/live.ts';
import { publishAsDevice } from '../../../core/live/mqtt.ts';
import { notify } from '../../../core/notices.ts';
import { SERVER_URL, socketUrl } from '../../../core/places.ts';
import { href } from '../../../core/route.ts';
import { readAbout } from '../../../core/server/about.ts';
import { Button, LinkButton } from '../../../parts/button.tsx';
import { CopyButton } from '../../../parts/copy.tsx';
import { Confirm } from '../../../parts/dialog.tsx';
import { Form, TextField } from '../../../parts/fields.tsx';
import { Code } from '../../../parts/json.tsx';
import { Page, Section } from '../../../parts/page.tsx';
import { FormFault } from '../../../parts/states.tsx';
import { Tabs } from '../../../parts/tabs.tsx';
import { Time } from '../../../parts/time.tsx';
import { words as deviceWords } from '../text.ts';
import { deviceWith, registerDevice } from './register.ts';
import { SNIPPETS, canReach, deviceUser, snippetOf } from './snippets.ts';
import type { DeviceAccess, Snippet } from './snippets.ts';
import { ADD_ROLES } from '../roles.ts';
import { words as addWords } from './text.ts';

const PASSWORD_LENGTH = 20;
const SUFFIX_LENGTH = 6;
const MQTT_PORT = 1883;
/** Messages that are listed. */
const SHOWN_MAX = 20;
const CHECKLIST_MS = 30_000;
const SIMULATED = ['200,c8y_Water,T,61.5,C', '400,c8y_Trial,Hello from the console'];

interface Heard {
  readonly at: number;
  readonly kind: string;
  readonly text: string;
}

/** What a message says, in a line: series with values, or the text. */
function summary(kind: string, data: Readonly<Record<string, unknown>>): string {
  if (kind !== 'measurements') return String(data['text'] ?? data['type'] ?? '');
  return Object.entries(data)
    .filter(([, value]) => typeof value === 'object' && value !== null)
    .flatMap(([fragment, series]) =>
      Object.entries(series as Record<string, { value?: unknown; unit?: string }>)
        .filter(([, one]) => typeof one === 'object' && one?.value !== undefined)
        .map(([name, { value, unit = '' }]) => `${fragment}.${name} ${value} ${unit}`),
    )
    .join(', ');
}

function Messages({ access }: { readonly access: DeviceAccess }) {
  const words = addWords();
  const [heard, setHeard] = useState<readonly Heard[]>([]);
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), CHECKLIST_MS);
    return () => clearTimeout(timer);
  }, [access]);
  useLive(
    ['measurements', 'events', 'alarms'].map((area) => `/${area}/${access.source}`),
    {
      onMessages: (messages) => {
        const found = messages.flatMap((message) => {
          const change = changeOf(message);
          const kind = message.channel.split('/')[1];
          if (change === undefined || change.realtimeAction === 'DELETE') return [];
          return [{ at: Date.now(), kind, text: summary(kind, change.data as Record<string, unknown>) }];
        });
        setHeard((before) => [...found.reverse(), ...before].slice(0, SHOWN_MAX));
      },
    },
  );
  return (
    <Section title={words.messages}>
      <p role="status">{heard.length === 0 ? words.waiting(access.clientId) : `✓ ${words.arrived}`}</p>
      <ul class="stack">
        {heard.map(({ at, kind, text }, index) => (
          <li key={heard.length - index} class="row">
            <Time value={at} />
            <span class="badge">{kind}</span>
            <span>{text}</span>
          </li>
        ))}
      </ul>
      {isLate && heard.length === 0 && (
        <div class="note">
          <h3>{words.checklistTitle}</h3>
          <ul class="stack">
            {words.checklist(access.host, access.mqttPort).map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </div>
      )}
    </Section>
  );
}

function Made({ access, onRemoved }: { readonly access: DeviceAccess; readonly onRemoved: () => void }) {
  const words = addWords();
  const [kind, setKind] = useState<Snippet>('mosquitto');
  const snippet = canReach(kind, access) ? snippetOf(kind, access) : undefined;
  const simulate = useAction(async () => {
    const login = { clientId: access.clientId, user: deviceUser(access), password: access.password };
    await publishAsDevice(socketUrl('/mqtt'), login, SIMULATED);
    notify(words.simulated);
  });
  const [isRemoving, setRemoving] = useState(false);
  const remove = async (): Promise<void> => {
    const query = { cascade: true, withDeviceUser: true };
    await got(
      api.DELETE('/inventory/managedObjects/{id}', { params: { path: { id: access.source }, query: query as never } }),
    );
    notify(words.removed);
    onRemoved();
  };
  return (
    <div class="columns">
      <div>
        <Tabs
          label={words.snippets}
          value={kind}
          onChange={setKind}
          tabs={SNIPPETS.map((value) => ({ value, text: words.kinds[value] }))}
        >
          {snippet === undefined ? (
            <p class="note">{words.needsTls}</p>
          ) : (
            <>
              <Code label={words.command} text={snippet.text} />
              <p class="muted small">
                {words.install}: <code>{snippet.install}</code>
              </p>
            </>
          )}
        </Tabs>
        <Section title={words.password}>
          <div class="row">
            <code>{access.password}</code>
            <CopyButton text={access.password} />
          </div>
          <p class="muted">{words.passwordHint}</p>
        </Section>
      </div>
      <div>
        <Messages access={access} />
        <FormFault error={simulate.error} />
        <div class="row">
          <Button icon={Play} isBusy={simulate.isRunning} onClick={() => void simulate.run()}>
            {words.simulate}
          </Button>
          <LinkButton href={href('/devices/:id', { id: access.source })}>{words.open}</LinkButton>
          <Button icon={Trash2} kind="danger" onClick={() => setRemoving(true)}>
            {words.removeAgain}
          </Button>
          <Button kind="quiet" onClick={onRemoved}>
            {words.another}
          </Button>
        </div>
      </div>
      {isRemoving && (
        <Confirm
          title={deviceWords().removeTitle(access.clientId)}
          action={words.removeAgain}
          isDangerous
          run={remove}
          onClose={() => setRemoving(false)}
        >
          <p>{deviceWords().removeText}</p>
        </Confirm>
      )}
    </div>
  );
}

const trialId = (): string => `trial-${randomText(SUFFIX_LENGTH)}`;

export default function AddDevice() {
  const words = addWords();
  const [name, setName] = useState(words.defaultName);
  const [clientId, setClientId] = useState(trialId);
  const [access, setAccess] = useState<DeviceAccess>();
  const about = useLoaded(readAbout, []);
  const [known, setKnown] = useState('');
  const make = useAction(async () => {
    setKnown('');
    const password = randomText(PASSWORD_LENGTH);
    // Before the device exists, so that a refusal leaves none behind.
    const told = about.data ?? (await readAbout());
    const taken = await deviceWith(clientId.trim());
    if (taken !== undefined) {
      setKnown(taken);
      return;
    }
    const source = await registerDevice({ clientId: clientId.trim(), name: name.trim(), password });
    const { mqttTls, https } = told?.ports ?? {};
    setAccess({
      host: told?.host ?? location.hostname,
      mqttPort: told?.ports.mqtt ?? MQTT_PORT,
      ...(mqttTls === undefined || https === undefined ? {} : { tls: { mqttPort: mqttTls, httpsPort: https } }),
      url: SERVER_URL,
      tenant: told?.tenant.id ?? tenant.value?.name ?? '',
      clientId: clientId.trim(),
      password,
      source,
    });
  });
  const again = (): void => {
    setAccess(undefined);
    setClientId(trialId());
  };
  return (
    <Page
      copy={{ method: 'POST', path: '/devicecontrol/bulkNewDeviceRequests', upload: 'devices.csv' }}
      title={words.title}
      crumbs={[{ text: deviceWords().title, href: href('/devices') }]}
    >
      {access === undefined ? (
        <Form onSubmit={() => void make.run()} label={words.title}>
          <p class="prose">{words.intro}</p>
          <TextField label={words.name} value={name} onInput={setName} isRequired />
          <TextField
            label={words.serial}
            hint={words.serialHint}
            value={clientId}
            onInput={(next) => {
              setClientId(next);
              setKnown('');
            }}
            isMono
            isRequired
            error={known === '' ? undefined : words.known}
          />
          {known !== '' && <LinkButton href={href('/devices/:id', { id: known })}>{words.open}</LinkButton>}
          <FormFault error={make.error} />
          <div class="form-buttons">
            <Button kind="main" type="submit" roles={ADD_ROLES} isBusy={make.isRunning}>
              {words.make}
            </Button>
          </div>
        </Form>
      ) : (
        <Made access={access} onRemoved={again} />
      )}
    </Page>
  );
}
