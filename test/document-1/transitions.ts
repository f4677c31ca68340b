/** Moves an operation from PENDING through statuses. */
import type { Test } from 'tap';
import type { World } from './world.ts';

/** @param last what goes along with the last one. @returns the id of the operation. */
export async function checkTransition(
  t: Test,
  world: World,
  statuses: readonly string[],
  last: object = {},
): Promise<string> {
  const { id } = await world.operation();
  for (const [index, status] of statuses.entries()) {
    const reply = await world.rest.put(`/devicecontrol/operations/${id}`, {
      status,
      ...(index === statuses.length - 1 ? last : {}),
    });
    t.equal(reply.status, 200);
    t.equal((await world.rest.read(`/devicecontrol/operations/${id}`)).status, status);
  }
  return id;
}
