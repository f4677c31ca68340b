/** A terminal of a reader: bash with the pages' ports replaced by free ones, in both directions. */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { PATIENCE, until } from '../helpers/until.ts';
import { patternOf } from './blocks.ts';

/** Before PATIENCE. */
const COMMAND_TIMEOUT_MS = 20_000;

export interface Place {
  readonly directory: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Port of a page → port of this test. */
  readonly ports: ReadonlyMap<string, string>;
}

/** A command printed or returned something else than the page says; the terminal is ready for the next one. */
export class Mismatch extends Error {}

export class Terminal {
  readonly #place: Place;
  #shell: ChildProcessWithoutNullStreams | undefined;
  #closed: Promise<unknown> = Promise.resolve();
  #unread = '';

  constructor(place: Place) {
    this.#place = place;
  }

  /** Types a command and waits until it ends. @throws Mismatch when it prints something else, or fails without a word. */
  async run(command: string, output: readonly string[]): Promise<void> {
    const end = randomUUID();
    this.#type(`{ ${this.#toTest(command)}\n} </dev/null 2>&1\nprintf '\\n%s %d\\n' ${end} $?\n`);
    const ending = new RegExp(`\\n${end} (\\d+)\\n`);
    await until(`the end of ${command}`, () => ending.test(this.#unread), COMMAND_TIMEOUT_MS).catch((error: Error) => {
      throw new Error(`${error.message}; printed so far:\n${this.#unread}`);
    });
    const found = ending.exec(this.#unread);
    const printed = this.#toPage(this.#unread.slice(0, found?.index)).replace(/\n*$/, '\n').replace(/^\n$/, '');
    this.#unread = '';
    if (!new RegExp(`${patternOf(output).source}$`).test(printed))
      throw new Mismatch(`$ ${command}\nis to print\n${output.join('\n')}\nand printed\n${printed}`);
    if (found?.[1] !== '0' && output.length === 0) throw new Mismatch(`$ ${command}\nended with ${found?.[1]}`);
  }

  /** Types a command that may go on, and waits for what it prints first. */
  async begin(command: string, output: readonly string[]): Promise<void> {
    this.#type(`{ ${this.#toTest(command)}\n} </dev/null 2>&1\n`);
    await this.printed(output);
  }

  /** Waits for the next lines of what goes on here. */
  async printed(output: readonly string[]): Promise<void> {
    const pattern = patternOf(output);
    await until('', () => pattern.test(this.#toPage(this.#unread)), COMMAND_TIMEOUT_MS).catch(() => {
      throw new Error(`a terminal is to print\n${output.join('\n')}\nand printed\n${this.#toPage(this.#unread)}`);
    });
    const text = this.#toPage(this.#unread);
    this.#unread = text.slice(pattern.exec(text)?.[0].length);
  }

  /** Ctrl-C: the signal goes to all processes of the terminal. Waits until they have ended. */
  async interrupt(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    const shell = this.#shell;
    if (shell === undefined) return;
    this.#shell = undefined;
    const kill = (how: NodeJS.Signals): void => {
      try {
        process.kill(-(shell.pid ?? 0), how);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    };
    // Otherwise the shell waits for the next command.
    shell.stdin.end();
    kill(signal);
    const timer = setTimeout(() => kill('SIGKILL'), COMMAND_TIMEOUT_MS * PATIENCE);
    await this.#closed;
    clearTimeout(timer);
    this.#unread = '';
  }

  #type(text: string): void {
    if (this.#shell === undefined) {
      const shell = spawn('bash', ['--noprofile', '--norc'], {
        cwd: this.#place.directory,
        env: this.#place.environment,
        detached: true,
        stdio: 'pipe',
      });
      for (const stream of [shell.stdout, shell.stderr])
        stream.on('data', (chunk: Buffer) => {
          this.#unread += chunk.toString();
        });
      this.#closed = new Promise((done) => {
        shell.on('close', done);
      });
      this.#shell = shell;
    }
    this.#shell.stdin.write(text);
  }

  #toTest(text: string): string {
    return text.replace(/\b\d{4}\b/g, (digits) => this.#place.ports.get(digits) ?? digits);
  }

  #toPage(text: string): string {
    let page = text.replaceAll('\r\n', '\n').replaceAll('127.0.0.1', 'localhost');
    for (const [ofPage, ofTest] of this.#place.ports)
      page = page.replaceAll(new RegExp(`\\b${ofTest}\\b`, 'g'), ofPage);
    return page;
  }
}
