/**
 * Load of what is no list of the history: files, links, external IDs, options, users, ended sessions. What was
 * acknowledged is looked for one by one.
 */
import { delay, PASSWORD } from './server.ts';
import type { HttpAnswer, ServerProcess } from './server.ts';
import type { Sender } from './load.ts';

const RETRY_MS = 20;
const USER_PASSWORD = 'kept over Power cuts 1';
const FILE_BYTES = 30_000;
const LOOKS_AT_ONCE = 8;

interface Kept {
  readonly what: string;
  isThere(): Promise<boolean>;
}

const BOUNDARY = 'millrace-kept';

export class KeptSender implements Sender {
  readonly name = 'kept';
  readonly otherAnswers = new Map<string, number>();
  readonly #server: ServerProcess;
  readonly #kept: Kept[] = [];
  #device = '';
  #count = 0;
  #isStopped = false;

  constructor(server: ServerProcess) {
    this.#server = server;
  }

  get acknowledgedCount(): number {
    return this.#kept.length;
  }

  /** Before `run`, on a running server. */
  async open(): Promise<void> {
    this.#device = await this.#server.createDevice(this.name);
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    const kinds = [this.#file, this.#attachment, this.#child, this.#externalId, this.#option, this.#user, this.#logout];
    for (let turn = 0; !this.#isStopped && !this.#server.isDisposed; turn += 1) {
      try {
        const kept = await kinds[turn % kinds.length].call(this, (this.#count += 1));
        if (kept !== undefined) this.#kept.push(kept);
      } catch {
        // No connection: the server is being started again.
        await delay(RETRY_MS);
      }
    }
  }

  /** What was acknowledged and is not there, in words. */
  async missing(): Promise<string[]> {
    const missing: string[] = [];
    const rest = this.#kept[Symbol.iterator]();
    const look = async (): Promise<void> => {
      for (const { what, isThere } of rest) if (!(await isThere())) missing.push(what);
    };
    await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, look));
    return missing;
  }

  /** @returns the answer where it is the one that was asked for. */
  async #sent(
    status: number,
    method: string,
    path: string,
    body?: string | object,
    headers?: Record<string, string>,
  ): Promise<HttpAnswer | undefined> {
    const answer = await this.#server.http(method, path, body, headers);
    if (answer.status === status) return answer;
    const what = `${answer.status} ${method} ${path.replaceAll(/\d+/g, 'N')}: ${answer.text}`;
    this.otherAnswers.set(what, (this.otherAnswers.get(what) ?? 0) + 1);
    await delay(RETRY_MS);
    return undefined;
  }

  #read(path: string, says: (answer: HttpAnswer) => boolean, headers?: Record<string, string>): Kept {
    return { what: path, isThere: async () => says(await this.#server.http('GET', path, undefined, headers)) };
  }

  async #file(number: number): Promise<Kept | undefined> {
    const content = `${number} `.repeat(FILE_BYTES / 8);
    const part = (head: string, text: string): string =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
    const object = JSON.stringify({ name: `kept-${number}`, type: 'text/plain' });
    const body = `${part('name="object"', object)}${part('name="file"; filename="kept.txt"', content)}--${BOUNDARY}--\r\n`;
    const type = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, accept: 'application/json' };
    const answer = await this.#sent(201, 'POST', '/inventory/binaries', body, type);
    if (answer === undefined) return undefined;
    const { id } = answer.json<{ id: string }>();
    return this.#read(`/inventory/binaries/${id}`, ({ text }) => text === content);
  }

  async #attachment(number: number): Promise<Kept | undefined> {
    const event = { source: { id: this.#device }, time: new Date().toISOString(), type: 'kept_Event', text: 'x' };
    const made = await this.#sent(201, 'POST', '/event/events', event, { accept: 'application/json' });
    if (made === undefined) return undefined;
    const path = `/event/events/${made.json<{ id: string }>().id}/binaries`;
    const content = `${number} `.repeat(FILE_BYTES / 8);
    const answer = await this.#sent(201, 'POST', path, content, { 'content-type': 'text/plain' });
    return answer && this.#read(path, ({ text }) => text === content);
  }

  async #child(number: number): Promise<Kept | undefined> {
    const path = `/inventory/managedObjects/${this.#device}/childDevices`;
    const answer = await this.#sent(
      201,
      'POST',
      path,
      { name: `child-${number}` },
      {
        'content-type': 'application/vnd.com.nsn.cumulocity.managedObject+json',
        accept: 'application/json',
      },
    );
    if (answer === undefined) return undefined;
    const { id } = answer.json<{ id: string }>();
    return this.#read(`${path}/${id}`, ({ status }) => status === 200);
  }

  async #externalId(number: number): Promise<Kept | undefined> {
    const externalId = `kept-${number}`;
    const body = { type: 'kept_Type', externalId };
    const answer = await this.#sent(201, 'POST', `/identity/globalIds/${this.#device}/externalIds`, body);
    return answer && this.#read(`/identity/externalIds/kept_Type/${externalId}`, ({ status }) => status === 200);
  }

  async #option(number: number): Promise<Kept | undefined> {
    const path = `/tenant/options/kept/option${number}`;
    const answer = await this.#sent(200, 'PUT', path, { value: `${number}` });
    return answer && this.#read(path, ({ text }) => text.includes(`"value":"${number}"`));
  }

  async #user(number: number): Promise<Kept | undefined> {
    const userName = `kept-${number}`;
    const answer = await this.#sent(201, 'POST', '/user/t1/users', { userName, password: USER_PASSWORD });
    return (
      answer &&
      this.#read('/user/currentUser', ({ text }) => text.includes(`"${userName}"`), {
        authorization: `Basic ${Buffer.from(`t1/${userName}:${USER_PASSWORD}`).toString('base64')}`,
      })
    );
  }

  /** A session of a user that has ended stays ended. */
  async #logout(): Promise<Kept | undefined> {
    const form = `grant_type=PASSWORD&username=admin&password=${encodeURIComponent(PASSWORD)}`;
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await this.#sent(200, 'POST', '/tenant/oauth/token?tenant_id=t1', form, type);
    if (answer === undefined) return undefined;
    const authorization = `Bearer ${answer.json<{ access_token: string }>().access_token}`;
    const ended = await this.#sent(200, 'POST', '/user/logout', undefined, { authorization });
    return ended && this.#read('/user/currentUser', ({ status }) => status === 401, { authorization });
  }
}
