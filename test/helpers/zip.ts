/** ZIP archives for tests, also such that no honest program writes. */
import yazl from 'yazl';

/** Content by path; `mode` of the entry as Unix has it. */
export type ZipFiles = Readonly<
  Record<
    string,
    string | Buffer | { readonly content: string | Buffer; readonly mode?: number; readonly compress?: boolean }
  >
>;

export async function zipOf(files: ZipFiles): Promise<Buffer> {
  const zip = new yazl.ZipFile();
  for (const [name, file] of Object.entries(files)) {
    const { content, mode, compress } =
      typeof file === 'string' || Buffer.isBuffer(file)
        ? ({ content: file } as { content: string | Buffer; mode?: number; compress?: boolean })
        : file;
    zip.addBuffer(Buffer.from(content as string), name, {
      ...(mode === undefined ? {} : { mode }),
      compress: compress ?? true,
    });
  }
  zip.end();
  const pieces: Buffer[] = [];
  for await (const piece of zip.outputStream as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Puts another text of the same length in place of every occurrence. */
export function patched(zip: Buffer, from: string, to: string): Buffer {
  if (from.length !== to.length) throw new Error('texts of one length');
  const copy = Buffer.from(zip);
  for (let at = copy.indexOf(from); at >= 0; at = copy.indexOf(from, at + 1)) copy.write(to, at, 'latin1');
  return copy;
}

const CENTRAL_SIGNATURE = Buffer.from([0x50, 0x4b, 0x01, 0x02]);
const CENTRAL_HEADER_BYTES = 46;

/**
 * Changes what the list of entries says about one of them: `change` gets the whole archive and where the entry's header
 * and its content begin.
 */
export function changed(
  zip: Buffer,
  name: string,
  change: (copy: Buffer, header: number, content: number) => void,
): Buffer {
  const copy = Buffer.from(zip);
  for (let at = copy.indexOf(CENTRAL_SIGNATURE); at >= 0; at = copy.indexOf(CENTRAL_SIGNATURE, at + 1)) {
    const length = copy.readUInt16LE(at + 28);
    if (copy.toString('utf8', at + CENTRAL_HEADER_BYTES, at + CENTRAL_HEADER_BYTES + length) !== name) continue;
    const local = copy.readUInt32LE(at + 42);
    change(copy, at, local + 30 + copy.readUInt16LE(local + 26) + copy.readUInt16LE(local + 28));
    return copy;
  }
  throw new Error(`no entry ${name}`);
}

/** The length of an entry as the list of entries has it. */
export const withLength = (zip: Buffer, name: string, bytes: number): Buffer =>
  changed(zip, name, (copy, header) => {
    copy.writeUInt32LE(bytes, header + 24);
  });
/** The first block of the entry has a type that deflate does not know. */
export const withBrokenDeflate = (zip: Buffer, name: string): Buffer =>
  changed(zip, name, (copy, _header, content) => {
    copy[content] = 0xff;
  });

/** The form of an upload. */
export function archiveForm(
  zip: Buffer,
  fields: Readonly<Record<string, string>> = {},
  part = 'file',
  fileName = 'app.zip',
): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append(part, new Blob([new Uint8Array(zip)], { type: 'application/zip' }), fileName);
  return form;
}

export const MANIFEST = {
  apiVersion: 'v2',
  name: 'hello',
  version: '1.0.0-SNAPSHOT',
  contextPath: 'hello',
  provider: { name: 'Mill', domain: 'https://example.com', support: 's@example.com' },
  isolation: 'MULTI_TENANT',
  scale: 'NONE',
  replicas: 1,
  billingMode: 'RESOURCES',
  resources: { cpu: '0.5', memory: '512M' },
  requestedResources: { cpu: '250m', memory: '256M' },
  requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_INVENTORY_ADMIN'],
  roles: ['ROLE_HELLO_READ'],
  settings: [
    { key: 'colour', defaultValue: 'red', editable: true },
    { key: 'fixed', defaultValue: 'f' },
    { key: 'credentials.token', defaultValue: 's3cret', editable: true },
    { key: 'own', defaultValue: 'd', inheritFromOwner: false, editable: true },
  ],
  livenessProbe: {
    httpGet: { path: '/health', port: 80, scheme: 'HTTP', headers: [{ name: 'X-A', value: 'b' }] },
    initialDelaySeconds: 200,
    periodSeconds: 10,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 3,
  },
  readinessProbe: { exec: { command: ['true'] } },
  extensions: [{ type: 'x' }],
};
export const microserviceZip = (manifest: object = MANIFEST, name = 'cumulocity.json'): Promise<Buffer> =>
  zipOf({ [name]: JSON.stringify(manifest), 'image.tar': 'an image' });
