/** A screen within the frame: its title, where it is, its actions. */
import type { ComponentChildren } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import { missingRole } from '../core/api/rights.ts';
import { AllRoles } from '../core/route.ts';
import { common } from '../core/text/common.ts';
import { CopyAs } from './copy.tsx';
import type { LateRequests, ViewRequests } from './copy.tsx';

export interface Crumb {
  readonly text: string;
  readonly href: string;
}

/** What the menu "Copy as" of a view gives. */
export interface ViewCopy {
  readonly copy: ViewRequests | LateRequests;
  /** The address of the view with times in the place of `now-6h`. */
  readonly absoluteUrl?: () => string;
}

export interface PageProps extends ViewCopy {
  readonly title: string;
  /** Beside the title: states of what is shown. */
  readonly beside?: ComponentChildren;
  readonly crumbs?: readonly Crumb[];
  readonly actions?: ComponentChildren;
  /** Tabs below the title. */
  readonly tabs?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** That a list is not of everything, and which role is missing. */
function OwnOnly() {
  const role = missingRole(...useContext(AllRoles));
  return role === undefined ? null : (
    <p class="note" role="note">
      {common().ownOnly(role)}
    </p>
  );
}

export function Page({ title, beside, crumbs = [], actions, tabs, children, copy, absoluteUrl }: PageProps) {
  const words = common();
  useEffect(() => {
    document.title = `${title} · ${words.product}`;
  }, [title, words]);
  return (
    <>
      <div class="page-head">
        {crumbs.length > 0 && (
          <nav class="crumbs" aria-label={words.breadcrumbs}>
            <ol>
              {crumbs.map(({ text, href }) => (
                <li key={href}>
                  <a href={href}>{text}</a>
                </li>
              ))}
            </ol>
          </nav>
        )}
        <h1>{title}</h1>
        {beside}
        <div class="page-actions">
          <CopyAs requests={copy} absoluteUrl={absoluteUrl} />
          {actions}
        </div>
      </div>
      {tabs}
      <OwnOnly />
      {children}
    </>
  );
}

/** A part of a screen with its heading. */
export function Section({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="section">
      {actions ? (
        <div class="row row-apart">
          <h2>{title}</h2>
          <div class="row">{actions}</div>
        </div>
      ) : (
        <h2>{title}</h2>
      )}
      {children}
    </section>
  );
}
