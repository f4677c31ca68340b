/**
 * What becomes of secret options and of the users of microservices when the key of the server changes
 * (docs/spec/options.md#secret-values).
 */
import t from 'tap';
import { Rest, TENANT, notInCluster, startServer } from '../../helpers/running/server.ts';
import type { RunningServer } from '../../helpers/running/server.ts';

const APPS = '/application/applications';
const CURRENT = '/application/currentApplication';
const OPTION = '/tenant/options/keyed/credentials.token';
interface Credentials {
  readonly tenant: string;
  readonly name: string;
  readonly password: string;
}

t.test(
  'a key that is given later, and another one',
  { skip: notInCluster('the nodes of a cluster have one key (docs/internals/cluster.md, The secret key)') },
  async (t) => {
    let server: RunningServer = await startServer(t);
    const as = ({ tenant, name, password }: Credentials): Rest => new Rest(server.url, `${tenant}/${name}`, password);
    const restart = async (key: string): Promise<void> => {
      await server.stop();
      server = await startServer(t, { data: server.data, flags: ['--secret-key', key] });
    };
    const { id } = await server.rest.create(APPS, {
      key: 'keyed',
      name: 'keyed',
      contextPath: 'keyed',
      type: 'MICROSERVICE',
      requiredRoles: ['ROLE_INVENTORY_READ'],
    });
    t.equal((await server.rest.post(`/tenant/tenants/${TENANT}/applications`, { application: { id } })).status, 201);
    t.equal((await server.rest.put(OPTION, { value: 'secret' })).status, 200);
    const bootstrap: Credentials = await server.rest.read(`${APPS}/${id}/bootstrapUser`);
    const {
      users: [service],
    } = await as(bootstrap).read(`${CURRENT}/subscriptions`);

    await restart('the first key of this server, with 32 characters and more');
    t.same(
      await server.rest.read(`${APPS}/${id}/bootstrapUser`),
      bootstrap,
      'what the generated key has encrypted is read',
    );
    t.same((await as(bootstrap).read(`${CURRENT}/subscriptions`)).users, [service]);
    t.same(await as(bootstrap).read(`${CURRENT}/settings`), { token: 'secret' });
    t.equal((await server.rest.put(OPTION, { value: 'secret 2' })).status, 200);

    await restart('another key of this server, with 32 characters and more!!');
    t.same(
      await as(bootstrap).read(`${CURRENT}/settings`),
      { token: '<<Encrypted>>' },
      'what cannot be read has to be set again',
    );
    t.equal(
      (await server.rest.put(`${APPS}/${id}`, { requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_ALARM_READ'] })).status,
      200,
    );
    t.match((await as(bootstrap).read(`${CURRENT}/subscriptions`)).users, [{ name: service.name }]);
    t.equal((await server.rest.put(OPTION, { value: 'secret 3' })).status, 200);
    t.same(await as(bootstrap).read(`${CURRENT}/settings`), { token: 'secret 3' });
  },
);
