/** Remote access of a device: its configurations, and the command that opens a tunnel to one. */
import { Plus, Trash2 } from 'lucide';
import { useState } from 'preact/hooks';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import { sendRaw } from '../../../core/api/send.ts';
import { tenant, user } from '../../../core/api/session.ts';
import { notify } from '../../../core/notices.ts';
import { SERVER_URL } from '../../../core/places.ts';
import type { ScreenProps } from '../../../core/route.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { Button } from '../../../parts/button.tsx';
import { shellWord } from '../../../parts/copy.tsx';
import { Confirm, Dialog } from '../../../parts/dialog.tsx';
import { Form, SelectField, TextField } from '../../../parts/fields.tsx';
import { Code } from '../../../parts/json.tsx';
import { Section } from '../../../parts/page.tsx';
import { Empty, FormFault, With } from '../../../parts/states.tsx';
import { Table } from '../../../parts/table.tsx';
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
}

const pathOf = (device: string, id = ''): string =>
  `/service/remoteaccess/devices/${encodeURIComponent(device)}/configurations${id === '' ? '' : `/${encodeURIComponent(id)}`}`;

/** The command that opens a tunnel: SSH on standard input and output, others on a local port. */
export function connectCommand(
  device: string,
  { hostname, port, protocol }: Pick<Configuration, 'hostname' | 'port' | 'protocol'>,
  login: { readonly url: string; readonly tenant: string; readonly user: string },
): string {
  const flags = `--url ${login.url} --tenant ${shellWord(login.tenant)} --user ${shellWord(login.user)}`;
  const command = `millrace connect ${device} --host ${shellWord(hostname)} --port ${port} ${flags}`;
  // Of a word in double quotes the shell of ProxyCommand takes the single ones.
  return protocol === 'SSH' ? `ssh -o ProxyCommand="${command}" root@${device}` : `${command} --listen ${port}`;
}

interface EditProps {
  readonly device: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function Add({ device, onDone, onClose }: EditProps) {
  const words = tabWords();
  const [name, setName] = useState('SSH');
  const [protocol, setProtocol] = useState<(typeof PROTOCOLS)[number]>('SSH');
  const [hostname, setHostname] = useState('127.0.0.1');
  const [port, setPort] = useState<string>(PORTS.SSH);
  const save = useAction(async () => {
    await sendRaw(pathOf(device), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name, hostname, port: Number(port), protocol }),
    });
    notify(words.remoteSaved(name));
    onDone();
    onClose();
  });
  return (
    <Dialog
      title={words.remoteAdd}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{common().cancel}</Button>
          <Button kind="main" type="submit" form="remote" isBusy={save.isRunning}>
            {common().save}
          </Button>
        </>
      }
    >
      <Form id="remote" onSubmit={() => void save.run()}>
        <SelectField
          label={words.remoteProtocol}
          value={protocol}
          options={PROTOCOLS.map((value) => ({ value, text: value }))}
          onChange={(value) => {
            setProtocol(value);
            setPort(PORTS[value]);
            if (name === protocol) setName(value);
          }}
        />
        <TextField label={words.remoteName} value={name} onInput={setName} isRequired />
        <TextField label={words.remoteHost} value={hostname} onInput={setHostname} isRequired />
        <TextField label={words.remotePort} value={port} onInput={setPort} inputMode="numeric" isRequired />
        <FormFault error={save.error} />
      </Form>
    </Dialog>
  );
}

function Remote({ device }: { readonly device: ManagedObject }) {
  const words = tabWords();
  const [isAdding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Configuration>();
  const loaded = useLoaded(
    async (signal) => (await (await sendRaw(pathOf(device.id), { signal })).json()) as readonly Configuration[],
    [device.id],
  );
  const login = { url: SERVER_URL, tenant: tenant.value?.name ?? '', user: user.value?.userName ?? '' };
  return (
    <Section
      title={words.remote}
      actions={
        <Button kind="main" icon={Plus} roles={ADMIN} onClick={() => setAdding(true)}>
          {words.remoteAdd}
        </Button>
      }
    >
      <p class="muted">{words.remoteText}</p>
      <With loaded={loaded}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={words.remoteNone} />
          ) : (
            <div class="stack">
              <Table
                label={words.remote}
                rows={rows}
                keyOf={({ id }) => id}
                columns={[
                  { id: 'name', title: words.remoteName, isHeading: true, cell: ({ name }) => name },
                  { id: 'protocol', title: words.remoteProtocol, cell: ({ protocol }) => protocol },
                  { id: 'host', title: words.remoteHost, cell: ({ hostname, port }) => `${hostname}:${port}` },
                  {
                    id: 'remove',
                    title: common().remove,
                    isNarrow: true,
                    cell: (one) => (
                      <Button
                        icon={Trash2}
                        kind="danger"
                        roles={ADMIN}
                        label={words.remoteRemove(one.name)}
                        onClick={() => setRemoving(one)}
                      >
                        {common().remove}
                      </Button>
                    ),
                  },
                ]}
              />
              <h3>{words.remoteCommand}</h3>
              <p class="muted">{words.remoteCommandHint}</p>
              {rows.map((one) => (
                <Code key={one.id} label={one.name} text={connectCommand(device.id, one, login)} />
              ))}
            </div>
          )
        }
      </With>
      {isAdding && <Add device={device.id} onDone={loaded.reload} onClose={() => setAdding(false)} />}
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
    </Section>
  );
}

export default function DeviceRemoteAccess({ params }: ScreenProps) {
  return (
    <TabPage id={params['id']} capability="remote">
      {({ device }) => <Remote device={device} />}
    </TabPage>
  );
}
