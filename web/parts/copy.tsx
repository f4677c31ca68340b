/** Copying a text, and the menu "Copy as" of a view. */
import { Check, Copy } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
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
}

/** A text as one word of a shell. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The curl command of a request, which asks for the password. @param user with its tenant: `t1/admin`. */
export function curlOf({ method = 'GET', path, body }: ViewRequest, user: string, server = SERVER_URL): string {
  const lines = [`curl -u ${shellWord(user)} ${shellWord(server + path)}`];
  if (method !== 'GET') lines.push(`-X ${method}`);
  lines.push("-H 'Accept: application/json'");
  if (body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${shellWord(JSON.stringify(body))}`);
  return lines.join(' \\\n  ');
}

/** The same request with the fetch client of @c8y/client. */
export function clientCodeOf({ method = 'GET', path, body }: ViewRequest, server = SERVER_URL): string {
  const options =
    method === 'GET'
      ? "{ headers: { accept: 'application/json' } }"
      : `{\n  method: '${method}',\n  headers: { accept: 'application/json', 'content-type': 'application/json' },${
          body === undefined ? '' : `\n  body: JSON.stringify(${JSON.stringify(body)}),`
        }\n}`;
  return [
    "import { BasicAuth, Client } from '@c8y/client';",
    '',
    "const auth = new BasicAuth({ tenant: 'TENANT', user: 'USER', password: 'PASSWORD' });",
    `const client = new Client(auth, ${JSON.stringify(server)});`,
    `const response = await client.core.fetch(${JSON.stringify(path)}, ${options});`,
    'console.log(await response.json());',
    '',
  ].join('\n');
}

export interface CopyAsProps {
  readonly request: ViewRequest;
  readonly user: string;
  /** The address of the view with times in the place of `now-6h`; without it the entry is missing. */
  readonly absoluteUrl?: () => string;
}

/** The menu of a view: its link, and the request behind it as code. */
export function CopyAs({ request, user, absoluteUrl }: CopyAsProps) {
  const words = common();
  const take = (text: string) => () => {
    void copy(text).then((isCopied) => isCopied && notify(words.copied));
  };
  return (
    <Menu
      label={words.copyAs}
      icon={Copy}
      items={[
        { text: words.copyLink, onSelect: take(location.href) },
        ...(absoluteUrl ? [{ text: words.copyAbsoluteLink, onSelect: () => take(withZone(absoluteUrl()))() }] : []),
        { text: words.copyCurl, onSelect: take(curlOf(request, user)) },
        { text: words.copyClient, onSelect: take(clientCodeOf(request)) },
      ]}
    />
  );
}
