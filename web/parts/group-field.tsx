/** A field for a group of the inventory, found by the beginning of its name. */
import { useState } from 'preact/hooks';
import { useLoaded } from '../core/api/request.ts';
import { listObjects, nameOf, quoted } from '../core/server/managed-object.ts';
import { common } from '../core/text/common.ts';
import { SelectField } from './fields.tsx';
import { SlowTextField } from './filter-bar.tsx';
import { With } from './states.tsx';

export interface GroupFieldProps {
  /** Which groups, as a condition of the query language. */
  readonly condition: string;
  /** An id, or '' while none is chosen. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  /** Of a filter: what it says without a group. It offers the first 100, and is there before them. */
  readonly none?: string;
  /** The groups are not asked for yet: what they filter comes first. */
  readonly isWaiting?: boolean;
}

/** At most 100 groups are offered: more are found by name. */
export function GroupField({ condition, value, onChange, none, isWaiting = false }: GroupFieldProps) {
  const words = common();
  const [name, setName] = useState('');
  const query = `$filter=${condition}${name === '' ? '' : ` and name eq ${quoted(`${name}*`)}`} $orderby=name asc`;
  const groups = useLoaded(isWaiting ? undefined : (signal) => listObjects({ query }, 1, signal), [query]);
  return (
    <>
      {none === undefined && <SlowTextField label={words.groupFilter} value={name} onChange={setName} />}
      <With loaded={none === undefined ? groups : { ...groups, data: groups.data ?? [] }}>
        {(found) => (
          <SelectField
            label={words.group}
            value={value}
            options={[
              { value: '', text: none ?? words.chooseGroup },
              ...found.map((group) => ({ value: group.id, text: nameOf(group) })),
              ...(value !== '' && !found.some(({ id }) => id === value)
                ? [{ value, text: `${words.group} ${value}` }]
                : []),
            ]}
            onChange={onChange}
          />
        )}
      </With>
    </>
  );
}
