/** What the user may do. What is not allowed stays visible and says which role it needs. */
import { computed } from '@preact/signals';
import { user } from './session.ts';

const roles = computed(() => new Set((user.value?.effectiveRoles ?? []).map(({ id }) => id)));

/** True for a holder of any of the roles. The server decides; this only spares people a refusal. */
export const hasRole = (...wanted: readonly string[]): boolean => wanted.some((role) => roles.value.has(role));

/** The first of the roles when the user has none of them: what a button says beside itself. */
export const missingRole = (...wanted: readonly string[]): string | undefined =>
  hasRole(...wanted) ? undefined : wanted[0];
