/** A session with a port of a device, over the WebSocket of remote access: a terminal, or whole lines. */
import { Plug, Unplug } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { socketQuery } from '../../../core/api/session.ts';
import { socketUrl } from '../../../core/places.ts';
import { queryText } from '../../../core/route.ts';
import { bytesText } from '../../../core/text/units.ts';
import { Button } from '../../../parts/button.tsx';
import { CheckField, SelectField } from '../../../parts/fields.tsx';
import { Section } from '../../../parts/page.tsx';
import { Inflow } from './terminal/inflow.ts';
import { LINE_ENDS, LineEditor } from './terminal/lines.ts';
import type { LineEnd } from './terminal/lines.ts';
import { Screen } from './terminal/screen.ts';
import { Telnet } from './terminal/telnet.ts';
import { Terminal } from './terminal/view.tsx';
import { words as tabWords } from './text.ts';

const NORMAL = 1000;
/** Bytes of a message: the server takes 1 MiB. */
const MESSAGE_BYTES_MAX = 65_536;
/** Bytes that the socket holds. */
const ANSWERS_WAITING_MAX = 65_536;
/** A hidden page has no frames: it reads and draws after this time. */
const FRAME_MS_MAX = 250;

type State =
  | { readonly kind: 'connecting' | 'open' }
  | { readonly kind: 'ended'; readonly code: number; readonly reason: string; readonly wasOpen: boolean };

/** What the port speaks; of SSH the server has all but keys, text and the size of the screen. */
export type SessionKind = 'ssh' | 'telnet' | 'text';

export interface SessionProps {
  readonly name: string;
  /** The path of the WebSocket. */
  readonly path: string;
  readonly kind: SessionKind;
  readonly onClose: () => void;
}

/** What one connection has; a new one has all of it anew. */
class Connection {
  readonly screen = new Screen();
  readonly inflow = new Inflow(this.screen);
  readonly telnet: Telnet | undefined;
  readonly lines = new LineEditor();
  readonly socket: WebSocket;
  readonly #isSsh: boolean;
  #ownChoice: boolean | undefined;

  constructor(path: string, kind: SessionKind) {
    this.telnet = kind === 'telnet' ? new Telnet() : undefined;
    this.#isSsh = kind === 'ssh';
    this.choose(undefined);
    this.socket = new WebSocket(`${socketUrl(path)}${queryText(socketQuery())}`, ['binary']);
    this.socket.binaryType = 'arraybuffer';
  }

  /** Whole lines, or keys; without a choice a port that echoes gets letter by letter, and others get lines that the page shows. */
  choose(hasLines: boolean | undefined): void {
    this.#ownChoice = hasLines;
    this.lines.isOn = this.screen.isFeedLine = hasLines ?? (!this.#isSsh && this.telnet?.isEchoing !== true);
  }

  /** Telnet is answered at once; text waits for `work`. */
  take(data: ArrayBuffer): void {
    const bytes = new Uint8Array(data);
    const { text, answer } = this.telnet?.read(bytes) ?? { text: bytes, answer: undefined };
    if (answer !== undefined) this.#answer(answer);
    this.choose(this.#ownChoice);
    this.inflow.push(text);
  }

  /** The screen's part of a frame. @returns whether more waits */
  work(): boolean {
    const isMore = this.inflow.work();
    this.#answer(this.#encoded(this.screen.takeAnswer()));
    return isMore;
  }

  close(): void {
    this.socket.onclose = this.socket.onmessage = null;
    this.socket.close(NORMAL);
    this.inflow.clear();
  }

  send(text: string): void {
    this.#send(this.#encoded(text));
  }

  resize(columns: number, rows: number): void {
    this.screen.resize(columns, rows);
    this.tellSize();
  }

  tellSize(): void {
    const { columns, rows } = this.screen;
    if (this.telnet !== undefined) this.#send(this.telnet.resize(columns, rows.length));
    else if (this.#isSsh && this.socket.readyState === WebSocket.OPEN)
      this.socket.send(JSON.stringify({ cols: columns, rows: rows.length }));
  }

  #encoded(text: string): Uint8Array {
    const bytes = new TextEncoder().encode(text);
    return this.telnet?.write(bytes) ?? bytes;
  }

  /** A device that asks and does not read gets no more answers. */
  #answer(bytes: Uint8Array): void {
    if (this.socket.bufferedAmount < ANSWERS_WAITING_MAX) this.#send(bytes);
  }

  #send(bytes: Uint8Array): void {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    for (let at = 0; at < bytes.length; at += MESSAGE_BYTES_MAX)
      this.socket.send(Uint8Array.from(bytes.subarray(at, at + MESSAGE_BYTES_MAX)));
  }
}

