/** What the operator of the machine reaches: the control socket and the operator's port. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { RunningBackups } from '../../operate/backup/running.ts';
import { ControlSocket } from '../../operate/control-socket.ts';
import type { ControlHandler } from '../../operate/control-socket.ts';
import { OpsServer } from '../../operate/ops-server.ts';
import type { ServerCore } from '../cores/core.ts';

export interface OperatorDoors {
  readonly control: ControlSocket;
  readonly ops: OpsServer;
  /** Resolves when a backup waits beside the data: the next start is on it. */
  readonly staged: Promise<void>;
}

export function operatorDoors(core: ServerCore): OperatorDoors {
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
    ]),
    core.log,
  );
  const ops = new OpsServer({ health: () => core.health(), metricsText: () => core.metrics.text(), log: core.log });
  return { control, ops, staged };
}

/** @throws Error on a node of a cluster. */
function backupsOf({ backups }: ServerCore): Pick<RunningBackups, 'make' | 'stage'> {
  if (backups === undefined)
    throw new Error(
      'a node of a cluster keeps its data in NATS, Redis and ClickHouse; docs/cluster.md says how these are copied',
    );
  return backups;
}
