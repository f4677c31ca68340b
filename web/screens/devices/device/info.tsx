/** What is known of a device: state, identity, hardware; editing, restarting and deleting it. */
import { Pencil, Trash2 } from 'lucide';
import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { api, got } from '../../../core/api/api.ts';
import { changedMeanwhile } from '../../../core/api/error.ts';
import { pathOf } from '../../../core/api/json.ts';
import { usePoll } from '../../../core/api/poll.ts';
import { sendRaw } from '../../../core/api/send.ts';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import { notify } from '../../../core/notices.ts';
import { href } from '../../../core/route.ts';
import type { ScreenProps } from '../../../core/route.ts';
import { devicePath, nameOf, readObject, textOfMember } from '../../../core/server/managed-object.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { common } from '../../../core/text/common.ts';
import { hasTime, offerUndo } from '../../../core/api/undo.ts';
import { Button } from '../../../parts/button.tsx';
import { CopyButton } from '../../../parts/copy.tsx';
import { Confirm, FormDialog } from '../../../parts/dialog.tsx';
import { DevicePage } from '../../../parts/device/page.tsx';
import type { DeviceContent } from '../../../parts/device/page.tsx';
import { CheckField, TextArea, TextField } from '../../../parts/fields.tsx';
import { Section } from '../../../parts/page.tsx';
import { With } from '../../../parts/states.tsx';
import { Time } from '../../../parts/time.tsx';
import { INVENTORY_ADMIN } from '../../groups/group-object.ts';
import { RestartButton } from '../../operations/device/restart.tsx';
import { words as deviceWords } from '../text.ts';

/** From one question for the last message to the next. */
const POLL_MS = 10_000;

async function change(id: string, body: Readonly<Record<string, unknown>>): Promise<ManagedObject> {
  const call = api.PUT('/inventory/managedObjects/{id}', { params: { path: { id } }, body: body as never });
  return (await got(call)) as unknown as ManagedObject;
}

function Edit({ device, onChanged, onClose }: DeviceContent & { readonly onClose: () => void }) {
  const words = deviceWords();
  // As it was when the editing began: live changes come in meanwhile.
  const [before] = useState(device);
  const [name, setName] = useState(textOfMember(device.name));
  const [type, setType] = useState(textOfMember(device.type));
  const [notes, setNotes] = useState(textOfMember(device['c8y_Notes']));
  const save = useAction(async () => {
    const told: Readonly<Record<string, string>> = { name, type, c8y_Notes: notes };
    const names = Object.keys(told).filter((member) => told[member] !== textOfMember(before[member]));
    const bodyOf = (values: Readonly<Record<string, unknown>>): Record<string, unknown> =>
      Object.fromEntries(names.map((member) => [member, values[member] || null]));
    if (names.length > 0) {
      const now = await readObject(device.id);
      if (names.some((member) => textOfMember(now[member]) !== textOfMember(before[member])))
        throw changedMeanwhile(common().changedMeanwhile);
      const changed = await change(device.id, bodyOf(told));
      onChanged(changed);
      offerUndo(words.changed(name), {
        isAsLeft: hasTime(() => readObject(device.id), changed),
        run: async () => onChanged(await change(device.id, bodyOf(before))),
      });
    }
    onClose();
  });
  return (
    <FormDialog
      title={words.editTitle}
      onClose={onClose}
      onSubmit={() => void save.run()}
      isBusy={save.isRunning}
      error={save.error}
    >
      <TextField label={words.name} value={name} onInput={setName} isRequired />
      <TextField label={words.type} value={type} onInput={setType} />
      <TextArea label={words.notes} value={notes} onInput={setNotes} rows={4} />
    </FormDialog>
  );
}

function Remove({ device, onClose }: { readonly device: ManagedObject; readonly onClose: () => void }) {
  const words = deviceWords();
  const { route } = useLocation();
  const [withChildren, setWithChildren] = useState(true);
  const [withUser, setWithUser] = useState(true);
  const remove = async (): Promise<void> => {
    const query = { cascade: withChildren, withDeviceUser: withUser };
    await got(
      api.DELETE('/inventory/managedObjects/{id}', { params: { path: { id: device.id }, query: query as never } }),
    );
    notify(words.removed(nameOf(device)));
    route(href('/devices'));
  };
  return (
    <Confirm
      title={words.removeTitle(nameOf(device))}
      action={words.remove}
      isDangerous
      phrase={nameOf(device)}
      run={remove}
      onClose={onClose}
    >
      <p>{words.removeText}</p>
      <CheckField label={words.removeChildren} isChecked={withChildren} onChange={setWithChildren} />
      <CheckField label={words.removeUser} isChecked={withUser} onChange={setWithUser} />
    </Confirm>
  );
}

