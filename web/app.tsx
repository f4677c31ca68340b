/** Starts the console: the session, the route table, the frame. */
import './style/app.css';
import { ErrorBoundary, LocationProvider, Route, Router, lazy, useLocation } from 'preact-iso';
import { Component, render } from 'preact';
import type { ComponentChildren, ComponentType } from 'preact';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { followLogins, startSession } from './core/login/login.ts';
import { ApiError } from './core/api/error.ts';
import { isLoginAsked, isPasswordChangeAsked, user } from './core/api/session.ts';
import { startKeys } from './core/keys.ts';
import { notify } from './core/notices.ts';
import { CONSOLE_PATH } from './core/places.ts';
import { showPreferences } from './core/preferences.ts';
import { hasRole } from './core/api/rights.ts';
import { AllRoles, RouteTable, href } from './core/route.ts';
import { offeredPaths, readOffered } from './core/server/offered.ts';
import type { RouteEntry, ScreenProps } from './core/route.ts';
import { common } from './core/text/common.ts';
import { textsReady } from './core/text/language.ts';
import { startClock } from './core/time/clock.ts';
import { Frame } from './frame/frame.tsx';
import { LinkButton } from './parts/button.tsx';
import { Page } from './parts/page.tsx';
import { Empty, Fault, NotOffered, Refused } from './parts/states.tsx';
import { ROUTES } from './routes.ts';
import { Login } from './screens/login/login.tsx';
import { PasswordChange } from './screens/login/password-change.tsx';

/** True until the server has said otherwise. */
const isOffered = ({ needs }: RouteEntry): boolean =>
  needs === undefined || offeredPaths.value === undefined || needs in offeredPaths.value;

/** Screens that are loaded with their texts: they are shown in the same task in which they are opened. */
const loadedScreens = new Map<RouteEntry, ComponentType<ScreenProps>>();

async function loadScreen(entry: RouteEntry): Promise<{ readonly default: ComponentType<ScreenProps> }> {
  const loaded = await entry.load();
  await textsReady();
  loadedScreens.set(entry, loaded.default);
  return loaded;
}

const NO_ROLES: readonly string[] = [];

/** A screen is loaded when its URL is first opened, if not before. */
const screenOf = (entry: RouteEntry): ComponentType<ScreenProps> => {
  const Later = lazy(() => loadScreen(entry));
  return function Screening(props: ScreenProps) {
    // The same while the screen is open.
    const [Screen] = useState<ComponentType<ScreenProps>>(() => loadedScreens.get(entry) ?? Later);
    if (!isOffered(entry))
      return (
        <Page copy={undefined} title={entry.title()}>
          <NotOffered />
        </Page>
      );
    const isAllowed = entry.roles === undefined || hasRole(...entry.roles);
    return isAllowed ? (
      <AllRoles.Provider value={entry.allRoles ?? NO_ROLES}>
        <Screen {...props} />
      </AllRoles.Provider>
    ) : (
      <Page copy={undefined} title={entry.title()}>
        <Refused roles={entry.roles ?? []} />
      </Page>
    );
  };
};

const SCREENS = ROUTES.map((entry) => ({ path: CONSOLE_PATH + entry.path.slice(1), Screen: screenOf(entry) }));

function NotFound() {
  const words = common();
  return (
    <Page copy={undefined} title={words.notFoundTitle}>
      <Empty title={words.notFoundTitle}>
        <p>{words.notFoundText}</p>
        <LinkButton href={href('/')}>{words.toHome}</LinkButton>
      </Empty>
    </Page>
  );
}

interface CrashesProps {
  readonly url: string;
  readonly children: ComponentChildren;
}

interface Crash {
  readonly url: string;
  readonly error: Error;
}

/** A screen that throws leaves the rest of the console as it is; the next address is tried anew. */
class Crashes extends Component<CrashesProps, { readonly crash?: Crash | undefined }> {
  static override getDerivedStateFromProps = (
    { url }: CrashesProps,
    { crash }: { readonly crash?: Crash | undefined },
  ) => (crash === undefined || crash.url === url ? null : { crash: undefined });