function StateText({ state, kind }: { readonly state: State; readonly kind: SessionKind }) {
  const words = tabWords();
  if (state.kind === 'open' && kind === 'ssh') return <>{words.sessionSshOpen}</>;
  if (state.kind !== 'ended') return <>{words.sessionStates[state.kind]}</>;
  if (!state.wasOpen) return <>{words.sessionRefused}</>;
  return <>{words.sessionEnded(state.reason === '' ? String(state.code) : `${state.code}, ${state.reason}`)}</>;
}

/** Calls once: in the next frame, or after `FRAME_MS_MAX`. @returns a call that stops it */
function atFrame(call: () => void): () => void {
  const stop = (): void => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
  const run = (): void => {
    stop();
    call();
  };
  const frame = requestAnimationFrame(run);
  const timer = setTimeout(run, FRAME_MS_MAX);
  return stop;
}

/** One connection; read and drawn once a frame, however much comes. */
function useConnection(path: string, kind: SessionKind) {
  const [state, setState] = useState<State>({ kind: 'connecting' });
  const [, setTick] = useState(0);
  const stopFrame = useRef<(() => void) | undefined>(undefined);
  const [connection] = useState(() => new Connection(path, kind));
  const redraw = (): void => {
    stopFrame.current ??= atFrame(() => {
      stopFrame.current = undefined;
      if (connection.work()) redraw();
      setTick((before) => before + 1);
    });
  };
  useEffect(() => {
    const { socket } = connection;
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
      setState({ kind: 'open' });
      connection.tellSize();
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      connection.take(data);
      redraw();
    };
    socket.onclose = ({ code, reason }) => setState({ kind: 'ended', code, reason, wasOpen });
    return () => {
      connection.close();
      stopFrame.current?.();
    };
  }, [connection]);
  return { state, connection, redraw };
}

interface ConnectedProps extends SessionProps {
  readonly onAgain: () => void;
}

function Connected({ name, path, kind, onAgain, onClose }: ConnectedProps) {
  const words = tabWords();
  const { state, connection, redraw } = useConnection(path, kind);
  const { screen, telnet, lines, inflow } = connection;
  const [end, setEnd] = useState<LineEnd>('crlf');
  const root = useRef<HTMLDivElement>(null);
  const write = (text: string): void => {
    if (state.kind !== 'open') return;
    // Telnet wants a NUL behind the CR of a key (RFC 854).
    if (!lines.isOn) connection.send(telnet === undefined ? text : text.replaceAll('\r', '\r\0'));
    else {
      const { sent, shown } = lines.write(text, LINE_ENDS[end]);
      screen.write(shown);
      connection.send(sent);
      redraw();
    }
  };
  return (
    <Section
      title={words.sessionOf(name)}
      actions={
        <>
          {state.kind === 'ended' && (
            <Button icon={Plug} onClick={onAgain}>
              {words.sessionAgain}
            </Button>
          )}
          <Button icon={Unplug} onClick={onClose}>
            {words.sessionClose}
          </Button>
        </>
      }
    >
      <div class="stack" ref={root}>
        <p class="muted" role="status">
          <StateText state={state} kind={kind} />
        </p>
        {inflow.dropped > 0 && <p class="muted">{words.sessionDropped(bytesText(inflow.dropped))}</p>}
        <Terminal
          label={words.sessionOf(name)}
          words={words}
          screen={screen}
          onText={write}
          onSize={(columns, rows) => {
            connection.resize(columns, rows);
            redraw();
          }}
          onLeave={() =>
            (
              root.current?.querySelector<HTMLElement>('[type=checkbox]') ??
              root.current?.closest('section')?.querySelector('button')
            )?.focus()
          }
        />
        {kind !== 'ssh' && (
          <div class="row">
            <CheckField
              label={words.sessionLines}
              isChecked={lines.isOn}
              onChange={(isOn) => {
                connection.choose(isOn);
                redraw();
              }}
            />
            {lines.isOn && (
              <SelectField
                label={words.sessionEnd}
                value={end}
                options={(Object.keys(LINE_ENDS) as LineEnd[]).map((value) => ({ value, text: words.lineEnds[value] }))}
                onChange={setEnd}
              />
            )}
          </div>
        )}
      </div>
    </Section>
  );
}

export function TerminalSession(props: SessionProps) {
  const [round, setRound] = useState(0);
  return <Connected key={round} {...props} onAgain={() => setRound((before) => before + 1)} />;
}
