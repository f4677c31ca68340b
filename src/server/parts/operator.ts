/** What the operator of the machine reaches: the control socket and the operator's port. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { kindOfName } from '../../accounts/passwords/hashes.ts';
import { PASSWORD_RULE, isAllowedPassword, passwordStrength } from '../../model/access/password.ts';
import { userPut, type UserPut } from '../../model/commands/users.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import type { RunningBackups } from '../../operate/backup/running.ts';
import { ControlSocket } from '../../operate/control-socket.ts';
import type { ControlHandler } from '../../operate/control-socket.ts';
import { OpsServer } from '../../operate/ops-server.ts';
import type { ServerCore } from '../cores/core.ts';

/** Long enough for a command; `millrace tail` asks again. */
const OPERATOR_TOKEN_SECONDS = 3_600;

export interface OperatorDoors {
  readonly control: ControlSocket;
  readonly ops: OpsServer;
  /** Resolves when a backup waits beside the data: the next start is on it. */
  readonly staged: Promise<void>;
}

/** @param httpUrl of this server, once its ports are open. */
export function operatorDoors(core: ServerCore, httpUrl: () => string): OperatorDoors {
  const run = randomUUID();
  let onStaged = (): void => undefined;
  const staged = new Promise<void>((resolve) => {
    onStaged = resolve;
  });
  const control = new ControlSocket(
    join(core.data, 'control.sock'),
    new Map<string, ControlHandler>([
      ['backup', async (request) => backupsOf(core).make(String(request.to))],
      [
        'restore',
        async (request) => {
          const answer = await backupsOf(core).stage(String(request.from));
          onStaged();
          return answer;
        },
      ],
      ['state', () => Promise.resolve({ run })],
      [
        'access',
        async ({ tenant, user }) => ({
          url: httpUrl(),
          baseUrl: core.config.baseUrl,
          ...(await accessOf(core, String(tenant), String(user))),
        }),
      ],
      [
        'password',
        async ({ tenant, user, password }) => setPassword(core, String(tenant), String(user), String(password)),
      ],
    ]),
    core.log,
  );
  const ops = new OpsServer({ health: () => core.health(), metricsText: () => core.metrics.text(), log: core.log });
  return { control, ops, staged };
}

/** A token of the user, for the operator. @throws Error for a user who may not log in. */
async function accessOf(core: ServerCore, tenant: string, userName: string): Promise<{ readonly token: string }> {
  const { tenantNumber, user } = await userOf(core, tenant, userName);
  const issued =
    user === undefined
      ? undefined
      : await core.tokens.issue(
          { tenant, tenantNumber, userName, tokenGeneration: user.tokenGeneration ?? 0 },
          OPERATOR_TOKEN_SECONDS,
          tenant,
        );
  if (issued === undefined) throw new Error(`${tenant}/${userName} does not exist, or is disabled`);
  core.log.info({ tenant, user: userName }, 'the operator was given a token over the control socket');
  return { token: issued.token };
}

/** Of a user who forgot it. @throws Error for a user who does not exist, and a password that breaks the rules. */
async function setPassword(core: ServerCore, tenant: string, userName: string, password: string): Promise<object> {
  const { tenantNumber, user } = await userOf(core, tenant, userName);
  if (user === undefined) throw new Error(`${tenant}/${userName} does not exist`);
  if (!isAllowedPassword(password)) throw new Error(`the password of a user takes ${PASSWORD_RULE}`);
  const turn = { tenant: tenantNumber, account: userName };
  const body: UserPut = {
    userName,
    password: await core.hashes.hash(password, kindOfName(userName), turn),
    passwordStrength: passwordStrength(password),
    mustExist: true,
  };
  await core.commands.request(userPut(tenantNumber, Date.now(), body));
  core.log.info({ tenant, user: userName }, 'the operator set a password over the control socket');
  return {};
}

/** @throws Error for a tenant that does not exist. */
async function userOf(
  { tenants, documents }: ServerCore,
  tenant: string,
  userName: string,
): Promise<{ readonly tenantNumber: number; readonly user: StoredUser | undefined }> {
  const tenantNumber = tenants.byId(tenant)?.number;
  if (tenantNumber === undefined) throw new Error(`the tenant ${tenant} does not exist`);
  const text = await documents.get('user', tenantNumber, userName);
  return { tenantNumber, user: text === undefined ? undefined : (JSON.parse(text) as StoredUser) };
}

/** @throws Error on a node of a cluster. */
function backupsOf({ backups }: ServerCore): Pick<RunningBackups, 'make' | 'stage'> {
  if (backups === undefined)
    throw new Error(
      'a node of a cluster keeps its data in NATS, Redis and ClickHouse; docs/internals/cluster.md says how these are copied',
    );
  return backups;
}
