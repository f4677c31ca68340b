/** A button with a list of actions below it, after the menu pattern of the ARIA practices. */
import { ChevronDown } from 'lucide';
import type { IconNode } from 'lucide';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { notify } from '../core/notices.ts';
import { Icon } from './icon.tsx';

export interface MenuItem {
  readonly text: string;
  readonly hint?: string;
  readonly icon?: IconNode;
  readonly onSelect?: () => void;
  /** A link in the place of an action. */
  readonly href?: string;
  readonly isDownload?: boolean;
  /** Why it cannot be chosen. */
  readonly blocked?: string | undefined;
}

export interface MenuProps {
  readonly label: string;
  readonly icon?: IconNode;
  readonly items: readonly MenuItem[];
  /** The icon alone. */
  readonly isIcon?: boolean;
  /** Which edge of the button the list keeps to. */
  readonly align?: 'start' | 'end';
}

const MOVES: Readonly<Record<string, (index: number, count: number) => number>> = {
  ArrowDown: (index, count) => (index + 1) % count,
  ArrowUp: (index, count) => (index - 1 + count) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

export function Menu({ label, icon, items, isIcon = false, align = 'end' }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const entries = (): HTMLElement[] => [...(box.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];

  useEffect(() => {
    if (!isOpen) return undefined;
    entries()[0]?.focus();
    const leave = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener('pointerdown', leave);
    addEventListener('focusin', leave);
    return () => {
      removeEventListener('pointerdown', leave);
      removeEventListener('focusin', leave);
    };
  }, [isOpen]);

  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (!isOpen) {
      if (event.key === 'ArrowDown') {
        event.preventDefault();
        setOpen(true);
      }
      return;
    }
    if (event.key === 'Escape') {
      event.stopPropagation();
      event.preventDefault();
      close();
      return;
    }
    const all = entries();
    const here = all.indexOf(document.activeElement as HTMLElement);
    const move = MOVES[event.key];
    const first = event.key.length === 1 ? event.key.toLowerCase() : '';
    const next =
      move === undefined
        ? first === '' || first === ' '
          ? -1
          : ([...all.keys()]
              .map((step) => (here + 1 + step) % all.length)
              .find((index) => all[index].textContent?.trim().toLowerCase().startsWith(first)) ?? -1)
        : move(here, all.length);
    if (next < 0) return;
    event.preventDefault();
    all[next].focus();
  };
  const select = (item: MenuItem) => (event: Event) => {
    if (item.blocked !== undefined) {
      event.preventDefault();
      notify(item.blocked);
      return;
    }
    close();
    item.onSelect?.();
  };
  return (
    <div class={`menu ${align === 'start' ? 'menu-start' : ''}`} ref={box} onKeyDown={onKey}>
      <button
        type="button"
        ref={button}
        class={isIcon ? 'button button-quiet button-icon' : 'button'}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-label={isIcon ? label : undefined}
        title={isIcon ? label : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {icon && <Icon icon={icon} />}
        {!isIcon && label}
        {!isIcon && <Icon icon={ChevronDown} />}
      </button>
      {isOpen && (
        <div class="menu-list" role="menu" id={id} aria-label={label}>
          {items.map((item) => {
            const content = (
              <>
                {item.icon && <Icon icon={item.icon} />}
                <span>
                  {item.text}
                  {(item.blocked ?? item.hint) && <span class="menu-hint">{item.blocked ?? item.hint}</span>}
                </span>
              </>
            );
            const common = { role: 'menuitem', tabIndex: -1, class: 'menu-item', onClick: select(item) } as const;
            return item.href === undefined ? (
              <button type="button" key={item.text} {...common} aria-disabled={item.blocked !== undefined}>
                {content}
              </button>
            ) : (
              <a key={item.text} {...common} href={item.href} download={item.isDownload ? '' : undefined}>
                {content}
              </a>
            );
          })}
        </div>
      )}
    </div>
  );
}
