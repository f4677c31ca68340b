/** What a user may do, with the origin of each right. */
import { useState } from 'preact/hooks';
import { getJson } from '../../../core/api/json.ts';
import { useLoaded } from '../../../core/api/request.ts';
import { href } from '../../../core/route.ts';
import { TextField } from '../../../parts/fields.tsx';
import { Section } from '../../../parts/page.tsx';
import { With } from '../../../parts/states.tsx';
import { Table } from '../../../parts/list/table.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { SCOPES, userPath } from './access.ts';
import type { EffectiveRights } from './access.ts';
import { words as userWords } from './text.ts';
import type { UserTexts } from './text.ts';

interface Right {
  readonly key: string;
  readonly right: string;
  /** An object's id; undefined for a global role. */
  readonly object?: string;
  readonly where: string;
  readonly from: string;
}

type Origin = EffectiveRights['grants'][number]['from'];

const originText = (words: UserTexts, { kind, name }: Origin): string =>
  name === undefined ? words.origins[kind] : `${words.origins[kind]} ${name}`;

/** Roles and grants as rows: a role that several groups give has one row. */
function rightsOf({ roles, grants }: EffectiveRights, words: UserTexts): readonly Right[] {
  const scopeText = (scope: string): string => words.scopes[SCOPES.find((one) => one === scope) ?? '*'];
  return [
    ...roles.map(({ name, holds, from }) => ({
      key: `${name} ${holds}`,
      right: name,
      where: holds === 'EVERYWHERE' ? words.everywhere : words.own,
      from: from.map((origin) => originText(words, origin)).join(', '),
    })),
    ...grants.map(({ managedObject: { id }, scope, permission, type, from }, index) => ({
      key: `grant ${index}`,
      right: `${scopeText(scope)}: ${words.permissionNames[permission as 'READ' | 'ADMIN' | '*']}${type === '*' ? '' : ` (${type})`}`,
      object: id,
      where: id,
      from: originText(words, from),
    })),
  ];
}

export interface RightsProps {
  readonly name: string;
  /** What changes them: another value asks again. */
  readonly inputs: unknown;
  readonly round: number;
}

export function Rights({ name, inputs, round }: RightsProps) {
  const words = userWords();
  const [filter, setFilter] = useState('');
  const loaded = useLoaded(
    (signal) => getJson<EffectiveRights>(`${userPath(name)}/effectiveRights`, signal),
    [name, inputs, round],
  );
  const columns: readonly Column<Right>[] = [
    { id: 'right', title: words.right, isHeading: true, cell: ({ right }) => right },
    {
      id: 'where',
      title: words.where,
      cell: ({ object, where }) =>
        object === undefined ? where : <a href={href('/devices/:id', { id: object })}>{object}</a>,
    },
    { id: 'from', title: words.from, cell: ({ from }) => from },
  ];
  return (
    <Section title={words.may}>
      <p class="field-hint">{words.mayHint}</p>
      <With loaded={loaded}>
        {(rights) => {
          const rows = rightsOf(rights, words);
          const wanted = filter.toLowerCase();
          const shown = rows.filter(({ right, from }) => `${right} ${from}`.toLowerCase().includes(wanted));
          if (rows.length === 0) return <p class="muted">{words.none}</p>;
          return (
            <>
              {rights.uncountedGrants > 0 && <p class="note">{words.uncounted(rights.uncountedGrants)}</p>}
              <div class="filters">
                <TextField label={words.filterRights} value={filter} onInput={setFilter} />
              </div>
              <Table label={words.may} columns={columns} rows={shown} keyOf={({ key }) => key} />
            </>
          );
        }}
      </With>
    </Section>
  );
}
