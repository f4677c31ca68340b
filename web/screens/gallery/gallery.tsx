/** Every part of web/parts in every state: what a screen is made of, and what a change of the styles changes. */
import { Plus, Trash2 } from 'lucide';
import { useState } from 'preact/hooks';
import { ApiError } from '../../core/api/error.ts';
import { notify, notifyUndoable } from '../../core/notices.ts';
import { SEVERITIES } from '../../core/server/alarm.ts';
import { Badge, ConnectionState, SeverityBadge } from '../../parts/badge.tsx';
import { Button, IconButton, LinkButton } from '../../parts/button.tsx';
import { CopyAs, CopyButton } from '../../parts/copy.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { CheckField, FileField, Form, SelectField, TextArea, TextField } from '../../parts/fields.tsx';
import { FilterBar, SlowTextField } from '../../parts/filter-bar.tsx';
import { Code, JsonField, JsonView } from '../../parts/json.tsx';
import { Menu } from '../../parts/menu.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { QueryField } from '../../parts/query-field.tsx';
import { Empty, Fault, Loading, Refused } from '../../parts/states.tsx';
import { Table } from '../../parts/list/table.tsx';
import type { Sort } from '../../parts/list/table.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { TimeRangeField } from '../../parts/time-range.tsx';
import { Time } from '../../parts/time.tsx';

const ERROR = new ApiError({
  status: 422,
  error: 'alarm/Unprocessable Entity',
  message: 'severity HOT is none of CRITICAL, MAJOR, MINOR, WARNING',
  method: 'POST',
  url: 'http://localhost:8080/alarm/alarms',
});
const ROWS = [
  { id: '1000', name: 'Pump 7', type: 'pump', temperature: '61.5' },
  { id: '1001', name: 'A name that is longer than its column would like it to be', type: 'boiler', temperature: '' },
];
const JSON_TEXT = '{"id":"1000","c8y_Water":{"T":{"value":61.500,"unit":"C"}},"list":[1,2],"empty":{},"is":true}';

function Buttons() {
  return (
    <Section title="Buttons">
      <div class="row">
        <Button kind="main">Save</Button>
        <Button icon={Plus}>Add</Button>
        <Button kind="danger" icon={Trash2}>
          Delete
        </Button>
        <Button kind="danger-main">Delete 3 devices</Button>
        <Button kind="quiet">Cancel</Button>
        <Button isBusy>Busy</Button>
        <Button blocked="Nothing is selected">Blocked</Button>
        <Button roles={['ROLE_NOT_THERE']}>Lacks a role</Button>
        <IconButton icon={Plus} label="Add one" onClick={() => notify('Added')} />
        <LinkButton href="#content">A link</LinkButton>
        <CopyButton text="text">Copy</CopyButton>
        <CopyButton text="text" label="Copy the id" />
        <Menu
          label="Menu"
          items={[
            { text: 'First', hint: 'with a hint' },
            { text: 'Blocked', blocked: 'Not now' },
            { text: 'Link', href: '#content' },
          ]}
        />
        <CopyAs requests={{ path: '/alarm/alarms?pageSize=100' }} absoluteUrl={() => location.href} />
      </div>
    </Section>
  );
}

function States() {
  return (
    <Section title="States">
      <div class="row">
        {SEVERITIES.map((severity) => (
          <SeverityBadge key={severity} severity={severity} count={2} />
        ))}
        <ConnectionState state="CONNECTED" />
        <ConnectionState state="AVAILABLE" />
        <ConnectionState state="DISCONNECTED" />
        <ConnectionState state="UNAVAILABLE" />
        <ConnectionState state="MAINTENANCE" />
        <ConnectionState state="UNKNOWN" />
        <Badge>PENDING</Badge>
        <Time value={Date.now() - 200_000} hasAge />
        <Time value="2026-11-21T14:03:07.250Z" />
        <Time value={undefined} />
      </div>
      <div class="stack">
        <Loading />
        <Empty>
          <p>What would be here, and how to get some.</p>
          <Button kind="main">Make one</Button>
        </Empty>
        <Fault error={ERROR} retry={() => undefined} />
        <Refused roles={['ROLE_ALARM_READ', 'ROLE_ALARM_ADMIN']} />
        <p class="note">A note about something that is as it should be, but surprises.</p>
      </div>
    </Section>
  );
}