  // Only a boundary whose own state changes ends the error: others leave half a screen behind.
  override componentDidCatch(error: Error): void {
    this.setState({ crash: { url: this.props.url, error } });
  }

  override render() {
    const { crash } = this.state;
    if (crash === undefined) return this.props.children;
    const { name, message, stack = '' } = crash.error;
    const told = `${common().crashedText}\n${name}: ${message}`;
    return (
      <Page title={common().crashedTitle} copy={undefined}>
        <Fault error={new ApiError({ status: 0, error: stack, message: told, method: '', url: crash.url })} />
      </Page>
    );
  }
}

function Screens() {
  const { url } = useLocation();
  return (
    <Crashes url={url}>
      <ErrorBoundary>
        <Router>
          {SCREENS.map(({ path, Screen }) => (
            <Route key={path} path={path} component={Screen} />
          ))}
          <Route default component={NotFound} />
        </Router>
      </ErrorBoundary>
    </Crashes>
  );
}

/** The first screen asks the server before. */
const NEXT_MS = 300;

/** Loads one piece, then the next one when the page is idle again. */
function loadAhead([next, ...others]: readonly (() => Promise<unknown>)[]): void {
  if (next === undefined) return;
  const load = (): void => {
    void next()
      // What cannot be loaded is loaded again when it is opened, and said then.
      .catch(() => undefined)
      .then(() => loadAhead(others));
  };
  // Safari has no idle callbacks.
  if (typeof requestIdleCallback === 'undefined') setTimeout(load);
  else requestIdleCallback(load);
}

const loadPalette = async () => {
  const loaded = await import('./screens/search/palette.tsx');
  await textsReady();
  return loaded;
};
const Palette = lazy(loadPalette);

/** What most people open next is loaded while nothing else is done: who types at once behind Ctrl K loses no key. */
const NEXT = [
  loadPalette,
  ...ROUTES.filter(({ path }) => path === '/devices' || path === '/explore').map((entry) => () => loadScreen(entry)),
];

function Console() {
  const { path } = useLocation();
  const [isSearching, setSearching] = useState(false);
  const openSearch = useCallback(() => setSearching(true), []);
  const isLoggedIn = user.value !== undefined;
  useEffect(() => {
    if (isLoggedIn && ROUTES.some(({ needs }) => needs !== undefined))
      readOffered().catch((error: unknown) => notify(String(error), { kind: 'fault' }));
  }, [isLoggedIn]);
  useEffect(() => {
    if (!isLoggedIn) return undefined;
    const timer = setTimeout(() => loadAhead(NEXT), NEXT_MS);
    return () => clearTimeout(timer);
  }, [isLoggedIn]);
  const offered = offeredPaths.value;
  const routes = useMemo(() => ROUTES.filter(isOffered), [offered]);
  const below = `/${path.slice(CONSOLE_PATH.length)}`;
  return (
    <RouteTable.Provider value={routes}>
      <Frame routes={routes} path={below} onSearch={openSearch}>
        {isLoggedIn && <Screens />}
      </Frame>
      {isSearching && (
        <ErrorBoundary>
          <Palette routes={routes} onClose={() => setSearching(false)} />
        </ErrorBoundary>
      )}
      {isLoginAsked.value && <Login />}
      {!isLoginAsked.value && isPasswordChangeAsked.value && <PasswordChange />}
    </RouteTable.Provider>
  );
}

showPreferences();
startClock();
startKeys();
followLogins();
const root = document.getElementById('app') as HTMLElement;
root.replaceChildren();
render(
  <LocationProvider scope={CONSOLE_PATH}>
    <Console />
  </LocationProvider>,
  root,
);
startSession().catch((error: unknown) => {
  const isSilent = error instanceof ApiError && error.status === 0 && error.message === '';
  notify(isSilent ? common().unreachable : String(error), { kind: 'fault' });
});
