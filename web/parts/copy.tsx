/** Copying a text, and the menu "Copy as" of a view. */
import { Check, Copy } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { userWithTenant } from '../core/api/session.ts';
import { copyText } from '../core/clipboard.ts';
import { notify } from '../core/notices.ts';
import { SERVER_URL } from '../core/places.ts';
import { common } from '../core/text/common.ts';
import { withZone } from '../core/time/time.ts';
import { Icon } from './icon.tsx';
import { Menu } from './menu.tsx';

const SHOWN_MS = 1_500;

async function copy(text: string): Promise<boolean> {
  const isCopied = await copyText(text);
  if (!isCopied) notify(common().copyFailed, { kind: 'fault' });
  return isCopied;
}

export interface CopyButtonProps {
  readonly text: string;
  readonly children?: ComponentChildren;
  /** Its name where it has no words. */
  readonly label?: string;
  readonly kind?: 'quiet';
}

export function CopyButton({ text, children, label, kind }: CopyButtonProps) {
  const [isDone, setDone] = useState(false);
  const words = common();
  const press = async (): Promise<void> => {
    if (!(await copy(text))) return;
    setDone(true);
    setTimeout(() => setDone(false), SHOWN_MS);
  };
  const name = children === undefined ? (label ?? words.copy) : undefined;
  return (
    <button
      type="button"
      class={`button ${kind === 'quiet' || children === undefined ? 'button-quiet' : ''} ${children === undefined ? 'button-icon' : ''}`}
      onClick={() => void press()}
      aria-label={name}
      title={name}
    >
      <Icon icon={isDone ? Check : Copy} />
      {children !== undefined && (isDone ? words.copied : children)}
      <span class="visually-hidden" role="status">
        {isDone && children === undefined ? words.copied : ''}
      </span>
    </button>
  );
}

/** The request behind a view. */
export interface ViewRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Of the API, with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** The name of a local file that is sent as the member `file` of a form. */
  readonly upload?: string;
  /** The name of the file that an answer without JSON goes to. */
  readonly file?: string;
}

/** The requests behind a view, in their order; undefined where the link is all that there is. */
export type ViewRequests = ViewRequest | readonly ViewRequest[] | undefined;

/** For a view that knows its requests when it has its answers: they are asked for when they are copied. */
export type LateRequests = () => ViewRequests;

const listOf = (requests: ViewRequests): readonly ViewRequest[] =>
  requests === undefined ? [] : 'path' in requests ? [requests] : requests;

/** A text as one word of a shell. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function curlOfOne({ method = 'GET', path, body, upload, file }: ViewRequest, user: string, server: string): string {
  const lines = [`curl -u ${shellWord(user)} ${shellWord(server + path)}`];
  if (method !== 'GET') lines.push(`-X ${method}`);
  lines.push(file === undefined ? "-H 'Accept: application/json'" : `-o ${shellWord(file)}`);
  if (body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${shellWord(JSON.stringify(body))}`);
  if (upload !== undefined) lines.push(`-F ${shellWord(`file=@${upload}`)}`);
  return lines.join(' \\\n  ');
}

/** The curl commands of requests, each asks for the password. @param user with its tenant: `t1/admin`. */
export const curlOf = (requests: ViewRequests, user: string, server = SERVER_URL): string =>
  listOf(requests)
    .map((request) => curlOfOne(request, user, server))
    .join('\n\n');

/** @param index of the request: names of variables are there once. */
function clientLinesOf({ method = 'GET', path, body, upload, file }: ViewRequest, index: number): readonly string[] {
  const number = index === 0 ? '' : String(index + 1);
  const [response, form] = [`response${number}`, `form${number}`];
  const headers = [
    ...(file === undefined ? ["accept: 'application/json'"] : []),
    ...(body === undefined ? [] : ["'content-type': 'application/json'"]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${JSON.stringify(body)})`]),
    ...(upload === undefined ? [] : [`body: ${form}`]),
  ];
  return [
    ...(upload === undefined
      ? []
      : [
          `const ${form} = new FormData();`,
          `${form}.set('file', new Blob([await readFile(${JSON.stringify(upload)})]), ${JSON.stringify(upload)});`,
        ]),
    `const ${response} = await client.core.fetch(${JSON.stringify(path)}, {${options.map((line) => `\n  ${line},`).join('')}\n});`,
    file === undefined
      ? `console.log(await ${response}.json());`
      : `await writeFile(${JSON.stringify(file)}, new Uint8Array(await ${response}.arrayBuffer()));`,
  ];
}

/** The same requests with the fetch client of @c8y/client. */
export function clientCodeOf(requests: ViewRequests, server = SERVER_URL): string {
  const list = listOf(requests);
  const fromFiles = ['readFile', 'writeFile'].filter((_, at) => list.some((one) => (at === 0 ? one.upload : one.file)));
  return [
    "import { BasicAuth, Client } from '@c8y/client';",
    ...(fromFiles.length === 0 ? [] : [`import { ${fromFiles.join(', ')} } from 'node:fs/promises';`]),
    '',
    "const auth = new BasicAuth({ tenant: 'TENANT', user: 'USER', password: 'PASSWORD' });",
    `const client = new Client(auth, ${JSON.stringify(server)});`,
    ...list.flatMap(clientLinesOf),
    '',
  ].join('\n');
}

export interface CopyAsProps {
  readonly requests: ViewRequests | LateRequests;
  /** The address of the view with times in the place of `now-6h`; without it the entry is missing. */
  readonly absoluteUrl?: (() => string) | undefined;
}

/** The menu of a view: its link, and the requests behind it as code. */
export function CopyAs({ requests, absoluteUrl }: CopyAsProps) {
  const words = common();
  const read = (): ViewRequests => (typeof requests === 'function' ? requests() : requests);
  const hasNone = typeof requests !== 'function' && listOf(requests).length === 0;
  const take = (text: () => string) => () => {
    void copy(text()).then((isCopied) => isCopied && notify(words.copied));
  };
  return (
    <Menu
      label={words.copyAs}
      icon={Copy}
      items={[
        { text: words.copyLink, onSelect: take(() => location.href) },
        ...(absoluteUrl ? [{ text: words.copyAbsoluteLink, onSelect: take(() => withZone(absoluteUrl())) }] : []),
        ...(hasNone
          ? []
          : [
              { text: words.copyCurl, onSelect: take(() => curlOf(read(), userWithTenant())) },
              { text: words.copyClient, onSelect: take(() => clientCodeOf(read())) },
            ]),
      ]}
    />
  );
}
