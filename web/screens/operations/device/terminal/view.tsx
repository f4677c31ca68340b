/** A terminal on the page: draws a screen, and tells what is typed and pasted. What the device writes is only ever text. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { controlOf, keyText, pasteText } from './keys.ts';
import {
  BOLD,
  DIM,
  HIDDEN,
  INVERSE,
  ITALIC,
  NO_COLOUR,
  PLAIN,
  STRUCK,
  TRUE_COLOUR,
  UNDERLINE,
  widthOf,
} from './cells.ts';
import type { Pen, Row } from './cells.ts';
import type { Screen } from './screen.ts';

/** How often what came is read out, and how far a turn of the wheel goes. */
const SPEAK_MS = 1_000;
const WHEEL_LINES = 3;
/** Keys that touch screens do not have. */
const BAR = ['Escape', 'Tab', 'Control', 'ArrowLeft', 'ArrowUp', 'ArrowDown', 'ArrowRight'] as const;
/** The steps of the cube of colours: 16 to 231; the rest are greys. */
const CUBE = [0, 95, 135, 175, 215, 255];

const LOOKS = [
  [HIDDEN, 'color', 'transparent'],
  [BOLD, 'fontWeight', 'bold'],
  [DIM, 'opacity', '0.7'],
  [ITALIC, 'fontStyle', 'italic'],
  [UNDERLINE, 'textDecoration', 'underline'],
  [STRUCK, 'textDecoration', 'line-through'],
] as const;

export function colourText(colour: number): string {
  if (colour < 16) return `var(--ansi-${colour})`;
  const at = colour - 16;
  const [red, green, blue] =
    colour >= TRUE_COLOUR
      ? [(colour >> 16) & 0xff, (colour >> 8) & 0xff, colour & 0xff]
      : colour < 232
        ? [CUBE[Math.floor(at / 36)], CUBE[Math.floor(at / 6) % 6], CUBE[at % 6]]
        : [8, 8, 8].map((first) => first + 10 * (colour - 232));
  return `rgb(${red} ${green} ${blue})`;
}

function dress({ style }: HTMLElement, { ink, ground, flags }: Pen): void {
  // Bold letters of the first eight colours are of the bright ones, as programs expect.
  const own = flags & BOLD && ink >= 0 && ink < 8 ? ink + 8 : ink;
  const [front, back] = flags & INVERSE ? [ground, own] : [own, ground];
  if (front !== NO_COLOUR) style.color = colourText(front);
  else if (flags & INVERSE) style.color = 'var(--ansi-ground)';
  if (back !== NO_COLOUR) style.background = colourText(back);
  else if (flags & INVERSE) style.background = 'var(--ansi-text)';
  for (const [flag, name, value] of LOOKS) if (flags & flag) style[name] = value;
}

/** A run of cells that look alike is one node; a wide letter has its own, which is two cells wide in every font. */
function drawRow(element: HTMLElement, { cells, pens }: Row): void {
  let last = cells.length;
  while (last > 0 && cells[last - 1] === ' ' && pens[last - 1] === PLAIN) last -= 1;
  const nodes: (Node | string)[] = [];
  for (let from = 0; from < last; ) {
    const isWide = widthOf(cells[from]) === 2;
    let to = from + 1;
    while (to < last && pens[to] === pens[from] && (isWide ? cells[to] === '' : widthOf(cells[to]) !== 2)) to += 1;
    const text = cells.slice(from, to).join('');
    if (pens[from] === PLAIN && !isWide) nodes.push(text);
    else {
      const span = document.createElement('span');
      span.textContent = text;
      if (isWide) span.className = 'terminal-wide';
      dress(span, pens[from]);
      nodes.push(span);
    }
    from = to;
  }
  element.replaceChildren(...(nodes.length === 0 ? ['\n'] : nodes));
}

/** The rows as elements: those that stay are left alone. */
function drawRows(list: HTMLElement, screen: Screen, elements: WeakMap<Row, HTMLElement>): void {
  const rows = screen.isAlternate ? screen.rows : [...screen.kept, ...screen.rows];
  const first = elements.get(rows[0]);
  // What went off the top; all of it, when none of it is what comes now.
  while (list.firstChild !== null && list.firstChild !== first) list.firstChild.remove();
  let at = list.firstChild;
  for (const row of rows) {
    let element = elements.get(row);
    if (element === undefined) elements.set(row, (element = document.createElement('div')));
    if (row.isChanged) drawRow(element, row);
    row.isChanged = false;
    if (element === at) at = at.nextSibling;
    else list.insertBefore(element, at);
  }
  while (list.childElementCount > rows.length) list.lastChild?.remove();
}

export interface TerminalProps {
  readonly label: string;
  readonly words: {
    readonly terminalField: (label: string) => string;
    readonly terminalHelp: string;
    /** Of the bar for touch screens, in the order of `BAR`. */
    readonly terminalKeys: readonly string[];
  };
  readonly screen: Screen;
  /** What is typed or pasted. */
  readonly onText: (text: string) => void;
  readonly onSize: (columns: number, rows: number) => void;
  /** The person leaves by key. */
  readonly onLeave: () => void;
}

