/** Remote access of a device: its configurations, the commands that open a tunnel to one, and a terminal. */
import { Pencil, Plug, Plus, SquareTerminal, Trash2 } from 'lucide';
import { useState } from 'preact/hooks';
import { changeJson, getJson } from '../../../core/api/json.ts';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import { sendRaw } from '../../../core/api/send.ts';
import { tenant, user } from '../../../core/api/session.ts';
import { offerUndo } from '../../../core/api/undo.ts';
import { notify } from '../../../core/notices.ts';
import { SERVER_URL } from '../../../core/places.ts';
import type { ScreenProps } from '../../../core/route.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { Button, IconButton } from '../../../parts/button.tsx';
import { shellWord } from '../../../parts/copy.tsx';
import { Confirm, Dialog, FormDialog } from '../../../parts/dialog.tsx';
import { SelectField, TextArea, TextField } from '../../../parts/fields.tsx';
import { Code } from '../../../parts/json.tsx';
import { Section } from '../../../parts/page.tsx';
import { Empty, With } from '../../../parts/states.tsx';
import { Table } from '../../../parts/list/table.tsx';
import { TerminalSession } from './session.tsx';
import { TabPage } from './tab-page.tsx';
import { words as tabWords } from './text.ts';

const ADMIN = ['ROLE_REMOTE_ACCESS_ADMIN'];
const PROTOCOLS = ['SSH', 'VNC', 'TELNET', 'PASSTHROUGH'] as const;
const PORTS = { SSH: '22', VNC: '5900', TELNET: '23', PASSTHROUGH: '80' } as const;

interface Configuration {
  readonly id: string;
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
  readonly protocol: (typeof PROTOCOLS)[number];
  readonly credentials?: { readonly type?: string; readonly username?: string; readonly hostKey?: string };
}

const pathOf = (device: string, id = ''): string =>
  `/service/remoteaccess/devices/${encodeURIComponent(device)}/configurations${id === '' ? '' : `/${encodeURIComponent(id)}`}`;

/** The WebSocket of a terminal: of SSH the server is the client. */
const sessionPath = (device: string, { id, protocol }: Configuration): string =>
  `/service/remoteaccess/${protocol === 'SSH' ? 'ssh' : 'client'}/${encodeURIComponent(device)}/configurations/${encodeURIComponent(id)}`;

const SESSION_KINDS = { SSH: 'ssh', TELNET: 'telnet', PASSTHROUGH: 'text', VNC: undefined } as const;

/** How the server logs in: `NONE` asks in the terminal. */
const LOGINS = ['NONE', 'USER_PASS', 'KEY_PAIR'] as const;
type Login = (typeof LOGINS)[number];

type Target = Pick<Configuration, 'hostname' | 'port' | 'protocol' | 'credentials'>;

interface Account {
  readonly url: string;
  readonly tenant: string;
  readonly user: string;
}

const tunnelCommand = (device: string, { hostname, port }: Target, { url, tenant: of, user: name }: Account): string =>
  `millrace connect ${device} --host ${shellWord(hostname)} --port ${port} ` +
  `--url ${url} --tenant ${shellWord(of)} --user ${shellWord(name)}`;

/** The command that makes the port one of this machine: `--listen`, at a port that every user may open. */
export const listenCommand = (device: string, target: Target, login: Account): string =>
  `${tunnelCommand(device, target, login)} --listen ${target.port < 1_024 ? target.port + 10_000 : target.port}`;

