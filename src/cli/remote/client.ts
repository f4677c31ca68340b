/** The REST API for the commands: with a password, or with a token that the server on this machine gives its operator. */
import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { askServer, isServerRunning } from '../../operate/control.ts';
import { CommandError } from '../../operate/exit-codes.ts';
import { MANAGEMENT_PASSWORD_VARIABLE, PASSWORD_VARIABLE } from './settings.ts';
import type { RemoteOptions } from './settings.ts';

const URL_DEFAULT = 'http://localhost:8080';
const REQUEST_TIMEOUT_MS = 30_000;
const CONTROL_TIMEOUT_MS = 30_000;
/** Entries of one page, and pages of one list. */
const PAGE_SIZE = 1_000;
const PAGES_MAX = 1_000;
/** Without characters that look alike. */
const LETTERS = ['abcdefghijkmnpqrstuvwxyz', 'ABCDEFGHJKLMNPQRSTUVWXYZ', '23456789', '-_.+'] as const;
const PASSWORD_LENGTH = 20;

export class RemoteApi {
  readonly url: string;
  /** Value of the header. */
  readonly authorization: string;
  /** Undefined when the control socket has let the operator in. */
  readonly password: string | undefined;

  /** `<tenant>/<user>` that logs in. */
  readonly #login: string;

  private constructor(url: string, authorization: string, password: string | undefined, login: string) {
    this.#login = login;
    this.url = url;
    this.authorization = authorization;
    this.password = password;
  }

  /** @throws CommandError without a password where no server runs on the data directory, or it gives no token. */
  static async connect(options: RemoteOptions): Promise<RemoteApi> {
    const { url, tenant, user, password } = options;
    const login = `${tenant}/${user}`;
    if (password !== undefined && !(await usesControl(options))) {
      const basic = Buffer.from(`${login}:${password}`).toString('base64');
      return new RemoteApi(url ?? URL_DEFAULT, `Basic ${basic}`, password, login);
    }
    const answer = await askLocal(options, { command: 'access', tenant, user });
    if (url !== undefined && !isLocal(url, [answer['url'], answer['baseUrl']]))
      throw new CommandError(
        `${url} is not an address of the server on ${resolve(options.data)}, whose token it would get; give --password, or leave --url and MILLRACE_URL out`,
      );
    return new RemoteApi(url ?? String(answer['url']), `Bearer ${String(answer['token'])}`, undefined, login);
  }

  /** @returns the JSON of the answer; undefined for one without. @throws CommandError with what the server says. */
  async request(method: string, path: string, body?: object | string): Promise<any> {
    const { answer, text } = await this.#fetch(method, path, body);
    if (answer.ok) return text === '' ? undefined : JSON.parse(text);
    throw this.#refusal(`${method} ${path}`, answer.status, text);
  }

  /** @returns the JSON of a GET; undefined for a 404. @throws CommandError for all else that fails. */
  async find(path: string): Promise<any> {
    const { answer, text } = await this.#fetch('GET', path);
    if (answer.ok) return JSON.parse(text);
    if (answer.status === 404) return undefined;
    throw this.#refusal(`GET ${path}`, answer.status, text);
  }

  #refusal(request: string, status: number, text: string): CommandError {
    const words = `${status} ${messageOf(text)}`;
    if (status === 401 && this.password !== undefined)
      return new CommandError(`${request}: ${words}; --password is that of ${this.#login}, who logs in`);
    return new CommandError(`${request}: ${words}`);
  }

  async #fetch(method: string, path: string, body?: object | string): Promise<{ answer: Response; text: string }> {
    const isForm = body instanceof FormData || body === undefined;
    try {
      const answer = await fetch(this.url + path, {
        method,
        headers: {
          authorization: this.authorization,
          accept: 'application/json',
          ...(isForm ? {} : { 'content-type': typeof body === 'string' ? FORM_TYPE : 'application/json' }),
        },
        ...(body === undefined
          ? {}
          : { body: body instanceof FormData || typeof body === 'string' ? body : JSON.stringify(body) }),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      return { answer, text: await answer.text() };
    } catch (error) {
      const { cause, message } = error as Error;
      const reason = cause instanceof Error ? cause.message || String(Reflect.get(cause, 'code')) : message;
      const remedy = /self[- ]signed|unable to (?:get|verify)/.test(reason)
        ? '; NODE_EXTRA_CA_CERTS=<file> names the certificate that it is to trust'
        : '';
      throw new CommandError(`${this.url} does not answer: ${reason}${remedy}`);
    }
  }

  /** All entries of a collection, page by page. */
  async *list(path: string, name: string): AsyncGenerator<any, undefined> {
    for (let page = 1; page <= PAGES_MAX; page += 1) {
      const separator = path.includes('?') ? '&' : '?';
      const answer = await this.request('GET', `${path}${separator}pageSize=${PAGE_SIZE}&currentPage=${page}`);
      const entries = answer[name] as unknown[];
      yield* entries;
      if (entries.length < PAGE_SIZE) return undefined;
    }
    throw new CommandError(`the list ${path} has more than ${PAGES_MAX * PAGE_SIZE} entries`);
  }
}

/** Whether the URL reaches this machine, or the server whose own URLs these are: another one is not shown a token. */
function isLocal(url: string, own: readonly unknown[]): boolean {
  const { hostname } = new URL(url);
  return LOOPBACK.test(hostname) || own.some((one) => typeof one === 'string' && new URL(one).hostname === hostname);
}
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

const FORM_TYPE = 'application/x-www-form-urlencoded';

/**
 * Whether the control socket is asked in place of a password. That of the environment may be the one that the container of
 * a server began with: a server on the data directory is asked first.
 */
export async function usesControl({ url, password, data }: RemoteOptions): Promise<boolean> {
  if (password === undefined) return true;
  const isOfEnvironment = [PASSWORD_VARIABLE, MANAGEMENT_PASSWORD_VARIABLE].some(
    (name) => process.env[name] === password,
  );
  return url === undefined && isOfEnvironment && isServerRunning(resolve(data));
}

/** Asks the server on the data directory. @throws CommandError when none runs there, or it refuses. */
export async function askLocal(
  { data }: Pick<RemoteOptions, 'data'>,
  request: object,
): Promise<Record<string, unknown>> {
  const path = resolve(data);
  const answer = await askServer(path, request, CONTROL_TIMEOUT_MS);
  if (answer === undefined)
    throw new CommandError(
      `no password is given and no server runs on ${path}; give --password, or the --data of a running server`,
    );
  if (!answer.ok) throw new CommandError(answer.error ?? 'the server refused');
  return answer;
}

function messageOf(text: string): string {
  try {
    const { error, message } = JSON.parse(text) as { error?: string; message?: string };
    return message ?? error ?? text;
  } catch {
    return text; /* a proxy answers in its own words */
  }
}

/** A password that the server takes, of about 115 bits. Begins with a letter or a digit: `--password -x` names an option. */
export function generatePassword(): string {
  const all = LETTERS.join('');
  for (;;) {
    const password = Array.from({ length: PASSWORD_LENGTH }, () => all[randomInt(all.length)]).join('');
    const isOfAllKinds = LETTERS.every((kind) => [...password].some((letter) => kind.includes(letter)));
    if (isOfAllKinds && /^[a-z\d]/i.test(password)) return password;
  }
}
