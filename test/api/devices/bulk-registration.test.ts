/** The answer about a file with devices, while its lines are under way (docs/spec/device-registration.md#files). */
import t from 'tap';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import type { Command } from '../../../src/model/commands/command.ts';
import type { DeviceEnsure } from '../../../src/model/commands/external-ids.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import { ADMIN, startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';

const BOUNDARY = 'xx-boundary-xx';
const LINES = 80;
/** Of devices with certificates, whose passwords would not be hashed. */
const FILE = `ID,CREDENTIALS,AUTH_TYPE\n${Array.from({ length: LINES }, (_, index) => `d-${index},,CERTIFICATES`).join('\n')}`;

const upload = (
  api: Api,
  csv: string,
  headers: Record<string, string> = { accept: 'application/json' },
): Promise<Response> =>
  fetch(`${api.url}/devicecontrol/bulkNewDeviceRequests`, {
    method: 'POST',
    headers: { authorization: ADMIN, 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, ...headers },
    body: `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="d.csv"\r\n\r\n${csv}\r\n--${BOUNDARY}--\r\n`,
  });

/** @param ensured what the actor of a device's external ID answers. */
async function apiWith(
  t: Parameters<typeof startApi>[0],
  ensured: (externalId: string) => Promise<void>,
): Promise<Api> {
  const api = await startApi(t);
  api.fake.handle = (async ({ kind, body }: Command) => {
    if (kind !== COMMAND.DEVICE_ENSURE) return {};
    const { externalId, id } = body as DeviceEnsure;
    await ensured(externalId);
    return { id, created: true };
  }) as typeof api.fake.handle;
  return api;
}

t.test('it comes while lines are under way, 32 at once', async (t) => {
  let [underWay, most] = [0, 0];
  let release = (): void => undefined;
  const last = new Promise<void>((resolve) => {
    release = resolve;
  });
  const api = await apiWith(t, async (externalId) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await (externalId === `d-${LINES - 1}`
      ? last
      : new Promise((resolve) => {
          setTimeout(resolve, 5);
        }));
    underWay -= 1;
  });
  const response = await upload(api, FILE);
  t.equal(response.status, 201);
  t.match(response.headers.get('content-type'), /^application\/json/);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!text.includes('"d-0"')) text += decoder.decode((await reader.read()).value, { stream: true });
  release();
  for (let next = await reader.read(); !next.done; next = await reader.read())
    text += decoder.decode(next.value, { stream: true });
  t.match(JSON.parse(text), { numberOfAll: LINES, numberOfCreated: LINES, failedCreationList: [] });
  t.equal(most, 32);
  t.equal(api.fake.blobs.contents.size, 0, 'the file is removed');
});

t.test('without Accept it has no body, and all lines are done', async (t) => {
  let count = 0;
  const api = await apiWith(t, async () => {
    count += 1;
  });
  const response = await upload(api, FILE, { accept: '' });
  t.same([response.status, await response.text(), count], [201, '', LINES]);
});

t.test('a server that fails at the first line refuses the file, later it tells what was not done', async (t) => {
  const failing =
    (at: string) =>
    async (externalId: string): Promise<void> => {
      if (externalId === at) throw new PlatformError('general/documents-unavailable', { reason: 'a test' });
    };
  const first = await upload(await apiWith(t, failing('d-0')), FILE);
  t.equal(first.status, 503);
  await first.text();
  const later = await upload(await apiWith(t, failing('d-7')), FILE);
  t.equal(later.status, 201);
  const answer = (await later.json()) as any;
  t.equal(answer.numberOfAll, LINES);
  t.ok(answer.numberOfFailed > LINES - 40 && answer.numberOfFailed < LINES - 6, `${answer.numberOfFailed}`);
  t.equal(answer.failedCreationList[0].deviceId, 'd-7');
  t.match(answer.failedCreationList.at(-1), { deviceId: `d-${LINES - 1}`, failureReason: /not tried/ });
});
