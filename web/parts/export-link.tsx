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
  readonly from: string;
  readonly to: string;
}

export function ExportLink({ kind, source, type = '', status = '', severity = '', from, to }: ExportLinkProps) {
  const filters = { kind, source, type, status, severity, from, to };
  return (
    <LinkButton icon={Download} href={href('/data/export', undefined, filters)}>
      {common().exportAs}
    </LinkButton>
  );
}