function Fields() {
  const [text, setText] = useState('Pump 7');
  const [isOn, setOn] = useState(true);
  const [json, setJson] = useState('{"a": }');
  return (
    <Section title="Fields">
      <Form label="Fields" onSubmit={() => undefined}>
        <TextField label="Name" value={text} onInput={setText} hint="As on the label" isRequired />
        <TextField label="Wrong" value={text} onInput={setText} error="It is taken" />
        <SelectField
          label="Severity"
          value="MAJOR"
          options={SEVERITIES.map((value) => ({ value, text: value }))}
          onChange={() => undefined}
        />
        <CheckField label="Only active" isChecked={isOn} onChange={setOn} />
        <TextArea label="Text" value={text} onInput={setText} rows={2} />
        <JsonField label="JSON" value={json} onInput={setJson} rows={3} />
        <FileField label="File" onFile={() => undefined} />
      </Form>
    </Section>
  );
}

function Tables() {
  const [sort, setSort] = useState<Sort | undefined>({ id: 'name', isDescending: false });
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set(['1000']));
  const [query, setQuery] = useState('');
  const [range, setRange] = useState({ from: 'now-6h', to: '' });
  return (
    <Section title="Lists">
      <FilterBar onClear={() => setQuery('')}>
        <QueryField
          class="field-wide"
          label="Query"
          value={query}
          onChange={setQuery}
          names={['name', 'type', 'c8y_Hardware.model']}
          error={query === '' ? undefined : 'Unknown name at position 3'}
        />
        <SlowTextField label="Type" value="" onChange={() => undefined} />
        <TimeRangeField value={range} onChange={setRange} hasAny />
      </FilterBar>
      <Table
        label="Devices"
        rows={ROWS}
        keyOf={({ id }) => id}
        sort={sort}
        onSort={setSort}
        selection={{ keys, onChange: setKeys, nameOf: ({ name }) => name }}
        columns={[
          {
            id: 'name',
            title: 'Name',
            cell: ({ name }) => <a href="#content">{name}</a>,
            isHeading: true,
            isSortable: true,
          },
          { id: 'type', title: 'Type', cell: ({ type }) => type, isSortable: true },
          { id: 'temperature', title: 'Temperature', cell: ({ temperature }) => temperature, isEnd: true },
          { id: 'id', title: 'Id', cell: ({ id }) => <code>{id}</code>, isNarrow: true },
        ]}
      />
    </Section>
  );
}

function Overlays() {
  const [open, setOpen] = useState<'dialog' | 'confirm'>();
  const [tab, setTab] = useState<'one' | 'two'>('one');
  const close = (): void => setOpen(undefined);
  return (
    <Section title="Overlays and tabs">
      <div class="row">
        <Button onClick={() => setOpen('dialog')}>Open a dialog</Button>
        <Button onClick={() => setOpen('confirm')}>Open a confirmation</Button>
        <Button onClick={() => notifyUndoable('3 alarms acknowledged', () => Promise.resolve())}>Show an undo</Button>
        <Button onClick={() => notify('It did not work', { kind: 'fault' })}>Show a fault</Button>
      </div>
      {open === 'dialog' && (
        <Dialog title="A dialog" onClose={close} foot={<Button onClick={close}>Done</Button>}>
          <p>Its text.</p>
        </Dialog>
      )}
      {open === 'confirm' && (
        <Confirm
          title="Delete Pump 7?"
          action="Delete"
          isDangerous
          phrase="Pump 7"
          run={async () => undefined}
          onClose={close}
        >
          <p>12 measurements and 3 children go along.</p>
        </Confirm>
      )}
      <Tabs
        label="Examples"
        value={tab}
        onChange={setTab}
        tabs={[
          { value: 'one', text: 'One' },
          { value: 'two', text: 'Two' },
        ]}
      >
        <p>Content of {tab}</p>
      </Tabs>
    </Section>
  );
}

export default function Gallery() {
  return (
    <Page copy={undefined} title="Gallery" crumbs={[{ text: 'Home', href: '.' }]} beside={<Badge>development</Badge>}>
      <Buttons />
      <States />
      <Fields />
      <Tables />
      <Overlays />
      <Section title="Code">
        <div class="stack">
          <Code label="Command" text={"mosquitto_pub -h localhost -t s/us -m '211,21.5'"} />
          <JsonView label="JSON" text={JSON_TEXT} />
        </div>
      </Section>
    </Page>
  );
}
