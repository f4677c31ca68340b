/** What stands around every screen: navigation, header, messages, the login. */
import { Menu as MenuIcon, Search, Waves } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isLoginAsked, tenant, user } from '../core/api/session.ts';
import { waiting } from '../core/api/send.ts';
import { useShortcuts } from '../core/keys.ts';
import { deniedText, liveRefusal, liveState, lostCount } from '../core/live/live.ts';
import { SECTIONS, href } from '../core/route.ts';
import type { RouteEntry } from '../core/route.ts';
import { common } from '../core/text/common.ts';
import { now } from '../core/time/clock.ts';
import { offsetText, shownZone } from '../core/time/time.ts';
import { Icon } from '../parts/icon.tsx';
import { Notices } from '../parts/notices.tsx';
import { AccountMenu } from './account-menu.tsx';
import { ShortcutList } from './shortcut-list.tsx';

export interface FrameProps {
  readonly routes: readonly RouteEntry[];
  /** Path below the console, for instance `/devices`. */
  readonly path: string;
  readonly onSearch: () => void;
  readonly children: ComponentChildren;
}

/** The route of the navigation that a path belongs to: the longest that it begins with. */
function currentEntry(routes: readonly RouteEntry[], path: string): RouteEntry | undefined {
  const fits = (entry: RouteEntry): boolean =>
    entry.nav !== undefined && (path === entry.path || (entry.path !== '/' && path.startsWith(`${entry.path}/`)));
  return routes.filter(fits).sort((left, right) => right.path.length - left.path.length)[0];
}

function Navigation({ routes, path }: Pick<FrameProps, 'routes' | 'path'>) {
  const words = common();
  const current = currentEntry(routes, path);
  return (
    <>
      {SECTIONS.map((section) => {
        const entries = routes
          .filter((entry) => entry.nav?.section === section)
          .sort((left, right) => (left.nav?.order ?? 0) - (right.nav?.order ?? 0));
        return entries.length === 0 ? null : (
          <div key={section} role="group" aria-labelledby={`nav-${section}`}>
            <p class="nav-title" id={`nav-${section}`}>
              {words.sections[section]}
            </p>
            <ul>
              {entries.map((entry) => (
                <li key={entry.path}>
                  <a
                    class="nav-link"
                    href={href(entry.path)}
                    aria-current={entry === current ? 'page' : undefined}
                    title={entry.keys}
                    // What cannot be loaded is loaded again when it is opened, and said then.
                    onPointerEnter={() => void entry.load().catch(() => undefined)}
                  >
                    {entry.nav && <Icon icon={entry.nav.icon} />}
                    {entry.title()}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </>
  );
}

/** Always on the page: a stream that stands still must not look like one that has nothing to tell. */
function LiveMark() {
  const words = common();
  const lost = lostCount.value;
  const state = liveState.value === 'live' && deniedText.value !== '' ? 'partly' : liveState.value;
  const text = words.live[state];
  const told = [text, liveRefusal.value || deniedText.value].filter(Boolean).join(': ');
  return (
    <span class="live" data-state={state} role="status" title={told}>
      <span class="live-dot" aria-hidden="true" />
      <span class="live-text">{text}</span>
      {waiting.value > 0 && <span class="badge">{words.busy}</span>}
      {lost > 0 && <span class="badge" title={words.lost(lost)}>{`−${lost}`}</span>}
    </span>
  );
}

export function Frame({ routes, path, onSearch, children }: FrameProps) {
  const [isOpen, setOpen] = useState(false);
  const [isHelpShown, setHelpShown] = useState(false);
  const main = useRef<HTMLElement>(null);
  const words = common();
  const isFirst = useRef(true);
  useEffect(() => {
    setOpen(false);
    // A screen reader begins to read at the new screen, not where the link was.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
    scrollTo(0, 0);
  }, [path]);
  useShortcuts(
    useMemo(
      () => [
        { keys: 'Ctrl K', text: () => common().shortcutTexts.search, run: onSearch },
        { keys: '?', text: () => common().shortcutTexts.help, run: () => setHelpShown(true) },
        { keys: 'Escape', text: () => common().shortcutTexts.close, run: () => setOpen(false) },
        ...routes
          .filter(({ keys }) => keys !== undefined)
          .map((entry) => ({
            keys: entry.keys as string,
            text: () => common().goTo(entry.title()),
            run: () => document.querySelector<HTMLElement>(`a[href="${href(entry.path)}"]`)?.click(),
          })),
      ],
      [routes, onSearch],
    ),
  );
  const open = isOpen ? 'yes' : 'no';
  return (
    <>
      <a class="skip" href="#content" onClick={() => main.current?.focus()}>
        {words.skip}
      </a>
      <div class="frame" inert={isLoginAsked.value && user.value === undefined}>
        <nav class="nav" id="navigation" aria-label={words.navigation} data-open={open}>
          <a class="brand" href={href('/')}>
            <Icon icon={Waves} />
            {words.product}
          </a>
          <Navigation routes={routes} path={path} />
        </nav>
        <div class="nav-scrim" data-open={open} onClick={() => setOpen(false)} />
        <header class="header">
          <span class="nav-toggle">
            <button
              type="button"
              class="button button-quiet button-icon"
              aria-label={words.menu}
              aria-expanded={isOpen}
              aria-controls="navigation"
              onClick={() => setOpen(!isOpen)}
            >
              <Icon icon={MenuIcon} />
            </button>
          </span>
          <button type="button" class="button search-button" onClick={onSearch} title={words.searchHint}>
            <Icon icon={Search} />
            <span class="search-text">{words.search}</span>
            <kbd>Ctrl K</kbd>
          </button>
          <div class="header-end">
            <LiveMark />
            <a class="zone-button muted small" href={href('/account')} title={words.zoneOf(shownZone())}>
              {offsetText(now.value)}
            </a>
            <AccountMenu user={user.value} tenant={tenant.value?.name} onHelp={() => setHelpShown(true)} />
          </div>
        </header>
        <main class="page" id="content" tabIndex={-1} ref={main}>
          {children}
        </main>
      </div>
      <Notices />
      {isHelpShown && <ShortcutList onClose={() => setHelpShown(false)} />}
    </>
  );
}
