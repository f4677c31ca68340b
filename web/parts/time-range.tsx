/** The picker of a range of time: the last hours and days, or from and to, in the zone that stands beside it. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { useShortcuts } from '../core/keys.ts';
import { lastOf, rangeText, resolveTime } from '../core/time/range.ts';
import type { TimeRange } from '../core/time/range.ts';
import { fieldTime, instantOf } from '../core/time/time.ts';
import { common } from '../core/text/common.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Form, SelectField, TextField } from './fields.tsx';
import { zoneText } from './time.tsx';

const LAST = ['15m', '1h', '6h', '24h', '7d', '30d'] as const;
const CUSTOM = 'custom';

export interface TimeRangeFieldProps {
  readonly value: TimeRange;
  readonly onChange: (range: TimeRange) => void;
  /** Offers all of the time. */
  readonly hasAny?: boolean;
}

interface CustomRangeProps {
  readonly value: TimeRange;
  readonly onChange: (range: TimeRange) => void;
  readonly onClose: () => void;
}

const shown = (text: string): string => {
  const ms = resolveTime(text);
  return ms === undefined ? '' : fieldTime(ms);
};

function CustomRange({ value, onChange, onClose }: CustomRangeProps) {
  const words = common();
  const [from, setFrom] = useState(shown(value.from));
  const [to, setTo] = useState(shown(value.to));
  const [first, last] = [from, to].map((text) => (text === '' ? undefined : instantOf(text)));
  const isBad = (text: string, ms: number | undefined): boolean => text !== '' && ms === undefined;
  const isReversed = first !== undefined && last !== undefined && last < first;
  const isWrong = isBad(from, first) || isBad(to, last) || isReversed;
  const iso = (ms: number | undefined): string => (ms === undefined ? '' : new Date(ms).toISOString());
  const submit = (): void => {
    if (isWrong) return;
    onChange({ from: iso(first), to: iso(last) });
    onClose();
  };
  return (
    <Dialog
      title={words.timeRange}
      onClose={onClose}
      foot={
        <Button kind="main" onClick={submit}>
          {words.apply}
        </Button>
      }
    >
      <Form onSubmit={submit}>
        <TextField
          label={words.from}
          value={from}
          onInput={setFrom}
          placeholder="2026-11-21 14:03"
          error={isBad(from, first) ? words.badTime : undefined}
        />
        <TextField
          label={words.to}
          value={to}
          onInput={setTo}
          placeholder="2026-11-21 15:03"
          error={isBad(to, last) ? words.badTime : isReversed ? words.badOrder : undefined}
        />
        <p class="muted">{zoneText()}</p>
      </Form>
    </Dialog>
  );
}

export function TimeRangeField({ value, onChange, hasAny = false }: TimeRangeFieldProps) {
  const [isCustom, setCustom] = useState(false);
  const words = common();
  const last = lastOf(value);
  const known = LAST.find((one) => one === last);
  const isAny = value.from === '' && value.to === '';
  const isOther = known === undefined && !(isAny && hasAny);
  const choose = (choice: string): void => {
    if (choice === CUSTOM) setCustom(true);
    else onChange(choice === '' ? { from: '', to: '' } : { from: `now-${choice}`, to: '' });
  };
  const box = useRef<HTMLDivElement>(null);
  useShortcuts(
    useMemo(
      () => [{ keys: 't', text: () => common().timeRange, run: () => box.current?.querySelector('select')?.focus() }],
      [],
    ),
  );
  return (
    <div ref={box} style={{ display: 'contents' }}>
      <SelectField
        label={words.timeRange}
        value={isOther ? 'shown' : (known ?? '')}
        onChange={choose}
        options={[
          ...(hasAny ? [{ value: '', text: words.anyTime }] : []),
          ...LAST.map((one) => ({ value: one as string, text: words.lastRanges[one] })),
          ...(isOther ? [{ value: 'shown', text: rangeText(value) }] : []),
          { value: CUSTOM, text: words.customRange },
        ]}
      />
      {isCustom && <CustomRange value={value} onChange={onChange} onClose={() => setCustom(false)} />}
    </div>
  );
}
