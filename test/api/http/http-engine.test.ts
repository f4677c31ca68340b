/** Which library serves HTTP, and the request in several reads that it has to answer first. */
import t from 'tap';
import { chooseHttpEngine } from '../../../src/api/http/engines/engine.ts';
import type { HttpLibrary, LibraryApp } from '../../../src/api/http/library.ts';
import { faultOf } from '../../../src/api/http/engines/check.ts';
import { nodeHttpLibrary } from '../../../src/api/http/node-engine/app.ts';
import { loadUws } from '../../../src/api/http/engines/uws.ts';

const real = loadUws();
const node = async (): Promise<HttpLibrary> => nodeHttpLibrary;

/** A library whose answer to every request is another one; `undefined`: none. */
function answering(answer: string | undefined): HttpLibrary {
  const app = (): LibraryApp => {
    const inner = real.App();
    return {
      ...inner,
      any: (pattern) =>
        inner.any(pattern, (response) => {
          response.onAborted(() => undefined);
          if (answer !== undefined) response.end(answer);
        }),
      listen: inner.listen.bind(inner),
      close: inner.close.bind(inner),
    };
  };
  return {
    App: app,
    DISABLED: real.DISABLED,
    us_listen_socket_close: real.us_listen_socket_close,
    us_socket_local_port: real.us_socket_local_port,
  };
}

t.test('the check sees a right answer, a wrong one, and none', async (t) => {
  t.equal(await faultOf(real), undefined);
  t.equal(await faultOf(nodeHttpLibrary), undefined);
  t.match(await faultOf(answering('no')), /^"HTTP\/1\.1 200 OK.*no"$/);
  t.equal(await faultOf(answering(undefined), 300), 'no answer within 300 ms');
});

t.test('auto takes uWebSockets.js, and the other where it does not load or answers wrong', async (t) => {
  t.match(await chooseHttpEngine({ engine: 'auto', trustsProxy: false }), {
    name: 'uws',
    library: real,
    isFallback: false,
    description: /^uWebSockets\.js 20\.56\.0 for Node \d+ \(ABI \d+\)$/,
  });
  const broken = (): HttpLibrary => {
    throw new Error('there is no build');
  };
  t.match(await chooseHttpEngine({ engine: 'auto', trustsProxy: false }, { uws: broken, node }), {
    name: 'node',
    library: nodeHttpLibrary,
    isFallback: true,
    description: /^node:http, which is slower than uWebSockets\.js: there is no build$/,
  });
  t.match(await chooseHttpEngine({ engine: 'auto', trustsProxy: false }, { uws: () => answering('no'), node }), {
    name: 'node',
    isFallback: true,
    description: /: a request in several reads is answered wrong: "HTTP\/1\.1 200/,
  });
  await t.rejects(
    chooseHttpEngine({ engine: 'uws', trustsProxy: false }, { uws: broken, node }),
    /--http-engine uws cannot be: there is no build/,
  );
  await t.rejects(
    chooseHttpEngine({ engine: 'uws', trustsProxy: false }, { uws: () => answering('no'), node }),
    /is answered wrong/,
  );
});

t.test('node is taken when it is asked for, without a look at the binary', async (t) => {
  const uws = (): HttpLibrary => {
    throw new Error('not to be loaded');
  };
  t.match(await chooseHttpEngine({ engine: 'node', trustsProxy: false }, { uws, node }), {
    name: 'node',
    isFallback: false,
    description: /^node:http, as --http-engine says$/,
  });
  await t.rejects(
    chooseHttpEngine({ engine: 'node', trustsProxy: false }, { uws, node: async () => answering('no') }),
    /is answered wrong/,
  );
});

t.test(
  'behind a proxy auto is the engine that reads chunks as proxies do; the other one has to be asked for',
  async (t) => {
    const uws = (): HttpLibrary => {
      throw new Error('not to be loaded');
    };
    t.match(await chooseHttpEngine({ engine: 'auto', trustsProxy: true }, { uws, node }), {
      name: 'node',
      isFallback: false,
      description: /^node:http, which reads bodies in chunks as proxies do/,
    });
    t.match(await chooseHttpEngine({ engine: 'uws', trustsProxy: true }), {
      name: 'uws',
      description: /which refuses bodies in chunks behind a proxy$/,
    });
  },
);
