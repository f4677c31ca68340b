/** Which bindings of a tenant are scored, as records and models change (docs/internals/scoring.md#bindings). */
import t from 'tap';
import { informationId, modelId } from '../../../src/model/entities/scoring/model.ts';
import { newCounts } from '../../../src/scoring/bindings/lane.ts';
import { stateOf, TenantBindings } from '../../../src/scoring/bindings/tenant-bindings.ts';

const BINDING: any = {
  id: 5,
  modelName: 'm',
  modelKind: 'pmml',
  modelToDeviceMappings: { t: 'oven.t.value' },
  isActive: true,
  output: { event: { type: 'e' } },
};

t.test('a binding waits for its model, and is read again after a store has failed', async (t) => {
  const records = new Map<string, string>();
  let isAway = false;
  const lanes: string[] = [];
  const documents: any = {
    get: async (_collection: string, _tenant: number, id: string) => {
      if (isAway) throw new Error('the store is away');
      return records.get(id);
    },
  };
  const makeLane: any = ({ model }: any) => {
    lanes.push(model.blob);
    return { end: async () => void lanes.push(`end of ${model.blob}`), offer: () => undefined };
  };
  let pause: string | undefined;
  const pauseOf = ({ blob }: { blob: string }) => (blob === 'one' ? pause : undefined);
  const bindings = new TenantBindings(1, { documents, devices: {} as any, makeLane, pauseOf });
  const state = () => stateOf(BINDING, bindings);
  await bindings.set(5, BINDING);
  t.same(state(), { state: 'WAITING', reason: "Model 'm' not found." });
  t.equal(bindings.selection, undefined);

  const store = (blob: string, isActive = true) => {
    records.set(modelId('pmml', 'm'), JSON.stringify({ name: 'm', blob, isActive }));
    records.set(
      informationId('pmml', 'm'),
      JSON.stringify({ inputFields: [{ name: 't' }], outputFields: [{ name: 'p' }] }),
    );
  };
  store('one');
  await bindings.modelChanged('onnx', 'm');
  t.equal(state().state, 'WAITING', 'another model');
  await bindings.modelChanged('pmml', 'm');
  t.same([state(), lanes.splice(0)], [{ state: 'ACTIVE', reason: null }, ['one']]);
  t.not(bindings.selection, undefined);
  pause = 'It pauses.';
  t.same(state(), { state: 'WAITING', reason: 'It pauses.' });
  pause = undefined;
  await bindings.set(5, BINDING);
  t.same(lanes, [], 'nothing has changed');

  store('two');
  isAway = true;
  await t.rejects(bindings.modelChanged('pmml', 'm'), { message: 'the store is away' });
  t.same(state(), { state: 'WAITING', reason: 'It is being read.' });
  t.equal(bindings.selection, undefined);
  isAway = false;
  await bindings.set(5, BINDING);
  t.same(lanes.splice(0), ['end of one', 'two'], 'it is read again though the binding is the same');

  store('three');
  const changed = bindings.modelChanged('pmml', 'm');
  t.same([lanes.splice(0), state().state], [[], 'ACTIVE'], 'the old one scores until the new one is read');
  await changed;
  t.same(lanes.splice(0), ['end of two', 'three']);

  store('two', false);
  await bindings.modelChanged('pmml', 'm');
  t.same(state(), { state: 'WAITING', reason: "Model 'm' is not active." });
  t.same(stateOf({ ...BINDING, isActive: false }, bindings).state, 'INACTIVE');
  t.same(bindings.countsOf(5), newCounts());
  await bindings.set(5, undefined);
  t.equal(bindings.size, 0);
});
