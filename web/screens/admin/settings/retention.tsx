/** How long data is kept: the rules, a count of what they would remove, and the runs. */
import { Pencil, Plus, Trash2 } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../../core/api/error.ts';
import { changeJson, getJson } from '../../../core/api/json.ts';
import { usePoll } from '../../../core/api/poll.ts';
import { useAction, useLoaded } from '../../../core/api/request.ts';
import { notify } from '../../../core/notices.ts';
import { collectionAt, pagePath, wholeOf } from '../../../core/server/collection.ts';
import { common } from '../../../core/text/common.ts';
import { numberText } from '../../../core/text/language.ts';
import { offerUndo } from '../../../core/api/undo.ts';
import { Button } from '../../../parts/button.tsx';
import { Confirm, FormDialog } from '../../../parts/dialog.tsx';
import { SelectField, TextField } from '../../../parts/fields.tsx';
import { Page, Section } from '../../../parts/page.tsx';
import { FormFault, With } from '../../../parts/states.tsx';
import { Table } from '../../../parts/list/table.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { Time } from '../../../parts/time.tsx';
import { words as adminWords } from '../titles/text.ts';
import { words as settingWords } from './text.ts';
import type { SettingTexts } from './text.ts';

const ADMIN = ['ROLE_RETENTION_RULE_ADMIN'];
const RULES_PATH = '/retention/retentions';
const RUNS_PATH = '/retention/runs';
const RUN_EVERY_MS = 1_000;
const COUNT_EVERY_MS = 300;
const DATA_TYPES = ['*', 'ALARM', 'AUDIT', 'BULK_OPERATION', 'EVENT', 'MEASUREMENT', 'OPERATION'] as const;

interface Rule {
  readonly id: string;
  readonly dataType: (typeof DATA_TYPES)[number];
  readonly type: string;
  readonly fragmentType: string;
  readonly source: string;
  readonly maximumAge: number;
  readonly editable: boolean;
}

interface Run {
  readonly id: string;
  readonly status: keyof SettingTexts['statuses'];
  readonly trigger: keyof SettingTexts['triggers'];
  readonly dryRun: boolean;
  readonly creationTime: string;
  readonly endTime?: string;
  readonly failureReason?: string;
  readonly total: number;
  readonly results: readonly { readonly ruleId: string; readonly dataType: Rule['dataType']; readonly count: number }[];
}

const bodyOf = ({ dataType, type, fragmentType, source, maximumAge }: Omit<Rule, 'id' | 'editable'>): object => ({
  dataType,
  type,
  fragmentType,
  source,
  maximumAge,
});

const readRules = (signal?: AbortSignal): Promise<readonly Rule[]> =>
  wholeOf(collectionAt<Rule>(RULES_PATH, 'retentionRules'), signal);

