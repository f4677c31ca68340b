/** An application: its archives and versions, which one is in use, and uploading another. */
import { ExternalLink, Trash2 } from 'lucide';
import { useLocation } from 'preact-iso';
import { useState } from 'preact/hooks';
import { changeJson, getJson } from '../../../core/api/json.ts';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import { tenant } from '../../../core/api/session.ts';
import { upload } from '../../../core/api/upload.ts';
import { notify } from '../../../core/notices.ts';
import { href, queryText } from '../../../core/route.ts';
import type { ScreenProps } from '../../../core/route.ts';
import { collectionAt } from '../../../core/server/collection.ts';
import { bytesText } from '../../../core/text/units.ts';
import { common } from '../../../core/text/common.ts';
import { offerUndo } from '../../../core/api/undo.ts';
import { Button, LinkButton } from '../../../parts/button.tsx';
import { Confirm } from '../../../parts/dialog.tsx';
import { FileField, Form, TextField } from '../../../parts/fields.tsx';
import { Page, Section } from '../../../parts/page.tsx';
import { FormFault, With } from '../../../parts/states.tsx';
import { Table } from '../../../parts/list/table.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { Time } from '../../../parts/time.tsx';
import { words as tenantWords } from './text.ts';
import { words as adminWords } from '../titles/text.ts';
import { APPLICATION_ADMIN, applicationPath, pageOf } from './application-data.ts';
import type { Application } from './application-data.ts';
import { openUrl } from './applications.tsx';

interface Archive {
  readonly id: string;
  readonly name: string;
  readonly length: number;
  readonly created: string;
}

interface Version {
  readonly version: string;
  readonly binaryId: string;
  readonly tags: readonly string[];
}

interface PartProps {
  readonly application: Application;
  readonly blocked: string | undefined;
  readonly onChanged: () => void;
}

function Upload({ application, blocked, onChanged }: PartProps) {
  const words = tenantWords();
  const [file, setFile] = useState<File>();
  const [version, setVersion] = useState('');
  const [tags, setTags] = useState('');
  const [share, setShare] = useState(0);
  const send = useAction(async () => {
    if (file === undefined) return;
    setShare(0);
    const form = new FormData();
    if (version === '') form.append('file', file, file.name);
    else {
      form.append('applicationBinary', file, file.name);
      form.append('applicationVersion', JSON.stringify({ version, tags: tagsOf(tags) }));
    }
    await upload(`${applicationPath(application.id)}/${version === '' ? 'binaries' : 'versions'}`, form, setShare);
    notify(words.uploaded(file.name));
    onChanged();
  });
  return (
    <Section title={words.uploadZip}>
      <Form onSubmit={() => void send.run()} label={words.uploadZip}>
        <FileField label={words.file} accept=".zip" hint={words.fileHint} onFile={setFile} isRequired />
        {application.type === 'HOSTED' && (
          <>
            <TextField label={words.version} value={version} onInput={setVersion} placeholder="1.0.0" />
            <TextField label={words.tags} value={tags} onInput={setTags} hint={words.tagHint} />
          </>
        )}
        <div class="row">
          <Button type="submit" roles={APPLICATION_ADMIN} blocked={blocked} isBusy={send.isRunning}>
            {words.uploadZip}
          </Button>
          <span role="status">{send.isRunning && words.sending(share)}</span>
        </div>
        <FormFault error={send.error} />
      </Form>
    </Section>
  );
}

const tagsOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