function ExternalIds({ id }: { readonly id: string }) {
  const words = deviceWords();
  const loaded = useLoaded(
    (signal) => got(api.GET('/identity/globalIds/{id}/externalIds', { params: { path: { id } }, signal })),
    [id],
  );
  return (
    <Section title={words.externalIds}>
      <With loaded={loaded}>
        {(answer) => {
          const ids = (answer as unknown as { externalIds?: { type: string; externalId: string }[] }).externalIds ?? [];
          return ids.length === 0 ? (
            <p class="muted">{words.noExternalIds}</p>
          ) : (
            <dl class="facts">
              {ids.map(({ type, externalId }) => (
                <>
                  <dt key={type}>{type}</dt>
                  <dd>
                    <span class="mono">{externalId}</span>
                    <CopyButton text={externalId} />
                  </dd>
                </>
              ))}
            </dl>
          );
        }}
      </With>
    </Section>
  );
}

/** When the server last heard of the device: its document has that up to ten minutes later. */
function LastMessage({ device }: { readonly device: ManagedObject }) {
  const heard = useLoaded(
    async (signal) => {
      const path = `${devicePath(device.id)}/availability`;
      return (await sendRaw(path, { signal, headers: { Accept: 'text/plain' } })).text();
    },
    [device.id],
  );
  // Objects other than devices get a refusal, once.
  usePoll(POLL_MS, heard.error === undefined ? heard.reload : undefined);
  // Of one that was never heard the server tells when it was made.
  return <Time value={heard.data === device.creationTime ? undefined : heard.data} hasAge />;
}

function Facts({ device }: { readonly device: ManagedObject }) {
  const words = deviceWords();
  const hardware = Object.entries((device['c8y_Hardware'] ?? {}) as Record<string, unknown>);
  const interval = (device['c8y_RequiredAvailability'] as { responseInterval?: unknown } | undefined)?.responseInterval;
  const status = textOfMember((device['c8y_Availability'] as { status?: unknown } | undefined)?.status);
  const { lat, lng } = (device['c8y_Position'] ?? {}) as { lat?: unknown; lng?: unknown };
  const position = typeof lat === 'number' && typeof lng === 'number' ? `${lat},${lng}` : undefined;
  return (
    <dl class="facts">
      <dt>{words.id}</dt>
      <dd>
        <span class="mono">{device.id}</span>
        <CopyButton text={device.id} />
      </dd>
      <dt>{words.type}</dt>
      <dd>{textOfMember(device.type) || '–'}</dd>
      <dt>{words.owner}</dt>
      <dd>{textOfMember(device.owner) || '–'}</dd>
      {status !== '' && (
        <>
          <dt>{words.availability}</dt>
          <dd>{words.availabilities[status as keyof typeof words.availabilities] ?? status}</dd>
        </>
      )}
      <dt>{words.lastMessage}</dt>
      <dd>
        <LastMessage device={device} />
      </dd>
      {typeof interval === 'number' && (
        <>
          <dt>{words.interval}</dt>
          <dd>{words.minutes(interval)}</dd>
        </>
      )}
      <dt>{words.created}</dt>
      <dd>
        <Time value={device.creationTime} />
      </dd>
      <dt>{words.updated}</dt>
      <dd>
        <Time value={device.lastUpdated} hasAge />
      </dd>
      {hardware.map(([name, value]) => (
        <>
          <dt key={name}>
            {words.hardware} · {name}
          </dt>
          <dd>{textOfMember(value)}</dd>
        </>
      ))}
      {position !== undefined && (
        <>
          <dt>{words.position}</dt>
          <dd>
            <a href={href('/map', undefined, { at: `${position},12` })}>{position.replace(',', ', ')}</a>
          </dd>
        </>
      )}
      {device['c8y_Notes'] !== undefined && (
        <>
          <dt>{words.notes}</dt>
          <dd>{textOfMember(device['c8y_Notes'])}</dd>
        </>
      )}
    </dl>
  );
}

function Info({ device, onChanged }: DeviceContent) {
  const words = deviceWords();
  const [open, setOpen] = useState<'edit' | 'remove'>();
  const close = (): void => setOpen(undefined);
  return (
    <div class="columns">
      <Section
        title={words.info}
        actions={
          <>
            <RestartButton device={device} />
            <Button icon={Pencil} keys="e" roles={INVENTORY_ADMIN} onClick={() => setOpen('edit')}>
              {words.edit}
            </Button>
            <Button icon={Trash2} kind="danger" roles={INVENTORY_ADMIN} onClick={() => setOpen('remove')}>
              {words.remove}
            </Button>
          </>
        }
      >
        <Facts device={device} />
      </Section>
      <ExternalIds id={device.id} />
      {open === 'edit' && <Edit device={device} onChanged={onChanged} onClose={close} />}
      {open === 'remove' && <Remove device={device} onClose={close} />}
    </div>
  );
}

export default function DeviceInfo({ params: { id } }: ScreenProps) {
  return (
    <DevicePage id={id} copy={[{ path: devicePath(id) }, { path: pathOf`/identity/globalIds/${id}/externalIds` }]}>
      {(content) => <Info {...content} />}
    </DevicePage>
  );
}