/** Draws whenever it is rendered. */
export function Terminal({ label, words, screen, onText, onSize, onLeave }: TerminalProps) {
  const [hasControl, setControl] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLTextAreaElement>(null);
  const log = useRef<HTMLDivElement>(null);
  const elements = useRef(new WeakMap<Row, HTMLElement>());
  const isAtEnd = useRef(true);
  const size = useRef(onSize);
  size.current = onSize;
  const spoken = useRef(screen);
  spoken.current = screen;

  useLayoutEffect(() => {
    if (root.current === null || list.current === null) return;
    drawRows(list.current, screen, elements.current);
    if (isAtEnd.current || screen.isAlternate) root.current.scrollTop = root.current.scrollHeight;
  });
  useEffect(() => {
    const timer = setInterval(() => {
      const text = spoken.current.takeSpoken().trim();
      if (text !== '' && log.current !== null) log.current.textContent = text;
    }, SPEAK_MS);
    const observer = new ResizeObserver(() => {
      // The field is as large as two letters.
      const field = input.current?.getBoundingClientRect();
      if (!field?.width || root.current === null) return;
      size.current(
        Math.floor(root.current.clientWidth / (field.width / 2)),
        Math.floor(root.current.clientHeight / field.height),
      );
    });
    if (root.current !== null) observer.observe(root.current);
    root.current?.scrollIntoView({ block: 'nearest' });
    input.current?.focus({ preventScroll: true });
    return () => {
      clearInterval(timer);
      observer.disconnect();
    };
  }, []);

  const send = (text: string): void => {
    isAtEnd.current = true;
    setControl(false);
    onText((hasControl && controlOf(text)) || text);
  };
  const take = (): void => {
    const { current: field } = input;
    if (field === null || field.value === '') return;
    send(field.value.replaceAll('\n', '\r'));
    field.value = '';
  };
  const press = (key: string, event: Partial<KeyboardEvent> = {}): boolean => {
    const text = keyText({ ...event, key, ctrlKey: event.ctrlKey || hasControl }, screen.hasApplicationKeys);
    if (text !== undefined) send(text);
    return text !== undefined;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    event.stopPropagation();
    const { key, ctrlKey, altKey, shiftKey, metaKey } = event;
    if (event.isComposing || event.getModifierState('AltGraph')) return;
    const isCopy = key === 'c' && ctrlKey && getSelection()?.isCollapsed === false;
    if (isCopy || (key === 'Insert' && (shiftKey || ctrlKey))) return;
    if (shiftKey && key === 'F6') onLeave();
    else if (shiftKey && key.startsWith('Page') && !screen.isAlternate)
      root.current?.scrollBy({ top: root.current.clientHeight * (key === 'PageUp' ? -1 : 1) });
    else if (!press(key, { ctrlKey, altKey, shiftKey, metaKey })) {
      // A letter comes as input, to the field.
      if (key.length === 1 && !ctrlKey && !metaKey) input.current?.focus();
      return;
    }
    event.preventDefault();
  };
  const { x, y } = screen.cursor;
  const line = (screen.isAlternate ? 0 : screen.kept.length) + y;
  const place = { left: `${x}ch`, top: `calc(${line} * var(--terminal-line))` };
  return (
    <div class="terminal">
      <div
        class="terminal-screen"
        ref={root}
        role="group"
        aria-label={label}
        onKeyDown={onKeyDown}
        onMouseUp={() => getSelection()?.isCollapsed && input.current?.focus({ preventScroll: true })}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 2;
        }}
        onWheel={(event) => {
          if (!screen.isAlternate || event.deltaY === 0) return;
          event.preventDefault();
          for (let left = WHEEL_LINES; left > 0; left--) press(event.deltaY < 0 ? 'ArrowUp' : 'ArrowDown');
        }}
        tabIndex={-1}
      >
        <div class="terminal-rows">
          <div ref={list} />
          <span class="terminal-cursor" hidden={!screen.isCursorShown} style={place} />
          <textarea
            ref={input}
            class="terminal-input"
            aria-label={words.terminalField(label)}
            aria-describedby="terminal-help"
            autocomplete="off"
            autocapitalize="off"
            autocorrect="off"
            spellcheck={false}
            rows={1}
            style={place}
            onInput={(event) => !event.isComposing && take()}
            onCompositionEnd={take}
            onBeforeInput={(event) => {
              // Keyboards of touch screens name no key.
              if (event.inputType === 'deleteContentBackward' && input.current?.value === '') press('Backspace');
            }}
            onPaste={(event) => {
              event.preventDefault();
              send(pasteText(event.clipboardData?.getData('text/plain') ?? '', screen.hasPasteBrackets));
            }}
          />
        </div>
      </div>
      <div class="terminal-bar">
        {BAR.map((key, index) => (
          <button
            key={key}
            type="button"
            class="button"
            aria-pressed={key === 'Control' ? hasControl : undefined}
            // The field keeps the focus, and with it the keyboard of the device.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => (key === 'Control' ? setControl(!hasControl) : press(key))}
          >
            {words.terminalKeys[index]}
          </button>
        ))}
      </div>
      <p id="terminal-help" class="muted small">
        {words.terminalHelp}
      </p>
      <div class="visually-hidden" role="log" aria-label={label} ref={log} />
    </div>
  );
}
