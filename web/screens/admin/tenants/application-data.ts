/** Applications as the console reads them. */
import { pathOf } from '../../../core/api/json.ts';

export const TYPES = ['HOSTED', 'EXTERNAL', 'MICROSERVICE'] as const;
const AVAILABILITIES = ['PRIVATE', 'MARKET', 'SHARED'] as const;

export interface Application {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly type: (typeof TYPES)[number] | 'APAMA_CEP_RULE';
  readonly availability: (typeof AVAILABILITIES)[number];
  readonly contextPath?: string;
  readonly externalUrl?: string;
  readonly description?: string;
  readonly activeVersionId?: string;
  readonly owner?: { readonly tenant?: { readonly id: string } };
}

export const APPLICATIONS_PATH = '/application/applications';
export const applicationPath = (id: string): string => pathOf`/application/applications/${id}`;
export const APPLICATION_ADMIN = ['ROLE_APPLICATION_MANAGEMENT_ADMIN'];

/** Where a browser opens it; undefined of one without pages. */
export function pageOf({ type, contextPath, externalUrl, activeVersionId }: Application): string | undefined {
  if (type === 'EXTERNAL') return externalUrl !== undefined && /^https?:/i.test(externalUrl) ? externalUrl : undefined;
  return type === 'HOSTED' && contextPath && activeVersionId ? `/apps/${encodeURIComponent(contextPath)}/` : undefined;
}