function Archives({ application, blocked, onChanged }: PartProps) {
  const words = tenantWords();
  const path = `${applicationPath(application.id)}/binaries`;
  const [removed, setRemoved] = useState<Archive>();
  const loaded = useLoaded(
    (signal) => collectionAt<Archive>(path, 'attachments').load(1, signal),
    [application.id, application],
  );
  const use = useAction(async (archive: Archive) => {
    const before = application.activeVersionId;
    const set = async (activeVersionId: string): Promise<void> => {
      await changeJson('PUT', applicationPath(application.id), { activeVersionId });
      onChanged();
    };
    await set(archive.id);
    if (before === undefined) notify(words.used(archive.name));
    else
      offerUndo(words.used(archive.name), {
        isAsLeft: async () =>
          (await getJson<Application>(applicationPath(application.id))).activeVersionId === archive.id,
        run: () => set(before),
      });
  });
  const remove = async (): Promise<void> => {
    if (removed === undefined) return;
    await changeJson('DELETE', `${path}/${encodeURIComponent(removed.id)}`);
    notify(words.removedDone(removed.name));
    onChanged();
  };
  const isActive = ({ id }: Archive): boolean => id === application.activeVersionId;
  const columns: readonly Column<Archive>[] = [
    { id: 'name', title: words.name, isHeading: true, cell: ({ name }) => name },
    {
      id: 'size',
      title: words.size,
      isEnd: true,
      text: ({ length }) => length,
      cell: ({ length }) => bytesText(length),
    },
    { id: 'created', title: words.created, cell: ({ created }) => <Time value={created} hasAge /> },
    {
      id: 'active',
      title: words.active,
      cell: (archive) =>
        isActive(archive) ? (
          words.active
        ) : (
          <Button
            kind="quiet"
            roles={APPLICATION_ADMIN}
            blocked={blocked}
            label={`${words.use}: ${archive.name}`}
            onClick={() => void use.run(archive)}
          >
            {words.use}
          </Button>
        ),
    },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: (archive) => (
        <Button
          kind="quiet"
          icon={Trash2}
          roles={APPLICATION_ADMIN}
          blocked={blocked ?? (isActive(archive) ? words.removeArchiveText : undefined)}
          label={words.removeArchiveTitle(archive.name)}
          onClick={() => setRemoved(archive)}
        >
          {words.remove}
        </Button>
      ),
    },
  ];
  return (
    <Section title={words.archive}>
      <FormFault error={use.error} />
      <With loaded={loaded}>
        {(found) =>
          found.length === 0 ? (
            <p class="muted">{words.noArchive}</p>
          ) : (
            <Table label={words.archive} columns={columns} rows={found} keyOf={({ id }) => id} />
          )
        }
      </With>
      {removed && (
        <Confirm
          title={words.removeArchiveTitle(removed.name)}
          action={words.remove}
          isDangerous
          run={remove}
          onClose={() => setRemoved(undefined)}
        >
          <p>{words.removeArchiveText}</p>
        </Confirm>
      )}
    </Section>
  );
}

function Versions({ application, blocked }: Omit<PartProps, 'onChanged'>) {
  const words = tenantWords();
  const path = `${applicationPath(application.id)}/versions`;
  const [tags, setTags] = useState<Readonly<Record<string, string>>>({});
  const read = async (signal?: AbortSignal): Promise<readonly Version[]> =>
    (await getJson<{ applicationVersions: readonly Version[] }>(path, signal)).applicationVersions;
  const loaded = useLoaded(read, [application]);
  const tag = useAction(async ({ version, tags: before }: Version) => {
    const set = async (wanted: readonly string[]): Promise<void> => {
      await changeJson('PUT', `${path}/${encodeURIComponent(version)}`, { tags: wanted });
      loaded.reload();
    };
    const wanted = tagsOf(tags[version] ?? before.join(', '));
    await set(wanted);
    offerUndo(words.tagged(version), {
      isAsLeft: async () => {
        const now = (await read()).find((one) => one.version === version)?.tags ?? [];
        return [...now].sort().join() === [...wanted].sort().join();
      },
      run: () => set(before),
    });
  });
  const [removed, setRemoved] = useState<string>();
  const remove = async (version: string): Promise<void> => {
    await changeJson('DELETE', path + queryText({ version }));
    notify(words.removedDone(version));
    loaded.reload();
  };
  const columns: readonly Column<Version>[] = [
    { id: 'version', title: words.version, isHeading: true, cell: ({ version }) => version },
    {
      id: 'tags',
      title: words.tags,
      text: (row) => row.tags.join(', '),
      cell: (row) => (
        <span class="row">
          <input
            class="input"
            aria-label={`${words.tags}: ${row.version}`}
            value={tags[row.version] ?? row.tags.join(', ')}
            onInput={(event) => setTags({ ...tags, [row.version]: event.currentTarget.value })}
          />
          <Button roles={APPLICATION_ADMIN} blocked={blocked} onClick={() => void tag.run(row)}>
            {words.setTags}
          </Button>
        </span>
      ),
    },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: (row) => (
        <Button
          kind="quiet"
          icon={Trash2}
          roles={APPLICATION_ADMIN}
          blocked={blocked}
          label={words.removeArchiveTitle(row.version)}
          onClick={() => setRemoved(row.version)}
        >
          {words.remove}
        </Button>
      ),
    },
  ];
  return (
    <With loaded={loaded}>
      {(found) =>
        found.length > 0 && (
          <Section title={words.versions}>
            <FormFault error={tag.error} />
            <Table label={words.versions} columns={columns} rows={found} keyOf={({ version }) => version} />
            {removed !== undefined && (
              <Confirm
                title={words.removeArchiveTitle(removed)}
                action={words.remove}
                isDangerous
                run={() => remove(removed)}
                onClose={() => setRemoved(undefined)}
              >
                <p>{words.removeVersionText}</p>
              </Confirm>
            )}
          </Section>
        )
      }
    </With>
  );
}