interface EditProps {
  readonly rule: Rule | undefined;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

/** Counts what a rule would remove, before it is saved. @throws ApiError. */
async function countOf(rule: object, signal: AbortSignal): Promise<Run> {
  const body = { dryRun: true, rule };
  let run = (await changeJson<Run>('POST', RUNS_PATH, body)) as Run;
  while (run.status === 'RUNNING') {
    await new Promise((resolve) => setTimeout(resolve, COUNT_EVERY_MS));
    run = await getJson<Run>(`${RUNS_PATH}/${run.id}`, signal);
  }
  return run;
}

/** What the rule of the form would remove, asked for by a button: a count may take minutes. */
function Preview({ body }: { readonly body: object }) {
  const words = settingWords();
  const [counted, setCounted] = useState<{ readonly of: string; readonly run: Run }>();
  const left = useRef(new AbortController());
  useEffect(() => () => left.current.abort(), []);
  const key = JSON.stringify(body);
  const count = useAction(async () => {
    const run = await countOf(body, left.current.signal);
    if (run.status !== 'COMPLETED') {
      const message = run.failureReason ?? words.statuses[run.status];
      throw new ApiError({ status: 0, error: 'retention', message, method: 'GET', url: `${RUNS_PATH}/${run.id}` });
    }
    setCounted({ of: key, run });
  });
  return (
    <>
      <div class="row">
        <Button isBusy={count.isRunning} onClick={() => void count.run()}>
          {words.preview}
        </Button>
        <span role="status">
          {counted?.of === key && (
            <>
              <strong>{words.counted(counted.run.total)}</strong>{' '}
              {counted.run.results
                .filter((one) => one.count > 0)
                .map((one) => `${words.dataTypes[one.dataType]}: ${numberText(one.count)}`)
                .join(' · ')}
            </>
          )}
        </span>
      </div>
      <FormFault error={count.error} />
    </>
  );
}

function Edit({ rule, onClose, onChanged }: EditProps) {
  const words = settingWords();
  const [dataType, setDataType] = useState(rule?.dataType ?? '*');
  const [type, setType] = useState(rule?.type ?? '*');
  const [fragmentType, setFragmentType] = useState(rule?.fragmentType ?? '*');
  const [source, setSource] = useState(rule?.source ?? '*');
  const [age, setAge] = useState(String(rule?.maximumAge ?? 60));
  const body = bodyOf({ dataType, type, fragmentType, source, maximumAge: Number(age) });
  const save = useAction(async () => {
    if (rule === undefined) {
      await changeJson('POST', RULES_PATH, body);
      notify(words.added(words.dataTypes[dataType]));
    } else {
      const path = `${RULES_PATH}/${rule.id}`;
      await changeJson('PUT', path, body);
      offerUndo(words.changed(words.dataTypes[dataType]), {
        isAsLeft: async () => JSON.stringify(bodyOf(await getJson<Rule>(path))) === JSON.stringify(body),
        run: async () => {
          await changeJson('PUT', path, bodyOf(rule));
          onChanged();
        },
      });
    }
    onChanged();
    onClose();
  });
  return (
    <FormDialog
      title={rule === undefined ? words.addRule : words.edit}
      onClose={onClose}
      onSubmit={() => void save.run()}
      isBusy={save.isRunning}
      error={save.error}
    >
      <SelectField
        label={words.dataType}
        value={dataType}
        options={DATA_TYPES.map((value) => ({ value, text: words.dataTypes[value] }))}
        onChange={setDataType}
      />
      <TextField label={words.type} value={type} onInput={setType} isMono />
      <TextField label={words.fragment} value={fragmentType} onInput={setFragmentType} isMono />
      <TextField label={words.source} value={source} onInput={setSource} isMono />
      <TextField label={words.maximumAge} type="number" value={age} onInput={setAge} hint={words.ageHint} isRequired />
      <Preview body={body} />
    </FormDialog>
  );
}

function Runs({ isAsked, onAsked }: { readonly isAsked: boolean; readonly onAsked: (isAsked: boolean) => void }) {
  const words = settingWords();
  const runs = useLoaded((signal) => collectionAt<Run>(RUNS_PATH, 'retentionRuns').load(1, signal), []);
  const isRunning = runs.data?.some(({ status }) => status === 'RUNNING') ?? false;
  usePoll(RUN_EVERY_MS, isRunning && !runs.isLoading ? runs.reload : undefined);
  const begin = async (dryRun: boolean): Promise<void> => {
    await changeJson('POST', RUNS_PATH, { dryRun });
    runs.reload();
  };
  const count = useAction(() => begin(true));
  const stop = useAction(async (id: string) => {
    await changeJson('DELETE', `${RUNS_PATH}/${id}`);
    runs.reload();
  });
  const columns: readonly Column<Run>[] = [
    {
      id: 'started',
      title: words.started,
      isHeading: true,
      cell: ({ creationTime }) => <Time value={creationTime} hasAge />,
    },
    { id: 'trigger', title: words.trigger, cell: ({ trigger }) => words.triggers[trigger] },
    { id: 'status', title: words.status, cell: ({ status }) => words.statuses[status] },
    {
      id: 'result',
      title: words.result,
      cell: ({ dryRun, total }) => <strong>{(dryRun ? words.counted : words.gone)(total)}</strong>,
    },
    {
      id: 'byRule',
      title: words.byRule,
      cell: ({ results, dryRun }) =>
        results
          .map((one) => `${words.dataTypes[one.dataType]}: ${(dryRun ? words.counted : words.gone)(one.count)}`)
          .join(' · '),
    },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: ({ id, status }) =>
        status === 'RUNNING' && (
          <Button kind="quiet" roles={ADMIN} onClick={() => void stop.run(id)}>
            {words.stop}
          </Button>
        ),
    },
  ];
  return (
    <Section
      title={words.runs}
      actions={
        <Button roles={ADMIN} isBusy={count.isRunning} onClick={() => void count.run()}>
          {words.dryRun}
        </Button>
      }
    >
      <p class="field-hint">{words.dryRunHint}</p>
      <FormFault error={count.error ?? stop.error} />
      <With loaded={runs}>
        {(found) =>
          found.length === 0 ? (
            <p class="muted">{words.noRuns}</p>
          ) : (
            <Table label={words.runs} columns={columns} rows={found} keyOf={({ id }) => id} />
          )
        }
      </With>
      {isAsked && (
        <Confirm
          title={words.runTitle}
          action={words.runNow}
          isDangerous
          run={() => begin(false)}
          onClose={() => onAsked(false)}
        >
          <p>{words.runText}</p>
        </Confirm>
      )}
    </Section>
  );
}

