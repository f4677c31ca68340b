/** A new bulk operation: for whom, what, when and how fast. */
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import { notify } from '../../../core/notices.ts';
import { href } from '../../../core/route.ts';
import { countObjects } from '../../../core/server/managed-object.ts';
import { fieldTime, instantOf } from '../../../core/time/time.ts';
import { common } from '../../../core/text/common.ts';
import { textParameter, useUrlState } from '../../../core/url-state.ts';
import { Button } from '../../../parts/button.tsx';
import { Form, SelectField, TextField, optionalLabel } from '../../../parts/fields.tsx';
import { GroupField } from '../../../parts/group-field.tsx';
import { JsonField } from '../../../parts/json.tsx';
import { Page } from '../../../parts/page.tsx';
import { FormFault, With } from '../../../parts/states.tsx';
import { zoneText } from '../../../parts/time.tsx';
import { EXAMPLES, operationFault } from '../json.ts';
import { words as operationWords } from '../text.ts';
import { BULK_ADMIN, BULK_PATH, createBulk, readBulk } from './bulk.ts';
import { words as bulkWords } from './text.ts';

const SHAPE = { group: textParameter(), failed: textParameter() };
const GROUPS = '(has(c8y_IsDeviceGroup) or has(c8y_IsDynamicGroup))';
/** So that the start is not in the past when the request arrives. */
const SOON_MS = 2_000;

export default function NewBulkOperation() {
  const words = bulkWords();
  const { route } = useLocation();
  const [{ group, failed }, set] = useUrlState(SHAPE);
  const [text, setText] = useState('{\n  "c8y_Restart": {}\n}');
  const [note, setNote] = useState('');
  const [when, setWhen] = useState<'now' | 'later'>('now');
  const [time, setTime] = useState(fieldTime(Date.now() + 3_600_000));
  const [ramp, setRamp] = useState('1');
  // The failed ones get what they have not done.
  const earlier = useLoaded(
    failed === ''
      ? undefined
      : async (signal) => {
          const bulk = await readBulk(failed, signal);
          setText(JSON.stringify(bulk.operationPrototype, null, 2));
          return bulk;
        },
    [failed],
  );
  const counted = useLoaded(
    group === '' || failed !== '' ? undefined : (signal) => countObjects({ q: `$filter=bygroupid(${group})` }, signal),
    [group, failed],
  );
  const count = failed === '' ? counted.data : earlier.data?.progress.failed;
  const seconds = Number(ramp);
  const atMs = when === 'now' ? Date.now() + SOON_MS : instantOf(time);
  const timeFault = atMs === undefined ? common().badTime : atMs < Date.now() ? words.pastTime : undefined;
  const rampFault = seconds > 0 ? undefined : words.badRamp;
  const fault = operationFault(text, operationWords());
  const blocked = (failed === '' && group === '' ? words.noGroup : undefined) ?? fault ?? timeFault ?? rampFault;
  const bodyOf = (): Record<string, unknown> => ({
    ...(failed === '' ? { groupId: group } : { failedParentId: failed }),
    startDate: new Date(when === 'now' ? Date.now() + SOON_MS : (atMs ?? Date.now())).toISOString(),
    creationRamp: seconds,
    operationPrototype: JSON.parse(text),
    ...(note === '' ? {} : { note }),
  });
  const create = useAction(async () => {
    await createBulk(bodyOf());
    notify(words.made);
    route(href('/operations/bulk'));
  });
  return (
    <Page
      copy={{ method: 'POST', path: BULK_PATH, body: fault === undefined ? bodyOf() : { groupId: group } }}
      title={words.create}
      crumbs={[{ text: words.title, href: href('/operations/bulk') }]}
    >
      <Form onSubmit={() => blocked === undefined && void create.run()}>
        {failed === '' ? (
          <>
            <GroupField condition={GROUPS} value={group} onChange={(id) => set({ group: id }, { isStep: true })} />
            {counted.data === 0 && <p class="note">{words.noDevices}</p>}
          </>
        ) : (
          <With loaded={earlier}>{() => <p class="note">{words.failedOf(failed)}</p>}</With>
        )}
        <SelectField
          label={words.examples}
          value=""
          options={[
            { value: '', text: words.example },
            ...Object.keys(EXAMPLES).map((name) => ({ value: name, text: name })),
          ]}
          onChange={(name) => name !== '' && setText(JSON.stringify({ [name]: EXAMPLES[name] }, null, 2))}
        />
        <JsonField label={words.prototype} value={text} onInput={setText} hint={words.prototypeHint} />
        <TextField label={optionalLabel(words.note)} value={note} onInput={setNote} />
        <SelectField
          label={words.when}
          value={when}
          options={[
            { value: 'now', text: words.whens.now },
            { value: 'later', text: words.whens.later },
          ]}
          onChange={setWhen}
        />
        {when === 'later' && (
          <TextField label={words.time} value={time} onInput={setTime} error={timeFault} hint={zoneText()} />
        )}
        <TextField
          label={words.ramp}
          value={ramp}
          onInput={setRamp}
          inputMode="numeric"
          hint={words.rampHint}
          error={rampFault}
        />
        {count !== undefined && rampFault === undefined && <p>{words.summary(count, count * seconds)}</p>}
        <FormFault error={create.error} />
        <div class="form-buttons">
          <Button kind="main" type="submit" roles={BULK_ADMIN} blocked={blocked} isBusy={create.isRunning}>
            {words.send}
          </Button>
        </div>
      </Form>
    </Page>
  );
}