export default function ApplicationScreen({ params: { id } }: ScreenProps) {
  const words = tenantWords();
  const { route } = useLocation();
  const [isRemoving, setRemoving] = useState(false);
  const loaded = useLoaded((signal) => getJson<Application>(applicationPath(id), signal), [id]);
  const application = loaded.data;
  const owner = application?.owner?.tenant?.id;
  const blocked = owner === undefined || owner === tenant.value?.name ? undefined : words.notYours;
  const page = application && pageOf(application);
  const remove = async (): Promise<void> => {
    await changeJson('DELETE', applicationPath(id));
    notify(words.removedDone(application?.name ?? id));
    route(href('/admin/applications'));
  };
  return (
    <Page
      copy={['', '/binaries', '/versions'].map((part) => ({ path: applicationPath(id) + part }))}
      title={application?.name ?? id}
      crumbs={[{ text: adminWords().applications, href: href('/admin/applications') }]}
      actions={
        <>
          {page && (
            <LinkButton icon={ExternalLink} kind="main" href={openUrl(page)}>
              {words.open}
            </LinkButton>
          )}
          <Button
            icon={Trash2}
            kind="danger"
            roles={APPLICATION_ADMIN}
            blocked={blocked}
            onClick={() => setRemoving(true)}
          >
            {words.remove}
          </Button>
        </>
      }
    >
      <With loaded={loaded}>
        {(found) => (
          <>
            <dl class="facts section">
              <dt>{words.type}</dt>
              <dd>{words.types[found.type]}</dd>
              <dt>{words.key}</dt>
              <dd class="mono">{found.key}</dd>
              <dt>{words.availability}</dt>
              <dd>{words.availabilities[found.availability]}</dd>
              <dt>{words.owner}</dt>
              <dd>{owner ?? '–'}</dd>
              <dt>{words.contextPath}</dt>
              <dd>{found.contextPath ?? found.externalUrl ?? '–'}</dd>
            </dl>
            {found.type !== 'EXTERNAL' && (
              <>
                <Archives application={found} blocked={blocked} onChanged={loaded.reload} />
                {found.type === 'HOSTED' && <Versions application={found} blocked={blocked} />}
                <Upload application={found} blocked={blocked} onChanged={loaded.reload} />
              </>
            )}
            {isRemoving && (
              <Confirm
                title={words.removeTitle(found.name)}
                action={words.remove}
                isDangerous
                phrase={found.name}
                run={remove}
                onClose={() => setRemoving(false)}
              >
                <p>{words.removeApplicationText}</p>
              </Confirm>
            )}
          </>
        )}
      </With>
    </Page>
  );
}