export default function Retention() {
  const words = settingWords();
  const [edited, setEdited] = useState<Rule | 'new'>();
  const [isRunAsked, setRunAsked] = useState(false);
  const rules = useLoaded(readRules, []);
  const remove = useAction(async (rule: Rule) => {
    await changeJson('DELETE', `${RULES_PATH}/${rule.id}`);
    rules.reload();
    offerUndo(words.removed(words.dataTypes[rule.dataType]), {
      isAsLeft: async () =>
        (await readRules()).every((one) => JSON.stringify(bodyOf(one)) !== JSON.stringify(bodyOf(rule))),
      run: async () => {
        await changeJson('POST', RULES_PATH, bodyOf(rule));
        rules.reload();
      },
    });
  });
  const filter = (value: string): string => (value === '*' ? words.every : value);
  const columns: readonly Column<Rule>[] = [
    { id: 'dataType', title: words.dataType, isHeading: true, cell: ({ dataType }) => words.dataTypes[dataType] },
    { id: 'type', title: words.type, cell: ({ type }) => filter(type) },
    { id: 'fragment', title: words.fragment, cell: ({ fragmentType }) => filter(fragmentType) },
    { id: 'source', title: words.source, cell: ({ source }) => filter(source) },
    {
      id: 'age',
      title: words.maximumAge,
      isEnd: true,
      text: ({ maximumAge }) => maximumAge,
      cell: ({ maximumAge }) => words.days(maximumAge),
    },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: (rule) => {
        const given = { roles: ADMIN, kind: 'quiet' as const, blocked: rule.editable ? undefined : words.notEditable };
        const name = words.dataTypes[rule.dataType];
        return (
          <span class="row">
            <Button {...given} icon={Pencil} label={`${words.edit}: ${name}`} onClick={() => setEdited(rule)}>
              {words.edit}
            </Button>
            <Button {...given} icon={Trash2} label={`${words.remove}: ${name}`} onClick={() => void remove.run(rule)}>
              {words.remove}
            </Button>
          </span>
        );
      },
    },
  ];
  return (
    <Page
      copy={[{ path: pagePath(RULES_PATH, 1) }, { path: pagePath(RUNS_PATH, 1) }]}
      title={adminWords().retention}
      actions={
        <>
          <Button kind="danger" roles={ADMIN} onClick={() => setRunAsked(true)}>
            {words.runNow}
          </Button>
          <Button kind="main" icon={Plus} roles={ADMIN} onClick={() => setEdited('new')}>
            {words.addRule}
          </Button>
        </>
      }
    >
      <Section title={words.rules}>
        <p class="field-hint">{words.ruleHint}</p>
        <FormFault error={remove.error} />
        <With loaded={rules}>
          {(found) => <Table label={words.rules} columns={columns} rows={found} keyOf={({ id }) => id} />}
        </With>
      </Section>
      <Runs isAsked={isRunAsked} onAsked={setRunAsked} />
      {edited && (
        <Edit
          rule={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onChanged={rules.reload}
        />
      )}
    </Page>
  );
}
