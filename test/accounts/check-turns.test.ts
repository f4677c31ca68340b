/** Turns of checks of passwords: tenants, and accounts of a tenant, do not hold up each other. */
import t from 'tap';
import { CheckTurns } from '../../src/accounts/check-turns.ts';

/** @returns turns with eight checks under way, what begins after that, and what is refused. */
async function busy(waitingMax?: number) {
  const counted: string[] = [];
  const turns = new CheckTurns({ refusals: { count: (limit) => void counted.push(limit) }, waitingMax });
  for (let index = 0; index < 8; index += 1) await turns.begin(1, 'x');
  const running: [number, string][] = Array.from({ length: 8 }, () => [1, 'x']);
  const begun: string[] = [];
  const refused: string[] = [];
  const wait = (tenant: number, account: string, name = `${tenant}/${account}`): void => {
    turns.begin(tenant, account).then(() => { running.push([tenant, account]); begun.push(name); }, ({ details }: { details: { limit: string } }) => refused.push(`${name} ${details.limit}`));
  };
  /** Ends one check after the other. */
  const end = async (count: number): Promise<string[]> => {
    for (let index = 0; index < count; index += 1) {
      turns.end(...running.shift() as [number, string]);
      await new Promise((resolve) => { setImmediate(resolve); });
    }
    return begun;
  };
  return { turns, wait, end, begun, refused, counted };
}

t.test('many passwords for one account leave the others their turns', async (t) => {
  const { wait, end } = await busy();
  for (let index = 0; index < 50; index += 1) wait(1, 'ada', `guess${index}`);
  wait(1, 'bob');
  wait(2, 'eve');
  wait(2, 'ada');
  t.same(await end(6), ['guess0', '2/eve', '1/bob', '2/ada', 'guess1', 'guess2']);
});

t.test('each check gives its place to one other', async (t) => {
  const { turns, wait, end, begun } = await busy();
  wait(1, 'ada');
  await end(9);
  t.same(begun, ['1/ada']);
  for (let index = 0; index < 8; index += 1) await turns.begin(1, 'x');
  wait(1, 'bob');
  await end(0);
  t.same(begun, ['1/ada'], 'eight at once, as before');
});

t.test('the bounds refuse who has most', async (t) => {
  const { wait, end, refused, counted } = await busy(4);
  for (const name of ['a', 'b', 'c', 'd']) wait(1, 'ada', name);
  wait(1, 'ada', 'e');
  await end(0);
  await new Promise((resolve) => { setImmediate(resolve); });
  t.same(refused, ['e authentication/checks-waiting'], 'the newcomer, of the same account');
  wait(1, 'bob');
  wait(2, 'eve');
  await new Promise((resolve) => { setImmediate(resolve); });
  t.same(refused.slice(1), ['d authentication/checks-waiting', 'c authentication/checks-waiting'], 'not who has few');
  t.same(await end(4), ['a', '2/eve', '1/bob', 'b']);
  t.same(new Set(counted), new Set(['authentication/checks-waiting']));
});

t.test('the bound of one account', async (t) => {
  const { wait, refused, counted } = await busy();
  for (let index = 0; index < 101; index += 1) wait(1, 'ada', `guess${index}`);
  wait(1, 'bob');
  await new Promise((resolve) => { setImmediate(resolve); });
  t.same(refused, ['guess100 authentication/checks-of-account']);
  t.same(counted, ['authentication/checks-of-account']);
});
