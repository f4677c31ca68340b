/** A field that finds a device by the beginning of its name, or by its id. */
import { useEffect, useState } from 'preact/hooks';
import { useLoaded } from '../../core/api/request.ts';
import { listObjects, nameOf, quoted } from '../../core/server/managed-object.ts';
import type { ManagedObject } from '../../core/server/managed-object.ts';
import { Combobox } from '../combobox.tsx';

const DEBOUNCE_MS = 80;
const SHOWN_MAX = 8;

export interface DeviceSearchProps {
  readonly label: string;
  readonly placeholder?: string;
  readonly onChoose: (device: ManagedObject) => void;
}

export function DeviceSearch({ label, placeholder, onChoose }: DeviceSearchProps) {
  const [typed, setTyped] = useState('');
  const [asked, setAsked] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setAsked(typed.trim()), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const found = useLoaded(
    asked === ''
      ? undefined
      : async (signal) => {
          const name = `name eq ${quoted(`${asked}*`)}`;
          const filter = /^\d+$/.test(asked) ? `(${name} or id eq ${quoted(asked)})` : name;
          return (await listObjects({ q: `$filter=${filter}` }, 1, signal)).slice(0, SHOWN_MAX);
        },
    [asked],
  );
  const devices = asked === '' ? [] : (found.data ?? []);
  return (
    <Combobox
      label={label}
      value={typed}
      onInput={setTyped}
      placeholder={placeholder ?? ''}
      error={found.error?.message}
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
        const device =
          devices.find(({ id }) => id === suggestion?.key) ?? (devices.length === 1 ? devices[0] : undefined);
        if (device === undefined) return;
        setTyped('');
        setAsked('');
        onChoose(device);
      }}
    />
  );
}
