/** A plain text session without a terminal: Telnet's negotiation, and the text that programs write, within a bound. */

/** Lines that are kept; the oldest go. */
export const LINES_MAX = 2_000;
/** Characters of one line; the rest of a longer one is left out. */
const LINE_LENGTH_MAX = 1_000;
/** Characters of a control sequence that has not ended yet. */
const SEQUENCE_LENGTH_MAX = 200;
const TAB_WIDTH = 8;

/** A whole control sequence at the beginning: colours, cursor, title of the window. */
const SEQUENCE = /^\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]*[0-OQ-WYZ\\^_`-~])/;
/** One that may go on with the next part. */
const BEGUN = /^\u001b(?:\[[0-?]*[ -/]*|\][^\u0007\u001b]*\u001b?|[ -/]*)$/;
const PLAIN = /^[^\u0000-\u001f\u007f]+/;

/** What a program has written, as lines of text. Control sequences are left out, but for the end of a line. */
export class Scrollback {
  #lines: string[] = [''];
  #column = 0;
  #rest = '';
  #cutCount = 0;
  readonly #max: number;

  constructor(max = LINES_MAX) {
    this.#max = max;
  }

  /** Lines that are gone. */
  get droppedCount(): number {
    return this.#cutCount + Math.max(this.#lines.length - this.#max, 0);
  }

  get text(): string {
    return this.#lines.slice(-this.#max).join('\n');
  }

  write(text: string): void {
    let rest = this.#rest + text;
    this.#rest = '';
    while (rest !== '') {
      const plain = PLAIN.exec(rest)?.[0];
      if (plain !== undefined) {
        this.#put(plain);
        rest = rest.slice(plain.length);
      } else if (rest.startsWith('\u001b')) {
        const sequence = SEQUENCE.exec(rest)?.[0];
        if (sequence === undefined && rest.length < SEQUENCE_LENGTH_MAX && BEGUN.test(rest)) {
          this.#rest = rest;
          return;
        }
        if (sequence?.endsWith('K')) this.#cut();
        rest = rest.slice(sequence?.length ?? 1);
      } else {
        this.#control(rest[0]);
        rest = rest.slice(1);
      }
    }
  }

  get #last(): string {
    return this.#lines[this.#lines.length - 1];
  }

  set #last(line: string) {
    this.#lines[this.#lines.length - 1] = line.slice(0, LINE_LENGTH_MAX);
  }

  #put(text: string): void {
    const line = this.#last.padEnd(Math.min(this.#column, LINE_LENGTH_MAX));
    this.#last = line.slice(0, this.#column) + text + line.slice(this.#column + text.length);
    this.#column = Math.min(this.#column + text.length, LINE_LENGTH_MAX);
  }

  #cut(): void {
    this.#last = this.#last.slice(0, this.#column);
  }

  #control(letter: string): void {
    if (letter === '\r') this.#column = 0;
    else if (letter === '\b') this.#column = Math.max(this.#column - 1, 0);
    else if (letter === '\t')
      this.#column = Math.min((Math.floor(this.#column / TAB_WIDTH) + 1) * TAB_WIDTH, LINE_LENGTH_MAX);
    else if (letter === '\n') {
      this.#column = 0;
      // As many lines as are kept are cut at once: a flood of short ones must not hold up the page.
      if (this.#lines.push('') < this.#max * 2) return;
      this.#cutCount += this.#max;
      this.#lines.splice(0, this.#max);
    }
  }
}

const IAC = 255;
const [DONT, DO, WONT, WILL, SB, SE] = [254, 253, 252, 251, 250, 240];
/** Options that are taken: the other end echoes; no signal to go ahead. */
const ECHO = 1;
const GO_AHEAD_SUPPRESSED = 3;

export interface TelnetRead {
  readonly text: Uint8Array;
  /** To be sent back at once; may be empty. */
  readonly answer: Uint8Array;
}

/**
 * The network virtual terminal of Telnet (RFC 854): takes its commands out of the stream and answers them. Each is
 * answered once, so that two ends never answer each other for ever.
 */
export class Telnet {
  /** The other end shows what is sent: a password stays hidden, as it does not. */
  isEchoing = false;
  #state: 'text' | 'command' | 'option' | 'sub' | 'sub-command' = 'text';
  #verb = 0;
  readonly #answered = new Set<number>();

  read(bytes: Uint8Array): TelnetRead {
    const text: number[] = [];
    const answer: number[] = [];
    for (const byte of bytes) {
      if (this.#state === 'text') {
        if (byte === IAC) this.#state = 'command';
        // A NUL stands behind a CR that is not the end of a line.
        else if (byte !== 0) text.push(byte);
      } else if (this.#state === 'command') {
        if (byte === IAC) text.push(byte);
        this.#state = byte >= WILL && byte <= DONT ? 'option' : byte === SB ? 'sub' : 'text';
        this.#verb = byte;
      } else if (this.#state === 'option') {
        answer.push(...this.#answerTo(this.#verb, byte));
        this.#state = 'text';
      } else if (this.#state === 'sub') {
        if (byte === IAC) this.#state = 'sub-command';
      } else this.#state = byte === SE ? 'text' : 'sub';
    }
    return { text: Uint8Array.from(text), answer: Uint8Array.from(answer) };
  }

  #answerTo(verb: number, option: number): readonly number[] {
    const isTaken = option === GO_AHEAD_SUPPRESSED || (option === ECHO && verb === WILL);
    if (option === ECHO && (verb === WILL || verb === WONT)) this.isEchoing = verb === WILL;
    const said =
      verb === WILL ? (isTaken ? DO : DONT) : verb === DO ? (isTaken ? WILL : WONT) : verb === WONT ? DONT : WONT;
    // An echo is switched on and off again and again: for each password.
    const key = said * 256 + option;
    if (option === ECHO) this.#answered.delete((said === DO ? DONT : DO) * 256 + ECHO);
    if (this.#answered.has(key)) return [];
    this.#answered.add(key);
    return [IAC, said, option];
  }

  /** What is sent for these bytes. */
  write(bytes: Uint8Array): Uint8Array {
    return Uint8Array.from([...bytes].flatMap((byte) => (byte === IAC ? [IAC, IAC] : [byte])));
  }
}

/** What a line ends with. */
export const LINE_ENDS = { crlf: '\r\n', lf: '\n', cr: '\r' } as const;
export type LineEnd = keyof typeof LINE_ENDS;
