import type { Member } from '../../ports/cluster/leases.ts';
import type { Config } from '../../config/config.ts';

/** What a node of a cluster does (`--roles`). */
export const rolesOf = (config: Config): Member['roles'] => config.roles.split(',') as Member['roles'][number][];
