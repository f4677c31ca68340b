/** Certificates whose devices may log in: add, prove, switch, revoke. */
import { Plus, Trash2 } from 'lucide';
import { useState } from 'preact/hooks';
import { changeJson, getJson, pathOf } from '../../../core/api/json.ts';
import { useAction } from '../../../core/api/request.ts';
import { sendRaw } from '../../../core/api/send.ts';
import { tenant } from '../../../core/api/session.ts';
import { saveFile } from '../../../core/clipboard.ts';
import { notify } from '../../../core/notices.ts';
import { collectionAt, pagePath } from '../../../core/server/collection.ts';
import { common } from '../../../core/text/common.ts';
import { now } from '../../../core/time/clock.ts';
import { numberParameter, useUrlState } from '../../../core/url-state.ts';
import { offerUndo } from '../../../core/api/undo.ts';
import { Button } from '../../../parts/button.tsx';
import { CopyButton } from '../../../parts/copy.tsx';
import { Confirm, Dialog, FormDialog } from '../../../parts/dialog.tsx';
import { CheckField, FileField, Form, TextArea, TextField, optionalLabel } from '../../../parts/fields.tsx';
import { Code } from '../../../parts/json.tsx';
import { ListPage } from '../../../parts/list/list-page.tsx';
import { useList } from '../../../parts/list/list.ts';
import { Page, Section } from '../../../parts/page.tsx';
import { FormFault } from '../../../parts/states.tsx';
import type { Column } from '../../../parts/list/column.ts';
import { Time } from '../../../parts/time.tsx';
import { words as adminWords } from '../titles/text.ts';
import { words as settingWords } from './text.ts';

const SHAPE = { page: numberParameter(1, { minimum: 1 }) };
const ADMIN = ['ROLE_TENANT_MANAGEMENT_ADMIN', 'ROLE_TENANT_ADMIN'];

interface Certificate {
  readonly fingerprint: string;
  readonly name?: string;
  readonly status: 'ENABLED' | 'DISABLED';
  readonly subject?: string;
  readonly issuer?: string;
  readonly notAfter?: string;
  readonly autoRegistrationEnabled?: boolean;
  readonly proofOfPossessionValid?: boolean;
  readonly proofOfPossessionUnsignedVerificationCode?: string;
}

const tenantId = (): string => tenant.peek()?.name ?? '';
const listPath = (): string => pathOf`/tenant/tenants/${tenantId()}/trusted-certificates`;
const pathTo = (fingerprint: string): string => `${listPath()}/${encodeURIComponent(fingerprint)}`;
const proofPath = (fingerprint: string): string =>
  pathOf`/tenant/tenants/${tenantId()}/trusted-certificates-pop/${fingerprint}`;
const nameOf = ({ name, subject, fingerprint }: Certificate): string => name || subject || fingerprint;

function Add({ onClose, onChanged }: { readonly onClose: () => void; readonly onChanged: () => void }) {
  const words = settingWords();
  const [name, setName] = useState('');
  const [pem, setPem] = useState('');
  const [registers, setRegisters] = useState(false);
  const add = useAction(async () => {
    const body = { status: 'ENABLED', certInPemFormat: pem, autoRegistrationEnabled: registers };
    await changeJson('POST', listPath(), name === '' ? body : { ...body, name });
    onChanged();
    notify(words.added(name || words.addCertificate));
    onClose();
  });
  const take = (file: File | undefined): void => {
    if (file !== undefined) void file.text().then(setPem);
  };
  return (
    <FormDialog
      title={words.addCertificate}
      onClose={onClose}
      onSubmit={() => void add.run()}
      action={words.add}
      isBusy={add.isRunning}
      error={add.error}
    >
      <TextField label={optionalLabel(words.name)} value={name} onInput={setName} hasFocus />
      <FileField label={words.pemFile} accept=".pem,.crt,.cer" onFile={take} />
      <TextArea label={words.pem} value={pem} onInput={setPem} isMono isRequired />
      <CheckField label={words.autoRegistrationText} isChecked={registers} onChange={setRegisters} />
    </FormDialog>
  );
}

