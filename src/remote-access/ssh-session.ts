/**
 * An SSH session of a page: the server is the SSH client, over the tunnel to the device (docs/spec/remote-access.md#ssh).
 * A tunnel inside of that tunnel joins the page and the shell: both have the same bounds.
 */
import { createPublicKey } from 'node:crypto';
import { Duplex } from 'node:stream';
import type { AnyAuthMethod, AuthenticationType, Client, ClientChannel, ParsedKey, Prompt } from 'ssh2';
import { CLOSE, SSH_LOGIN_LIMIT } from './limits.ts';
import { TypedLine, fingerprintOf, keptFingerprint, sizeOf } from './ssh-login.ts';
import type { ScreenSize } from './ssh-login.ts';
import type { Tunnel, TunnelEnd } from './tunnel.ts';

const TERMINAL = 'xterm-256color';
const TRIES_OF_USER = 3;
const KEY_BITS_MAX = 4_096;
/** Neither groups that the other side chooses, nor large ones, nor packed data: all are work of this node. */
const ALGORITHMS = {
  kex: {
    append: [],
    prepend: [],
    remove: [
      'diffie-hellman-group-exchange-sha256' as const,
      'diffie-hellman-group16-sha512' as const,
      'diffie-hellman-group17-sha512' as const,
      'diffie-hellman-group18-sha512' as const,
    ],
  },
  compress: ['none' as const],
};

/** What the configuration knows; the user is asked for the rest. */
export interface SshLogin {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly privateKey?: string | undefined;
}

export interface SshSessionOptions {
  readonly page: TunnelEnd;
  /** To the device. */
  readonly tunnel: Tunnel;
  readonly login: SshLogin;
  /** Keeps the first host key of a configuration. @returns the key that is kept. */
  readonly keepHostKey: (fingerprint: string) => Promise<string>;
}

type Method = Exclude<AuthenticationType, 'hostbased' | 'agent'>;

/** Signing takes the time of this node: a key of 16,384 bits a second. @throws Error above 4,096 bits. */
function requireCheap(key: ParsedKey): void {
  const { modulusLength = 0 } = createPublicKey(key.getPublicPEM()).asymmetricKeyDetails ?? {};
  if (modulusLength > KEY_BITS_MAX)
    throw new Error(`the private key has ${modulusLength} bits, more than ${KEY_BITS_MAX}`);
}

export class SshSession {
  readonly #options: SshSessionOptions;
  readonly #inner: Tunnel;
  readonly #stream: Duplex;
  readonly #timer: NodeJS.Timeout;
  #client: Client | undefined;
  #shell: ClientChannel | undefined;
  #line: TypedLine | undefined;
  #size: ScreenSize = { cols: 80, rows: 24 };
  /** The page does not take what the shell writes. */
  #isFull = false;
  #password: string | undefined;
  /** One of several secrets is known to be right. */
  #isPartial = false;
  /** The host key that this session has compared. */
  #known: string | undefined;

