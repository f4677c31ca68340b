/** Tabs that are pages of their own (links), and tabs within a page. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

export interface PageTab {
  readonly href: string;
  readonly text: string;
  /** A number behind the text, for instance of active alarms. */
  readonly count?: number | undefined;
  readonly isCurrent: boolean;
}

/** Each tab has an address: Back, reload and a copied link work. */
export function PageTabs({ label, tabs }: { readonly label: string; readonly tabs: readonly PageTab[] }) {
  const bar = useRef<HTMLElement>(null);
  const current = tabs.find(({ isCurrent }) => isCurrent)?.href;
  // Where not all of them have room, the current one is seen.
  useEffect(() => {
    const tab = bar.current?.querySelector('[aria-current]');
    if (bar.current === null || tab == null || bar.current.scrollWidth <= bar.current.clientWidth) return;
    const [outer, inner] = [bar.current.getBoundingClientRect(), tab.getBoundingClientRect()];
    bar.current.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
  }, [current]);
  return (
    <nav ref={bar} class="tabs" aria-label={label}>
      {tabs.map(({ href, text, count, isCurrent }) => (
        <a key={href} class="tab" href={href} aria-current={isCurrent ? 'page' : undefined}>
          {text}
          {count !== undefined && count > 0 && <span class="badge">{count}</span>}
        </a>
      ))}
    </nav>
  );
}

export interface Tab<T extends string> {
  readonly value: T;
  readonly text: string;
}

export interface TabsProps<T extends string> {
  readonly label: string;
  readonly tabs: readonly Tab<T>[];
  readonly value: T;
  readonly onChange: (value: T) => void;
  /** The content of the chosen tab. */
  readonly children: ComponentChildren;
}

const MOVES: Readonly<Record<string, (index: number, count: number) => number>> = {
  ArrowRight: (index, count) => (index + 1) % count,
  ArrowLeft: (index, count) => (index - 1 + count) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** After the tabs pattern of the ARIA practices: arrows choose, Tab goes on into the content. */
export function Tabs<T extends string>({ label, tabs, value, onChange, children }: TabsProps<T>) {
  const id = useId();
  const onKey = (event: KeyboardEvent): void => {
    const move = MOVES[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const next = move(
      tabs.findIndex((tab) => tab.value === value),
      tabs.length,
    );
    onChange(tabs[next].value);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]')[next].focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKey}>
        {tabs.map((tab) => (
          <button
            type="button"
            key={tab.value}
            class="tab"
            role="tab"
            id={`${id}-${tab.value}`}
            aria-selected={tab.value === value}
            aria-controls={`${id}-panel`}
            tabIndex={tab.value === value ? 0 : -1}
            onClick={() => onChange(tab.value)}
          >
            {tab.text}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${value}`}>
        {children}
      </div>
    </>
  );
}