interface ProveProps {
  readonly certificate: Certificate;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function Prove({ certificate, onClose, onChanged }: ProveProps) {
  const words = settingWords();
  const [code, setCode] = useState(certificate.proofOfPossessionUnsignedVerificationCode);
  const [signature, setSignature] = useState('');
  const path = proofPath(certificate.fingerprint);
  const ask = useAction(async () => {
    const made = await changeJson<Certificate>('POST', `${path}/verification-code`);
    setCode(made?.proofOfPossessionUnsignedVerificationCode);
  });
  const verify = useAction(async () => {
    await changeJson('POST', `${path}/pop`, { proofOfPossessionSignedVerificationCode: signature });
    onChanged();
    notify(words.proven);
    onClose();
  });
  return (
    <Dialog
      title={words.prove}
      onClose={onClose}
      foot={
        <>
          <Button onClick={() => void ask.run()} isBusy={ask.isRunning}>
            {common().reload}
          </Button>
          <Button kind="main" type="submit" form="proof" isBusy={verify.isRunning}>
            {words.verify}
          </Button>
        </>
      }
    >
      <Form id="proof" onSubmit={() => void verify.run()}>
        <p>{words.proveText}</p>
        <Code label={words.proveText} text={code ?? ''} />
        <Code
          label={words.signature}
          text={`printf %s '${code ?? ''}' | openssl dgst -sha256 -sign key.pem | openssl base64 -A`}
        />
        <TextArea label={words.signature} value={signature} onInput={setSignature} isMono isRequired rows={4} />
        <FormFault error={verify.error ?? ask.error} />
      </Form>
    </Dialog>
  );
}

function Revocation() {
  const words = settingWords();
  const path = '/tenant/trusted-certificates/settings/crl';
  const [serial, setSerial] = useState('');
  const revoke = useAction(async () => {
    await changeJson('PUT', path, { crls: [{ serialNumberInHex: serial.trim() }] });
    notify(words.revokedDone(serial.trim()));
    setSerial('');
  });
  const download = useAction(async () => {
    const answer = await sendRaw(path, { headers: { Accept: 'text/csv' } });
    saveFile('revoked.csv', await answer.blob());
  });
  return (
    <Section title={words.revoked}>
      <div class="filters">
        <TextField label={words.serial} value={serial} onInput={setSerial} isMono />
        <Button
          roles={ADMIN}
          blocked={serial.trim() === '' ? words.serial : undefined}
          isBusy={revoke.isRunning}
          onClick={() => void revoke.run()}
        >
          {words.revoke}
        </Button>
        <Button roles={ADMIN} isBusy={download.isRunning} onClick={() => void download.run()}>
          {words.revokedList}
        </Button>
      </div>
      <FormFault error={revoke.error ?? download.error} />
    </Section>
  );
}

export default function Certificates() {
  const words = settingWords();
  const [{ page }, set] = useUrlState(SHAPE);
  const [isAdding, setAdding] = useState(false);
  const [proved, setProved] = useState<Certificate>();
  const [removed, setRemoved] = useState<Certificate>();
  const keyOf = ({ fingerprint }: Certificate): string => fingerprint;
  const list = useList({ ...collectionAt<Certificate>(listPath(), 'certificates'), keyOf, page, inputs: [] });
  const change = useAction(async (certificate: Certificate, changes: Partial<Certificate>) => {
    const { status, autoRegistrationEnabled = false } = certificate;
    await changeJson('PUT', pathTo(certificate.fingerprint), changes);
    list.reload();
    offerUndo(words.changed(nameOf(certificate)), {
      isAsLeft: async () => {
        const now = await getJson<Certificate>(pathTo(certificate.fingerprint));
        const left = { status, autoRegistrationEnabled, ...changes };
        return now.status === left.status && (now.autoRegistrationEnabled ?? false) === left.autoRegistrationEnabled;
      },
      run: async () => {
        await changeJson('PUT', pathTo(certificate.fingerprint), { status, autoRegistrationEnabled });
        list.reload();
      },
    });
  });
  const remove = async (): Promise<void> => {
    if (removed === undefined) return;
    await changeJson('DELETE', pathTo(removed.fingerprint));
    notify(words.removed(nameOf(removed)));
    list.reload();
  };
  const columns: readonly Column<Certificate>[] = [
    { id: 'name', title: words.name, isHeading: true, cell: nameOf },
    { id: 'subject', title: words.subject, cell: ({ subject }) => subject ?? '' },
    {
      id: 'until',
      title: words.validUntil,
      cell: ({ notAfter }) => (
        <span>
          <Time value={notAfter} />
          {notAfter !== undefined && Date.parse(notAfter) < now.value && <strong> · {words.expired}</strong>}
        </span>
      ),
    },
    { id: 'state', title: words.certificateState, cell: ({ status }) => words.states[status] },
    {
      id: 'registers',
      title: words.autoRegistration,
      cell: (certificate) => (
        <CheckField
          label={certificate.autoRegistrationEnabled ? common().yes : common().no}
          name={`${words.autoRegistrationText}: ${nameOf(certificate)}`}
          isChecked={certificate.autoRegistrationEnabled ?? false}
          onChange={(isOn) => void change.run(certificate, { autoRegistrationEnabled: isOn })}
        />
      ),
    },
    {
      id: 'proof',
      title: words.proof,
      cell: ({ proofOfPossessionValid }) => (proofOfPossessionValid ? words.proven : words.notProven),
    },
    {
      id: 'actions',
      title: common().more,
      isNarrow: true,
      cell: (certificate) => {
        const isOn = certificate.status === 'ENABLED';
        const given = { roles: ADMIN, kind: 'quiet' as const };
        return (
          <span class="row">
            <CopyButton text={certificate.fingerprint} label={words.copyFingerprint} />
            <Button {...given} onClick={() => setProved(certificate)} label={`${words.prove}: ${nameOf(certificate)}`}>
              {words.prove}
            </Button>
            <Button
              {...given}
              label={`${isOn ? words.disable : words.enable}: ${nameOf(certificate)}`}
              onClick={() => void change.run(certificate, { status: isOn ? 'DISABLED' : 'ENABLED' })}
            >
              {isOn ? words.disable : words.enable}
            </Button>
            <Button
              {...given}
              icon={Trash2}
              label={`${words.remove}: ${nameOf(certificate)}`}
              onClick={() => setRemoved(certificate)}
            >
              {words.remove}
            </Button>
          </span>
        );
      },
    },
  ];
  return (
    <Page
      copy={{ path: pagePath(listPath(), page) }}
      title={adminWords().certificates}
      actions={
        <Button kind="main" icon={Plus} roles={ADMIN} onClick={() => setAdding(true)}>
          {words.addCertificate}
        </Button>
      }
    >
      <p class="section muted">{words.certificateHint}</p>
      <FormFault error={change.error} />
      <div class="section">
        <ListPage
          label={adminWords().certificates}
          list={list}
          columns={columns}
          keyOf={keyOf}
          page={page}
          onPage={(value) => set({ page: value }, { isStep: true })}
          empty={<p>{words.certificateHint}</p>}
        />
      </div>
      <Revocation />
      {isAdding && <Add onClose={() => setAdding(false)} onChanged={list.reload} />}
      {proved && <Prove certificate={proved} onClose={() => setProved(undefined)} onChanged={list.reload} />}
      {removed && (
        <Confirm
          title={words.removeTitle(nameOf(removed))}
          action={words.remove}
          isDangerous
          run={remove}
          onClose={() => setRemoved(undefined)}
        >
          <p>{words.removeCertificateText}</p>
        </Confirm>
      )}
    </Page>
  );
}
