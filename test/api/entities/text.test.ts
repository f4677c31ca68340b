/** Texts made of stored documents: the same with and without their members. */
import t from 'tap';
import { dataTexts, textOfStored, type ViewRequest } from '../../../src/api/entities/text.ts';

const SOURCES: Readonly<Record<string, string>> = { '5': '{"id":"5","name":"Pump","type":"T"}', '6': '{"id":"6"}' };
const request = {
  baseUrl: 'http://h',
  tenant: 1,
  platform: {
    config: {},
    documents: {
      getMany: (_collection: string, _tenant: number, ids: readonly string[]) =>
        Promise.resolve(ids.map((id) => SOURCES[id])),
    },
  },
} as unknown as ViewRequest;
const url = (id: string): string => `http://h/alarm/alarms/${id}`;
const named = '{"id":"5","self":"http://h/inventory/managedObjects/5","name":"Pump","type":"T"}';

void t.test('data has its links, the name of its source, and the rest as it is stored', async (t) => {
  const check = async (doc: string, wanted: string): Promise<void> => {
    t.strictSame(await dataTexts(request, [{ entityId: '9', doc }], url), [wanted], doc);
  };
  const head = '{"self":"http://h/alarm/alarms/9","id":"9"';
  await check('{"id":"9","source":{"id":"5"},"x":1.0}', `${head},"source":${named},"x":1.0}`);
  await check('{"id":"9","source":{"id":"5"}}', `${head},"source":${named}}`);
  await check(
    '{"id":"9","source":{"id":"7"},"x":{"self":"s"}}',
    `${head},"source":{"id":"7","self":"http://h/inventory/managedObjects/7"},"x":{"self":"s"}}`,
  );
  // As no actor writes them.
  await check('{"x":1,"source":{"id":5},"id":"8","self":"s"}', `${head},"x":1,"source":${named}}`);
  await check('{"id":"9","source":{"id":"5","name":"old"}}', `${head},"source":${named}}`);
  const documents = ['5', '6', '5'].map((source, index) => ({
    entityId: String(index),
    doc: `{"id":"${index}","source":{"id":"${source}"}}`,
  }));
  t.match(
    (await dataTexts(request, documents, url, new Map([['history', '{}']]))).map((text) => JSON.parse(text) as object),
    [
      { source: { name: 'Pump' }, history: {} },
      { id: '1', source: { id: '6' } },
      { id: '2', source: { name: 'Pump' } },
    ],
  );
});

void t.test('a stored text has members added behind its own, unless one of them is looked at', async (t) => {
  const of = (doc: string): string | undefined => textOfStored('u', '9', doc, ',"more":{}', /"self":/);
  t.equal(of('{"id":"9","a":"}"}'), '{"self":"u","id":"9","a":"}","more":{}}');
  t.equal(of('{"id":"9"}'), '{"self":"u","id":"9","more":{}}');
  t.equal(of('{"id":"9","self":"s"}'), undefined);
  t.equal(of('{"a":1,"id":"9"}'), undefined);
});
