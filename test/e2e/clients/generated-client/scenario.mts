/** What a user of a generated client writes: checked by the compiler against the types that were generated, then run. */
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

type Alarm = components['schemas']['alarm'];

export interface Result {
  readonly device: string;
  readonly location: string | null;
  readonly values: readonly unknown[];
  readonly alarm: Pick<Alarm, 'id' | 'status'>;
  readonly operations: readonly (string | undefined)[];
  readonly refused: { readonly status: number; readonly error: string | undefined };
  readonly after: number;
}

/** @throws when something is refused that should not be. */
function held<Data>({ data, error, response }: { data?: Data; error?: unknown; response: Response }): Data {
  if (data === undefined) throw new Error(`${response.url}: ${response.status} ${JSON.stringify(error)}`);
  return data;
}

/** What the server has stored has an id. */
function idOf({ id }: { id: string | null }): string {
  if (id === null) throw new Error('it was not stored');
  return id;
}

export async function scenario(baseUrl: string, authorization: string): Promise<Result> {
  const client = createClient<paths, 'application/json'>({ baseUrl, headers: { authorization, accept: 'application/json' } });
  const time = '2024-05-02T10:00:30.000Z';
  const created = await client.POST('/inventory/managedObjects', { body: { name: 'Pump 7', type: 'c8y_Pump', c8y_IsDevice: {}, com_cumulocity_model_Agent: {} } });
  const id = idOf(held(created));
  for (const value of [21, 22, 23]) {
    held(await client.POST('/measurement/measurements', { body: { source: { id }, time: `2024-05-02T10:00:${value}.000Z`, type: 'c8y_Env', c8y_Env: { T: { value, unit: 'C' } } } }));
  }
  const page = held(await client.GET('/measurement/measurements', { params: { query: { source: id, pageSize: 2, withTotalPages: true } } }));
  const second = held(await client.GET('/measurement/measurements', { params: { query: { source: id, pageSize: 2, currentPage: 2 } } }));
  if (page.statistics?.totalPages !== 2) throw new Error(JSON.stringify(page.statistics));
  const alarm = held(await client.POST('/alarm/alarms', { body: { source: { id }, time, type: 'c8y_Hot', text: 'Too hot', severity: 'MAJOR' } }));
  const { status } = held(await client.PUT('/alarm/alarms/{id}', { params: { path: { id: idOf(alarm) } }, body: { status: 'CLEARED' } }));
  const operation = held(await client.POST('/devicecontrol/operations', { body: { deviceId: id, description: 'Restart', c8y_Restart: {} } }));
  held(await client.PUT('/devicecontrol/operations/{id}', { params: { path: { id: idOf(operation) } }, body: { status: 'EXECUTING' } }));
  const { operations } = held(await client.GET('/devicecontrol/operations', { params: { query: { deviceId: id, status: 'EXECUTING' } } }));
  // @ts-expect-error A severity that there is not: the compiler knows.
  const refused = await client.POST('/alarm/alarms', { body: { source: { id }, time, type: 'x', text: 'x', severity: 'LOUD' } });
  const removed = await client.DELETE('/inventory/managedObjects/{id}', { params: { path: { id } } });
  return {
    device: id, location: created.response.headers.get('location'), values: [...page.measurements, ...second.measurements].map(({ c8y_Env }) => c8y_Env), alarm: { id: idOf(alarm), status },
    operations: operations.map(({ description }) => description), refused: { status: refused.response.status, error: (refused.error as components['schemas']['error'] | undefined)?.error }, after: removed.response.status,
  };
}
