/** Buttons and links that look like them. What a user may not do says which role it needs. */
import type { IconNode } from 'lucide';
import type { ComponentChildren, RefObject } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { useShortcuts } from '../core/keys.ts';
import { notify } from '../core/notices.ts';
import { missingRole } from '../core/api/rights.ts';
import { common } from '../core/text/common.ts';
import { Icon } from './icon.tsx';

export interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick?: () => void;
  readonly icon?: IconNode;
  /** `main` once on a page; `danger` deletes; `quiet` has no border. */
  readonly kind?: 'main' | 'danger' | 'danger-main' | 'quiet';
  readonly type?: 'button' | 'submit';
  /** One of these roles is needed. */
  readonly roles?: readonly string[];
  /** Why it cannot be pressed now. */
  readonly blocked?: string | undefined;
  readonly isBusy?: boolean;
  readonly label?: string;
  readonly form?: string;
  /** A shortcut that presses it. */
  readonly keys?: string;
}

function Keys({ keys, button }: { readonly keys: string; readonly button: RefObject<HTMLButtonElement | null> }) {
  useShortcuts(
    useMemo(
      () => [{ keys, text: () => button.current?.textContent ?? '', run: () => button.current?.click() }],
      [keys, button],
    ),
  );
  return null;
}

const CLASSES = {
  main: 'button button-main',
  danger: 'button button-danger',
  'danger-main': 'button button-danger button-main',
  quiet: 'button button-quiet',
};

/** What a user without all of the roles is told. */
function lacking(roles: readonly string[]): string | undefined {
  const role = roles.length === 0 ? undefined : missingRole(...roles);
  return role === undefined ? undefined : common().missingRole(role);
}

export function Button(props: ButtonProps) {
  const { children, onClick, icon, kind, type = 'button', roles = [], isBusy = false, label, form, keys } = props;
  const button = useRef<HTMLButtonElement>(null);
  const reason = lacking(roles) ?? props.blocked;
  // It keeps its place in the order of Tab, so that the reason can be read.
  const press = (event: Event): void => {
    if (reason !== undefined || isBusy) {
      event.preventDefault();
      if (reason !== undefined) notify(reason);
    } else onClick?.();
  };
  return (
    <button
      ref={button}
      type={type}
      class={kind === undefined ? 'button' : CLASSES[kind]}
      onClick={press}
      aria-disabled={reason !== undefined || isBusy}
      aria-label={label}
      title={reason}
      form={form}
    >
      {icon && <Icon icon={icon} />}
      {children}
      {keys && <Keys keys={keys} button={button} />}
    </button>
  );
}

export interface IconButtonProps {
  readonly icon: IconNode;
  /** Its name, for people who do not see the icon. */
  readonly label: string;
  readonly onClick: () => void;
  /** One of these roles is needed. */
  readonly roles?: readonly string[];
}

export function IconButton({ icon, label, onClick, roles = [] }: IconButtonProps) {
  const reason = lacking(roles);
  return (
    <button
      type="button"
      class="button button-quiet button-icon"
      aria-label={label}
      aria-disabled={reason === undefined ? undefined : true}
      title={reason ?? label}
      onClick={() => (reason === undefined ? onClick() : notify(reason))}
    >
      <Icon icon={icon} />
    </button>
  );
}

export interface LinkButtonProps {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly icon?: IconNode;
  readonly kind?: 'main';
  readonly download?: string;
  /** One of these roles is needed for what it leads to. */
  readonly roles?: readonly string[];
}

export function LinkButton({ href, children, icon, kind, download, roles = [] }: LinkButtonProps) {
  if (lacking(roles) !== undefined)
    return (
      <Button roles={roles} {...(icon && { icon })} {...(kind && { kind })}>
        {children}
      </Button>
    );
  return (
    <a class={kind === undefined ? 'button' : CLASSES[kind]} href={href} download={download}>
      {icon && <Icon icon={icon} />}
      {children}
    </a>
  );
}
