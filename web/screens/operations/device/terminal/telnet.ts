/** Telnet's negotiation (RFC 854): taken out of the stream, and answered. */

const IAC = 255;
const [DONT, DO, WONT, WILL, SB, SE] = [254, 253, 252, 251, 250, 240];
/** Options that are taken: the other end echoes; no signal to go ahead; type (RFC 1091) and size (RFC 1073) of the screen. */
const ECHO = 1;
const GO_AHEAD_SUPPRESSED = 3;
const TERMINAL_TYPE = 24;
const WINDOW_SIZE = 31;
const SEND = 1;
const IS = 0;
const TYPE = new TextEncoder().encode('xterm-256color');

export interface TelnetRead {
  readonly text: Uint8Array;
  /** To be sent back at once; may be empty. */
  readonly answer: Uint8Array;
}

const doubled = (bytes: Iterable<number>): number[] =>
  [...bytes].flatMap((byte) => (byte === IAC ? [IAC, IAC] : [byte]));

/** The network virtual terminal. What is in force is not answered again, so that two ends never answer each other for ever. */
export class Telnet {
  /** The other end shows what is sent: a password stays hidden, as it does not. */
  isEchoing = false;
  #state: 'text' | 'command' | 'option' | 'sub' | 'sub-command' = 'text';
  #verb = 0;
  /** The first bytes of a subnegotiation. */
  #sub: number[] = [];
  #hasSize = false;
  readonly #answered = new Set<number>();

  #columns: number;
  #rows: number;

  constructor(columns = 80, rows = 24) {
    [this.#columns, this.#rows] = [columns, rows];
  }

  read(bytes: Uint8Array): TelnetRead {
    const text: number[] = [];
    const answer: number[] = [];
    let isTypeTold = false;
    for (const byte of bytes) {
      if (this.#state === 'text') {
        if (byte === IAC) this.#state = 'command';
        // A NUL stands behind a CR that is not the end of a line.
        else if (byte !== 0) text.push(byte);
      } else if (this.#state === 'command') {
        if (byte === IAC) text.push(byte);
        this.#state = byte >= WILL && byte <= DONT ? 'option' : byte === SB ? 'sub' : 'text';
        this.#verb = byte;
        this.#sub = [];
      } else if (this.#state === 'option') {
        answer.push(...this.#answerTo(this.#verb, byte));
        this.#state = 'text';
      } else if (this.#state === 'sub') {
        if (byte === IAC) this.#state = 'sub-command';
        else if (this.#sub.length < 2) this.#sub.push(byte);
      } else {
        this.#state = byte === SE ? 'text' : 'sub';
        // Once for each part: more are not asked for in earnest.
        if (isTypeTold || byte !== SE || this.#sub[0] !== TERMINAL_TYPE || this.#sub[1] !== SEND) continue;
        answer.push(IAC, SB, TERMINAL_TYPE, IS, ...TYPE, IAC, SE);
        isTypeTold = true;
      }
    }
    return { text: Uint8Array.from(text), answer: Uint8Array.from(answer) };
  }

  #answerTo(verb: number, option: number): readonly number[] {
    const isTaken =
      option === GO_AHEAD_SUPPRESSED ||
      (verb === WILL ? option === ECHO : option === TERMINAL_TYPE || option === WINDOW_SIZE);
    if (option === ECHO && (verb === WILL || verb === WONT)) this.isEchoing = verb === WILL;
    const said =
      verb === WILL ? (isTaken ? DO : DONT) : verb === DO ? (isTaken ? WILL : WONT) : verb === WONT ? DONT : WONT;
    // An echo is switched on and off again and again: for each password.
    const key = said * 256 + option;
    if (option === ECHO) this.#answered.delete((said === DO ? DONT : DO) * 256 + ECHO);
    if (this.#answered.has(key)) return [];
    this.#answered.add(key);
    if (said !== WILL || option !== WINDOW_SIZE) return [IAC, said, option];
    this.#hasSize = true;
    return [IAC, said, option, ...this.#size()];
  }

  #size(): readonly number[] {
    const size = [this.#columns >> 8, this.#columns & 0xff, this.#rows >> 8, this.#rows & 0xff];
    return [IAC, SB, WINDOW_SIZE, ...doubled(size), IAC, SE];
  }

  /** What is sent when the screen has another size: nothing to an end that did not ask for it. */
  resize(columns: number, rows: number): Uint8Array {
    [this.#columns, this.#rows] = [columns, rows];
    return Uint8Array.from(this.#hasSize ? this.#size() : []);
  }

  /** What is sent for these bytes. */
  write(bytes: Uint8Array): Uint8Array {
    return Uint8Array.from(doubled(bytes));
  }
}
