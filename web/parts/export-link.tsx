/** The way from a list to its export, with the filters that both have. */
import { Download } from 'lucide';
import { href } from '../core/route.ts';
import type { ExportKind } from '../core/server/exports.ts';
import { common } from '../core/text/common.ts';
import { LinkButton } from './button.tsx';

export interface ExportLinkProps {
  readonly kind: ExportKind;
  readonly source: string;
  readonly type?: string;
  readonly status?: string;
  /** Of alarms, with commas. */
  readonly severity?: string;
  /** Of operations: the member, and the id of the bulk operation. */
  readonly command?: string;
  readonly bulk?: string;
  readonly from: string;
  readonly to: string;
}

export function ExportLink(props: ExportLinkProps) {
  return (
    <LinkButton icon={Download} href={href('/data/export', undefined, { ...props })}>
      {common().exportAs}
    </LinkButton>
  );
}