  constructor(options: SshSessionOptions) {
    const { page, tunnel, login } = options;
    this.#options = options;
    this.#password = login.password;
    const drained = (): void => {
      if (!this.#isFull) queueMicrotask(() => tunnel.drained('client'));
    };
    this.#stream = new Duplex({
      read: drained,
      // The tunnel holds what the device does not take, up to its bound.
      write: (bytes: Buffer, _encoding, done) => {
        tunnel.received('client', bytes);
        done();
      },
    });
    this.#inner = tunnel.inner((reason) => this.#ended(reason));
    this.#inner.attach('client', page);
    const { loginMs } = tunnel.limits;
    this.#timer = setTimeout(() => {
      this.#inner.refuse(CLOSE.failed, SSH_LOGIN_LIMIT, `the login took more than ${loginMs / 1_000} s`);
    }, loginMs).unref();
    tunnel.attach('client', {
      send: (bytes) => this.#stream.push(bytes) && !this.#isFull,
      pause: () => false,
      resume: () => undefined,
      end: (code, reason) => this.#inner.close(code, reason),
      destroy: () => this.#inner.close(CLOSE.failed, 'the tunnel has ended'),
    });
    this.#connect(drained).catch((error: unknown) => this.#fail(error));
  }

  /** Text is the size of the screen, bytes are keys. */
  message(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      if (this.#line !== undefined) this.#line.type(data.toString());
      else if (this.#shell !== undefined) this.#inner.received('client', data);
      return;
    }
    const size = sizeOf(data.toString());
    if (size === undefined) {
      this.#inner.close(CLOSE.policy, 'a text message is {"cols", "rows"} of a screen');
      return;
    }
    this.#size = size;
    this.#shell?.setWindow(size.rows, size.cols, 0, 0);
  }

  drained(): void {
    this.#inner.drained('client');
  }

  /** The page has left. */
  closed(reason: string): void {
    this.#inner.ended('client', reason);
  }

  async #connect(drained: () => void): Promise<void> {
    const { login } = this.#options;
    // Most nodes never need it.
    const { Client: SshClient, utils } = (await import('ssh2')).default;
    const key = login.privateKey === undefined ? undefined : utils.parseKey(login.privateKey);
    if (key instanceof Error) throw new Error(`the private key of the configuration: ${key.message}`);
    if (key !== undefined) requireCheap(key);
    const username = login.username || (await this.#ask('login as: ', true));
    if (this.#inner.isOver) return;
    const client = new SshClient();
    this.#client = client;
    const tries = this.#tries(key);
    client
      .on('error', (error) => this.#fail(error))
      .on('banner', (text) => this.#show(text.replaceAll(/\r?\n/g, '\r\n')))
      .on('close', () => this.#inner.close(CLOSE.failed, 'the SSH server has closed the connection'))
      .on('ready', () => {
        client.shell({ term: TERMINAL, ...this.#size }, (error, shell) => {
          if (error === undefined) this.#open(shell, drained);
          else this.#fail(error);
        });
      });
    client.connect({
      sock: this.#stream,
      username,
      readyTimeout: 0,
      algorithms: ALGORITHMS,
      hostVerifier: (hostKey: Buffer, verify: (isKnown: boolean) => void) => {
        this.#isKnown(hostKey)
          .then(verify)
          .catch((error: unknown) => this.#fail(error));
      },
      authHandler: (left, isPartial, next) => {
        const method = this.#nextMethod(tries, left, isPartial);
        if (method === undefined) next(false as unknown as AnyAuthMethod);
        else
          this.#login(method, username, key)
            .then(next)
            .catch((error: unknown) => this.#fail(error));
      },
    });
  }

  /** The user is asked only where the configuration has no secret, or the device wants another one too. */
  #tries(key: ParsedKey | undefined): Method[] {
    if (key !== undefined) return ['none', 'publickey'];
    if (this.#password !== undefined) return ['none', 'password', 'keyboard-interactive'];
    const asked = (method: Method): Method[] => Array<Method>(TRIES_OF_USER).fill(method);
    return ['none', ...asked('keyboard-interactive'), ...asked('password')];
  }

  /** @param left methods that the device takes; null for the first time. */
  #nextMethod(tries: Method[], left: AuthenticationType[] | null, isPartial: boolean | null): Method | undefined {
    if (isPartial === true && !this.#isPartial) tries.push('keyboard-interactive', 'password');
    this.#isPartial ||= isPartial === true;
    for (let method = tries.shift(); method !== undefined; method = tries.shift())
      if (left === null || left.includes(method)) return method;
    return undefined;
  }

  async #login(type: Method, username: string, key: ParsedKey | undefined): Promise<AnyAuthMethod> {
    if (type === 'publickey') return { type, username, key: key as ParsedKey };
    if (type === 'password') return { type, username, password: await this.#secret(`${username}'s password: `) };
    if (type === 'none') return { type, username };
    return {
      type,
      username,
      prompt: (name, instructions, _language, prompts, finish) => {
        this.#answers([name, instructions], prompts)
          .then(finish)
          .catch((error: unknown) => this.#fail(error));
      },
    };
  }

  async #answers(heads: readonly string[], prompts: readonly Prompt[]): Promise<string[]> {
    for (const head of heads) if (head !== '') this.#show(`${head}\r\n`);
    const answers: string[] = [];
    for (const { prompt, echo } of prompts)
      answers.push(await (echo === true ? this.#ask(prompt, true) : this.#secret(prompt)));
    return answers;
  }

  /** The password of the configuration once, then what the user types. */
  #secret(prompt: string): Promise<string> {
    const password = this.#password;
    this.#password = undefined;
    return password === undefined ? this.#ask(prompt, false) : Promise.resolve(password);
  }

  #ask(prompt: string, isShown: boolean): Promise<string> {
    this.#show(prompt);
    return new Promise((resolve, reject) => {
      this.#line = new TypedLine(
        isShown,
        (text) => this.#show(text),
        (line) => {
          this.#line = undefined;
          if (line === undefined) reject(new Error('the login was cancelled'));
          else resolve(line);
        },
      );
    });
  }

  async #isKnown(hostKey: Buffer): Promise<boolean> {
    const fingerprint = fingerprintOf(hostKey);
    // Keys are exchanged again and again: the configuration is read once.
    const kept = this.#known ?? keptFingerprint(await this.#options.keepHostKey(fingerprint));
    this.#known = kept;
    if (kept === fingerprint) return true;
    this.#inner.close(CLOSE.policy, `host key ${fingerprint}, known is ${kept}`);
    return false;
  }

  #open(shell: ClientChannel, drained: () => void): void {
    clearTimeout(this.#timer);
    this.#shell = shell;
    shell.setWindow(this.#size.rows, this.#size.cols, 0, 0);
    // It is never stopped, its tunnel is: what waits is counted there.
    for (const output of [shell, shell.stderr])
      output.on('data', (bytes: Buffer) => this.#inner.received('device', bytes));
    shell.on('drain', () => this.#inner.drained('device'));
    shell.on('error', (error: Error) => this.#fail(error));
    shell.on('close', () => this.#inner.close(CLOSE.normal, 'the shell has ended'));
    this.#inner.attach('device', {
      send: (bytes) => shell.write(bytes),
      pause: () => {
        this.#isFull = true;
        return true;
      },
      resume: () => {
        this.#isFull = false;
        drained();
      },
      end: () => undefined,
      destroy: () => undefined,
    });
  }

  #show(text: string): void {
    this.#inner.received('device', Buffer.from(text));
  }

  #fail(error: unknown): void {
    const { level, message } = error as Error & { readonly level?: string };
    // A typed name is not told: it may be a password in the wrong place.
    const { username } = this.#options.login;
    const refused = `the device refused the login${username ? ` of ${username}` : ''}`;
    this.#inner.close(CLOSE.failed, `SSH: ${level === 'client-authentication' ? refused : message}`);
  }

  #ended(reason: string): void {
    clearTimeout(this.#timer);
    this.#client?.end();
    this.#options.tunnel.ended('client', reason);
    this.#stream.destroy();
  }
}
