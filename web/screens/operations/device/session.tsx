/** A text session with a port of a device, over the WebSocket of remote access: lines are sent, what comes is shown. */
import { Plug, Send, Unplug } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { socketQuery } from '../../../core/api/session.ts';
import { socketUrl } from '../../../core/places.ts';
import { queryText } from '../../../core/route.ts';
import { Button } from '../../../parts/button.tsx';
import { CheckField, SelectField } from '../../../parts/fields.tsx';
import { Section } from '../../../parts/page.tsx';
import { LINE_ENDS, LINES_MAX, Scrollback, Telnet } from './terminal.ts';
import type { LineEnd } from './terminal.ts';
import { words as tabWords } from './text.ts';

const NORMAL = 1000;
const INTERRUPT = '\u0003';
/** Characters of one line that is sent. */
const INPUT_LENGTH_MAX = 10_000;

type State =
  | { readonly kind: 'connecting' | 'open' }
  | { readonly kind: 'ended'; readonly code: number; readonly reason: string; readonly wasOpen: boolean };

export interface SessionProps {
  readonly name: string;
  /** The path of the client's WebSocket. */
  readonly path: string;
  readonly isTelnet: boolean;
  readonly onClose: () => void;
}

interface Session {
  readonly state: State;
  readonly text: string;
  readonly droppedCount: number;
  /** The other end shows what is sent. */
  readonly isEchoing: boolean;
  readonly send: (text: string) => void;
  readonly show: (text: string) => void;
}

/** One session for each round. */
function useSession(path: string, isTelnet: boolean, round: number): Session {
  const [state, setState] = useState<State>({ kind: 'connecting' });
  const [, setTick] = useState(0);
  const parts = useRef({ screen: new Scrollback(), telnet: new Telnet(), send: (_text: string): void => undefined });
  useEffect(() => {
    const [screen, telnet] = [new Scrollback(), new Telnet()];
    const socket = new WebSocket(`${socketUrl(path)}${queryText(socketQuery())}`, ['binary']);
    socket.binaryType = 'arraybuffer';
    const decoder = new TextDecoder();
    let [wasOpen, frame] = [false, 0];
    const redraw = (): void => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        setTick((before) => before + 1);
      });
    };
    const send = (bytes: Uint8Array<ArrayBuffer>): void => {
      if (socket.readyState === WebSocket.OPEN && bytes.length > 0) socket.send(bytes);
    };
    parts.current = {
      screen,
      telnet,
      send: (text) => {
        const bytes = new TextEncoder().encode(text);
        send(new Uint8Array(isTelnet ? telnet.write(bytes) : bytes));
      },
    };
    setState({ kind: 'connecting' });
    socket.onopen = () => {
      wasOpen = true;
      setState({ kind: 'open' });
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      const { text, answer } = isTelnet
        ? telnet.read(new Uint8Array(data))
        : { text: new Uint8Array(data), answer: undefined };
      if (answer !== undefined) send(new Uint8Array(answer));
      screen.write(decoder.decode(text, { stream: true }));
      redraw();
    };
    socket.onclose = ({ code, reason }) => setState({ kind: 'ended', code, reason, wasOpen });
    return () => {
      socket.onclose = null;
      socket.onmessage = null;
      socket.close(NORMAL);
      cancelAnimationFrame(frame);
    };
  }, [path, isTelnet, round]);
  const { screen, telnet } = parts.current;
  return {
    state,
    text: screen.text,
    droppedCount: screen.droppedCount,
    isEchoing: telnet.isEchoing,
    send: (text) => parts.current.send(text),
    show: (text) => {
      parts.current.screen.write(text);
      setTick((before) => before + 1);
    },
  };
}

function StateText({ state }: { readonly state: State }) {
  const words = tabWords();
  if (state.kind !== 'ended') return <>{words.sessionStates[state.kind]}</>;
  if (!state.wasOpen) return <>{words.sessionRefused}</>;
  return <>{words.sessionEnded(state.reason === '' ? String(state.code) : `${state.code}, ${state.reason}`)}</>;
}

export function TextSession({ name, path, isTelnet, onClose }: SessionProps) {
  const words = tabWords();
  const [round, setRound] = useState(0);
  const [line, setLine] = useState('');
  const [end, setEnd] = useState<LineEnd>('crlf');
  const [isHidden, setHidden] = useState(false);
  const session = useSession(path, isTelnet, round);
  const { state, text, droppedCount } = session;
  const log = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => log.current?.scrollTo({ top: log.current.scrollHeight }), [text]);
  useEffect(() => input.current?.focus(), [round]);
  const submit = (): void => {
    if (state.kind !== 'open') return;
    session.send(line + LINE_ENDS[end]);
    if (!session.isEchoing && !isHidden) session.show(`${line}\r\n`);
    setLine('');
    setHidden(false);
  };
  const isEnded = state.kind === 'ended';
  return (
    <Section
      title={words.sessionOf(name)}
      actions={
        <>
          {isEnded && (
            <Button icon={Plug} onClick={() => setRound((before) => before + 1)}>
              {words.sessionAgain}
            </Button>
          )}
          <Button icon={Unplug} onClick={onClose}>
            {words.sessionClose}
          </Button>
        </>
      }
    >
      <div class="stack">
        <p class="muted" role="status">
          <StateText state={state} />
        </p>
        <div class="shell" ref={log} role="log" aria-label={words.sessionOf(name)} tabIndex={0}>
          {droppedCount > 0 && <p class="muted small">{words.sessionDropped(droppedCount, LINES_MAX)}</p>}
          <pre>{text}</pre>
        </div>
        <form
          class="shell-line"
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <input
            ref={input}
            class="input mono grow"
            // The types of JSX know each kind of field apart.
            type={(isHidden ? 'password' : 'text') as 'text'}
            aria-label={words.sessionLine}
            placeholder={words.sessionLine}
            value={line}
            maxLength={INPUT_LENGTH_MAX}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => setLine(event.currentTarget.value)}
          />
          <Button kind="main" type="submit" icon={Send} blocked={state.kind === 'open' ? undefined : words.sessionLine}>
            {words.sessionSend}
          </Button>
        </form>
        <div class="row">
          <CheckField label={words.sessionHidden} isChecked={isHidden} onChange={setHidden} />
          <Button onClick={() => session.send(INTERRUPT)}>{words.sessionInterrupt}</Button>
          <SelectField
            label={words.sessionEnd}
            value={end}
            options={(Object.keys(LINE_ENDS) as LineEnd[]).map((value) => ({ value, text: words.lineEnds[value] }))}
            onChange={setEnd}
          />
        </div>
      </div>
    </Section>
  );
}
