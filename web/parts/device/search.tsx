/** A field that finds a device by the beginning of its name, or by its id. */
import { useSearch } from '../../core/api/search.ts';
import { listObjects, nameOf, quoted } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { Combobox } from '../combobox.tsx';

const SHOWN_MAX = 8;

export interface DeviceSearchProps {
  readonly label: string;
  readonly placeholder?: string;
  readonly onChoose: (device: ManagedObject) => void;
}

async function find(text: string, signal: AbortSignal): Promise<readonly ManagedObject[]> {
  const name = `name eq ${quoted(`${text}*`)}`;
  const filter = /^\d+$/.test(text) ? `(${name} or id eq ${quoted(text)})` : name;
  return (await listObjects({ q: `$filter=${filter}` }, 1, signal)).slice(0, SHOWN_MAX);
}

export function DeviceSearch({ label, placeholder, onChoose }: DeviceSearchProps) {
  const search = useSearch(find, () => devices.length === 1 && choose(devices[0]));
  const devices = search.found ?? [];
  const choose = (device: ManagedObject): void => {
    search.setTyped('');
    onChoose(device);
  };
  return (
    <Combobox
      label={label}
      value={search.typed}
      onInput={search.setTyped}
      placeholder={placeholder ?? ''}
      error={search.error?.message}
      suggestions={devices.map((device) => ({
        key: device.id,
        value: nameOf(device),
        text: (
          <>
            {nameOf(device)} <span class="muted mono">{device.id}</span>
          </>
        ),
      }))}
      onChoose={(suggestion) => {
        const device = devices.find(({ id }) => id === suggestion?.key);
        if (device === undefined) search.takeFirst();
        else choose(device);
      }}
    />
  );
}
