/** What stands in the place of content: loading, empty, failed, refused. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { missingRole, namedRoles } from '../core/api/rights.ts';
import type { ApiError } from '../core/api/error.ts';
import { useLoaded } from '../core/api/request.ts';
import type { Loaded } from '../core/api/request.ts';
import { href } from '../core/route.ts';
import { limitIn, limitOf, readLimits } from '../core/server/limits.ts';
import { offeredPaths, readOffered, rolesFor } from '../core/server/offered.ts';
import { common } from '../core/text/common.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy.tsx';

/** Faster answers show no word of loading. */
const QUIET_MS = 300;

export function Loading() {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), QUIET_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="muted" role="status">
      {isShown ? common().loading : ''}
    </p>
  );
}

export interface EmptyProps {
  readonly title?: string;
  /** What it is, and what to do to get some. */
  readonly children?: ComponentChildren;
}

export function Empty({ title = common().nothingHere, children }: EmptyProps) {
  return (
    <div class="state">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export interface FaultProps {
  readonly error: ApiError;
  readonly retry?: () => void;
}

/** Which role a refused request needs, where the user lacks it. */
function NeededRoles({ error }: { readonly error: ApiError }) {
  const { method, url } = error.refusal;
  const paths = offeredPaths.value;
  useEffect(() => {
    // The refusal itself is shown whether or not more can be said of it.
    readOffered().catch(() => undefined);
  }, []);
  const roles = paths === undefined ? [] : rolesFor(paths, method, url);
  return roles.length === 0 || missingRole(...roles) === undefined ? null : <span>{common().refusedRoles(roles)}</span>;
}

/** When the server asks to come back. */
const retryText = ({ refusal: { retrySeconds } }: ApiError): string =>
  retrySeconds === undefined ? '' : common().retryAfter(retrySeconds);

/** A link to what a limit means, where the words name one. */
function AboutLimit({ message }: { readonly message: string }) {
  const name = limitIn(message);
  // Without it the refusal says what it says.
  const { data } = useLoaded(name === undefined ? undefined : () => readLimits(), [name]);
  if (name === undefined || data === undefined || limitOf(data, name) === undefined) return null;
  return <a href={href('/limits', undefined, { q: name })}>{common().aboutLimit(name)}</a>;
}

/** A refusal with the server's words, the request, and a way to copy both. */
export function Fault({ error, retry }: FaultProps) {
  const words = common();
  const { status, message } = error.refusal;
  return (
    <div class="state state-fault" role="alert">
      <h2>{status === 403 ? words.refusedTitle : words.failed}</h2>
      <p>
        {status === 0 && message === '' ? words.unreachable : message} {retryText(error)}
      </p>
      {status === 403 && (
        <p>
          <NeededRoles error={error} />
        </p>
      )}
      <AboutLimit message={message} />
      <details>
        <summary>{words.details}</summary>
        <pre>{error.details}</pre>
      </details>
      <div class="row">
        {retry && <Button onClick={retry}>{words.retry}</Button>}
        <CopyButton text={error.details} kind="quiet">
          {words.copyDetails}
        </CopyButton>
      </div>
    </div>
  );
}

/** In the place of a screen that the user may not see. */
export function Refused({ roles }: { readonly roles: readonly string[] }) {
  const words = common();
  return (
    <div class="state">
      <h2>{words.refusedTitle}</h2>
      <p>{words.refusedRoles(namedRoles(roles))}</p>
    </div>
  );
}

/** In the place of a screen that this server has no API for. */
export function NotOffered() {
  const words = common();
  return (
    <Empty title={words.notOfferedTitle}>
      <p>{words.notOfferedText}</p>
    </Empty>
  );
}

/** A line below a form. */
export function FormFault({ error }: { readonly error: ApiError | undefined }) {
  if (error === undefined) return null;
  const { status, message } = error.refusal;
  return (
    <p class="fault-text" role="alert">
      {status === 0 && message === '' ? common().unreachable : message} {retryText(error)}{' '}
      <AboutLimit message={message} />
      {status === 403 && <NeededRoles error={error} />}
    </p>
  );
}

export interface WithProps<T> {
  readonly loaded: Loaded<T>;
  readonly children: (data: T) => ComponentChildren;
}

/**
 * The content when it is there, else what stands in its place. An older answer stays while a newer one is awaited, and
 * below an error, unless that says that the thing does not exist.
 */
export function With<T>({ loaded: { data, error, reload }, children }: WithProps<T>) {
  return (
    <>
      {error && <Fault error={error} retry={reload} />}
      {data === undefined ? error === undefined && <Loading /> : error?.status !== 404 && children(data)}
    </>
  );
}