/** The command that opens a tunnel: SSH on standard input and output, others on a local port. */
export function connectCommand(device: string, target: Target, login: Account): string {
  if (target.protocol !== 'SSH') return listenCommand(device, target, login);
  // The single quotes inside are those of the shell that ssh starts, which takes %% for a %.
  const inner = tunnelCommand(device, target, login)
    .replaceAll('%', '%%')
    .replace(/[\\"$`]/g, '\\$&');
  return `ssh -o ProxyCommand="${inner}" ${shellWord(`${target.credentials?.username || 'root'}@${device}`)}`;
}

interface EditProps {
  readonly device: string;
  /** undefined for a new one. */
  readonly before: Configuration | undefined;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function Edit({ device, before, onDone, onClose }: EditProps) {
  const words = tabWords();
  const [name, setName] = useState(before?.name ?? 'SSH');
  const [protocol, setProtocol] = useState(before?.protocol ?? 'SSH');
  const [hostname, setHostname] = useState(before?.hostname ?? '127.0.0.1');
  const [port, setPort] = useState<string>(String(before?.port ?? PORTS.SSH));
  const { type, username, hostKey } = before?.credentials ?? {};
  const loginBefore = LOGINS.find((one) => one === type) ?? 'NONE';
  const [login, setLogin] = useState<Login>(loginBefore);
  const [userName, setUserName] = useState(username ?? '');
  const [password, setPassword] = useState('');
  const [privateKey, setPrivateKey] = useState('');
  const [knownHost, setKnownHost] = useState(hostKey ?? '');
  /** An empty secret stays as the server has it; another kind of login removes it. */
  const secret = (kind: Login, text: string): string | null | undefined => {
    if (login === kind) return text || undefined;
    return login === loginBefore ? undefined : null;
  };
  const save = useAction(async () => {
    const credentials = {
      type: login === loginBefore ? type : login,
      username: userName === (username ?? '') ? undefined : userName || null,
      password: secret('USER_PASS', password),
      privateKey: secret('KEY_PAIR', privateKey),
      // The first session may have stored one since the page was opened.
      hostKey: knownHost === (hostKey ?? '') ? undefined : knownHost || null,
    };
    const told = { name, hostname, port: Number(port), protocol, ...(protocol === 'SSH' && { credentials }) };
    const path = pathOf(device, before?.id);
    await changeJson(before === undefined ? 'POST' : 'PUT', path, told);
    const isMoved = hostname !== before?.hostname || told.port !== before.port || knownHost !== (hostKey ?? '');
    const hasSecret = isMoved || [credentials.password, credentials.privateKey].some((one) => one !== undefined);
    // What the server never tells cannot be brought back.
    if (before === undefined || (protocol === 'SSH' && hasSecret)) notify(words.remoteSaved(name));
    else {
      const changed = JSON.stringify(await getJson(path));
      offerUndo(words.remoteSaved(name), {
        isAsLeft: async () => JSON.stringify(await getJson(path)) === changed,
        run: async () => {
          const { id: _, ...others } = before;
          const names = credentials.username === undefined ? {} : { username: username ?? null };
          const old = { ...others, credentials: { type, ...names } };
          await changeJson('PUT', path, old);
          onDone();
        },
      });
    }
    onDone();
    onClose();
  });
  return (
    <FormDialog
      title={before === undefined ? words.remoteAdd : words.remoteEdit(before.name)}
      onClose={onClose}
      onSubmit={() => void save.run()}
      isBusy={save.isRunning}
      error={save.error}
    >
      <SelectField
        label={words.remoteProtocol}
        value={protocol}
        options={PROTOCOLS.map((value) => ({ value, text: value }))}
        onChange={(value) => {
          setProtocol(value);
          if (port === PORTS[protocol]) setPort(PORTS[value]);
          if (name === protocol) setName(value);
        }}
      />
      <TextField label={words.remoteName} value={name} onInput={setName} isRequired />
      <TextField label={words.remoteHost} value={hostname} onInput={setHostname} isRequired />
      <TextField label={words.remotePort} value={port} onInput={setPort} inputMode="numeric" isRequired />
      {protocol === 'SSH' && (
        <>
          <SelectField
            label={words.remoteLogin}
            value={login}
            options={LOGINS.map((value) => ({ value, text: words.remoteLogins[value] }))}
            onChange={setLogin}
          />
          <TextField label={words.remoteUser} value={userName} onInput={setUserName} />
          {login === 'USER_PASS' && (
            <TextField
              label={words.remotePassword}
              hint={words.remoteSecretHint}
              type="password"
              autocomplete="new-password"
              value={password}
              onInput={setPassword}
            />
          )}
          {login === 'KEY_PAIR' && (
            <TextArea
              label={words.remoteKey}
              hint={words.remoteSecretHint}
              value={privateKey}
              onInput={setPrivateKey}
              rows={4}
              isMono
            />
          )}
          <TextField
            label={words.remoteHostKey}
            hint={words.remoteHostKeyHint}
            value={knownHost}
            onInput={setKnownHost}
            isMono
          />
        </>
      )}
    </FormDialog>
  );
}

interface ConnectProps {
  readonly device: string;
  readonly target: Configuration;
  readonly onOpen: () => void;
  readonly onClose: () => void;
}

function Connect({ device, target, onOpen, onClose }: ConnectProps) {
  const words = tabWords();
  const login = { url: SERVER_URL, tenant: tenant.value?.name ?? '', user: user.value?.userName ?? '' };
  return (
    <Dialog
      title={words.remoteConnectTo(target.name)}
      isWide
      onClose={onClose}
      foot={
        SESSION_KINDS[target.protocol] && (
          <Button kind="main" icon={SquareTerminal} onClick={onOpen}>
            {words.remoteOpen}
          </Button>
        )
      }
    >
      <div class="stack">
        <p>{SESSION_KINDS[target.protocol] ? words.remoteTextHint : words.remoteProgramHint(target.protocol)}</p>
        <p class="muted">{words.remoteCommandHint}</p>
        {target.protocol === 'SSH' && (
          <>
            <h3>{words.remoteSsh}</h3>
            <Code label={words.remoteSsh} text={connectCommand(device, target, login)} />
          </>
        )}
        <h3>{words.remoteListen}</h3>
        <Code label={words.remoteListen} text={listenCommand(device, target, login)} />
      </div>
    </Dialog>
  );
}

function Remote({ device }: { readonly device: ManagedObject }) {
  const words = tabWords();
  const [editing, setEditing] = useState<{ readonly before: Configuration | undefined }>();
  const [removing, setRemoving] = useState<Configuration>();
  const [connecting, setConnecting] = useState<Configuration>();
  const [session, setSession] = useState<Configuration>();
  const kind = session && SESSION_KINDS[session.protocol];
  const loaded = useLoaded(
    async (signal) => (await (await sendRaw(pathOf(device.id), { signal })).json()) as readonly Configuration[],
    [device.id],
  );
  return (
    <>
      <Section
        title={words.remote}
        actions={
          <Button kind="main" icon={Plus} roles={ADMIN} onClick={() => setEditing({ before: undefined })}>
            {words.remoteAdd}
          </Button>
        }
      >
        <With loaded={loaded}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty title={words.remoteNone}>
                <p>{words.remoteText}</p>
              </Empty>
            ) : (
              <Table
                label={words.remote}
                rows={rows}
                keyOf={({ id }) => id}
                columns={[
                  { id: 'name', title: words.remoteName, isHeading: true, cell: ({ name }) => name },
                  { id: 'protocol', title: words.remoteProtocol, cell: ({ protocol }) => protocol },
                  { id: 'host', title: words.remoteHost, cell: ({ hostname, port }) => `${hostname}:${port}` },
                  {
                    id: 'actions',
                    title: words.remoteConnect,
                    isNarrow: true,
                    cell: (one) => (
                      <span class="row">
                        <Button
                          icon={Plug}
                          roles={ADMIN}
                          label={words.remoteConnectTo(one.name)}
                          onClick={() => setConnecting(one)}
                        >
                          {words.remoteConnect}
                        </Button>
                        <IconButton
                          icon={Pencil}
                          label={words.remoteEdit(one.name)}
                          roles={ADMIN}
                          onClick={() => setEditing({ before: one })}
                        />
                        <IconButton
                          icon={Trash2}
                          label={words.remoteRemove(one.name)}
                          roles={ADMIN}
                          onClick={() => setRemoving(one)}
                        />
                      </span>
                    ),
                  },
                ]}
              />
            )
          }
        </With>
      </Section>
      {session && kind && (
        <TerminalSession
          key={session.id}
          name={session.name}
          path={sessionPath(device.id, session)}
          kind={kind}
          onClose={() => {
            setSession(undefined);
            loaded.reload();
          }}
        />
      )}
      {editing && (
        <Edit device={device.id} before={editing.before} onDone={loaded.reload} onClose={() => setEditing(undefined)} />
      )}
      {connecting && (
        <Connect
          device={device.id}
          target={connecting}
          onOpen={() => {
            setSession(connecting);
            setConnecting(undefined);
          }}
          onClose={() => setConnecting(undefined)}
        />
      )}
      {removing && (
        <Confirm
          title={words.remoteRemove(removing.name)}
          action={common().remove}
          isDangerous
          onClose={() => setRemoving(undefined)}
          run={async () => {
            await sendRaw(pathOf(device.id, removing.id), { method: 'DELETE' });
            notify(words.remoteRemoved(removing.name));
            loaded.reload();
          }}
        >
          <p>{words.remoteRemoveText}</p>
        </Confirm>
      )}
    </>
  );
}

export default function DeviceRemoteAccess({ params }: ScreenProps) {
  return (
    <TabPage id={params['id']} capability="remote" copy={{ path: pathOf(params['id']) }}>
      {({ device }) => <Remote device={device} />}
    </TabPage>
  );
}
