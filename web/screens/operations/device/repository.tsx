/** Where software and firmware come from: a version in the repository, or a name and URL. */
import { useState } from 'preact/hooks';
import { useLoaded } from '../../../core/api/request.ts';
import { sendRaw } from '../../../core/api/send.ts';
import { listObjects, nameOf, quoted, textOfMember } from '../../../core/server/managed-object.ts';
import type { ManagedObject } from '../../../core/server/managed-object.ts';
import { SelectField, TextField, optionalLabel } from '../../../parts/fields.tsx';
import { With } from '../../../parts/states.tsx';
import { SlowTextField } from '../../../parts/filter-bar.tsx';
import { memberText } from '../operation.ts';
import { words as tabWords } from './text.ts';

export interface Package {
  readonly name: string;
  readonly version: string;
  readonly url: string;
  /** Of software: the kind of package, or ''. */
  readonly softwareType: string;
}

/** The kinds of repositories, by the type of their entries and the fragment of a version. */
export type Repository = 'c8y_Software' | 'c8y_Firmware';

/** The versions of an entry are its child additions. */
async function versionsOf(entry: string, signal: AbortSignal): Promise<readonly ManagedObject[]> {
  const path = `/inventory/managedObjects/${encodeURIComponent(entry)}/childAdditions?pageSize=100`;
  const answer = (await (await sendRaw(path, { signal })).json()) as {
    references: readonly { readonly managedObject: ManagedObject }[];
  };
  return answer.references.map(({ managedObject }) => managedObject);
}

interface FromProps {
  readonly repository: Repository;
  readonly value: Package;
  readonly onChange: (value: Package) => void;
}

function FromRepository({ repository, value, onChange }: FromProps) {
  const words = tabWords();
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState('');
  const filter = [`type eq ${quoted(repository)}`, ...(name === '' ? [] : [`name eq ${quoted(`*${name}*`)}`])];
  const entries = useLoaded(
    (signal) => listObjects({ query: `$filter=${filter.join(' and ')} $orderby=name asc` }, 1, signal),
    [repository, name],
  );
  const versions = useLoaded(chosen === '' ? undefined : (signal) => versionsOf(chosen, signal), [chosen]);
  const take = (entry: ManagedObject, version: ManagedObject): void =>
    onChange({
      name: nameOf(entry),
      version: memberText(version, repository, 'version'),
      url: memberText(version, repository, 'url'),
      softwareType: textOfMember(entry['softwareType']),
    });
  return (
    <>
      <SlowTextField label={words.softwareFilter} value={name} onChange={setName} />
      <With loaded={entries}>
        {(found) =>
          found.length === 0 && name === '' ? (
            <p class="muted">{words.noEntries(repository)}</p>
          ) : (
            <SelectField
              label={words.repositoryEntry}
              value={chosen}
              options={[
                { value: '', text: words.chooseEntry },
                ...found.map((entry) => ({ value: entry.id, text: nameOf(entry) })),
              ]}
              onChange={(id) => {
                setChosen(id);
                onChange({ name: '', version: '', url: '', softwareType: '' });
              }}
            />
          )
        }
      </With>
      {chosen !== '' && (
        <With loaded={versions}>
          {(found) =>
            found.length === 0 ? (
              <p class="muted">{words.noVersions}</p>
            ) : (
              <SelectField
                label={words.version}
                value={found.find((one) => memberText(one, repository, 'version') === value.version)?.id ?? ''}
                options={[
                  { value: '', text: words.chooseEntry },
                  ...found.map((one) => ({ value: one.id, text: memberText(one, repository, 'version') || one.id })),
                ]}
                onChange={(id) => {
                  const version = found.find((one) => one.id === id);
                  const entry = entries.data?.find((one) => one.id === chosen);
                  if (version !== undefined && entry !== undefined) take(entry, version);
                }}
              />
            )
          }
        </With>
      )}
    </>
  );
}

function FromUrl({ repository, value, onChange, kinds }: FromProps & { readonly kinds: readonly string[] }) {
  const words = tabWords();
  const set = (changes: Partial<Package>): void => onChange({ ...value, ...changes });
  return (
    <>
      <TextField label={words.packageName} value={value.name} onInput={(name) => set({ name })} isRequired />
      <TextField label={words.version} value={value.version} onInput={(version) => set({ version })} isRequired />
      <TextField label={optionalLabel(words.url)} value={value.url} onInput={(url) => set({ url })} />
      {repository === 'c8y_Software' && kinds.length > 0 && (
        <SelectField
          label={words.kind}
          value={value.softwareType}
          options={['', ...kinds].map((kind) => ({ value: kind, text: kind || '–' }))}
          onChange={(softwareType) => set({ softwareType })}
        />
      )}
    </>
  );
}

export interface PackageFieldsProps extends FromProps {
  /** Kinds of software that the device takes. */
  readonly kinds?: readonly string[];
  readonly isFromUrl?: boolean;
}

export function PackageFields({ kinds = [], isFromUrl = false, ...props }: PackageFieldsProps) {
  const words = tabWords();
  const [source, setSource] = useState<'repository' | 'url'>(isFromUrl ? 'url' : 'repository');
  return (
    <>
      <SelectField
        label={words.from}
        value={source}
        options={[
          { value: 'repository', text: words.sources.repository },
          { value: 'url', text: words.sources.url },
        ]}
        onChange={setSource}
      />
      {source === 'repository' ? <FromRepository {...props} /> : <FromUrl {...props} kinds={kinds} />}
    </>
  );
}
