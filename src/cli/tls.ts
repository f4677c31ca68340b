/** `millrace tls self-signed`: a key and a certificate that signs itself, for a first try of TLS. */
import { webcrypto, randomBytes } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { Setting, SettingValues } from '../config/settings.ts';
import { SettingsError } from '../config/settings.ts';
import { CommandError, EXIT_OK } from '../operate/exit-codes.ts';
import { read } from './command.ts';
import type { CommandEntry } from './command.ts';
import { printRecord, say } from './remote/output.ts';

const DAY_MS = 86_400_000;
const KEY_MODE = 0o600;
const CERTIFICATE_MODE = 0o644;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const NAME = /^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$/;

const SELF_SIGNED_SETTINGS = [
  {
    name: 'tls-key',
    type: 'text',
    unit: 'file',
    default: 'tls-key.pem',
    environment: null,
    description: 'File that the private key is written to.',
  },
  {
    name: 'tls-certificate',
    type: 'text',
    unit: 'file',
    default: 'tls-certificate.pem',
    environment: null,
    description: 'File that the certificate is written to.',
  },
  {
    name: 'names',
    type: 'text',
    default: null,
    maximum: 8192,
    environment: null,
    description:
      'Names and IP addresses of the server, comma separated; localhost and those of this machine when none are given.',
  },
  {
    name: 'days',
    type: 'integer',
    unit: 'days',
    default: 365,
    minimum: 1,
    maximum: 3650,
    environment: null,
    description: 'How long the certificate is valid.',
  },
  { name: 'force', type: 'switch', default: false, environment: null, description: 'Replace files that are there.' },
  { name: 'json', type: 'switch', default: false, environment: null, description: 'Print JSON.' },
] as const satisfies readonly Setting[];

type Options = SettingValues<typeof SELF_SIGNED_SETTINGS>;

async function selfSigned(options: Options): Promise<number> {
  const names = namesOf(options.names);
  const { key, certificate } = await makeSelfSigned(names, options.days);
  const [keyFile, certificateFile] = [resolve(options.tlsKey), resolve(options.tlsCertificate)];
  await write(keyFile, key, KEY_MODE, options.force);
  try {
    await write(certificateFile, certificate, CERTIFICATE_MODE, options.force);
  } catch (error) {
    // A key without its certificate would be in the way of the next try.
    await rm(keyFile, { force: true });
    throw error;
  }
  printRecord(
    { key: keyFile, certificate: certificateFile, names: options.json ? names : names.join(',') },
    options.json,
  );
  say(`start the server with --tls-key ${options.tlsKey} --tls-certificate ${options.tlsCertificate}
clients have to trust the certificate itself: mosquitto_pub --cafile ${options.tlsCertificate} …, curl --cacert ${options.tlsCertificate} …`);
  return EXIT_OK;
}

/** @throws SettingsError for what is neither a name nor an address. */
function namesOf(given: string | undefined): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const names =
    given?.split(',').map((name) => name.trim()) ??
    ['localhost', hostname(), ...addresses.map(({ address }) => address)].filter(
      // Addresses of a link are of no use without the name of an interface.
      (name) => !name.startsWith('fe80:') && (isIP(name) !== 0 || NAME.test(name)),
    );
  const wrong = names.find((name) => isIP(name) === 0 && !NAME.test(name));
  if (wrong !== undefined)
    throw new SettingsError([`--names has "${wrong}"; it takes host names and IP addresses, comma separated`]);
  return [...new Set(names)];
}

/** @param names of the server: host names and IP addresses. @returns PEM texts. */
async function makeSelfSigned(
  names: readonly string[],
  days: number,
): Promise<{ readonly key: string; readonly certificate: string }> {
  // Its container of parts needs it first.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const now = Date.now();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: `7f${randomBytes(15).toString('hex')}`,
      name: [{ CN: [names[0].slice(0, 64)] }],
      // Clocks of devices are not exact.
      notBefore: new Date(now - DAY_MS),
      notAfter: new Date(now + days * DAY_MS),
      keys: keys as never,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(
          names.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
        ),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey as never, false, webcrypto as never),
      ],
    },
    webcrypto as never,
  );
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  return { key: pem('PRIVATE KEY', der), certificate: pem('CERTIFICATE', Buffer.from(certificate.rawData)) };
}

const pem = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`;

/** @throws CommandError when the file is there, or cannot be written. */
async function write(path: string, text: string, mode: number, isForced: boolean): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    // A new file: one that is there keeps its mode.
    if (isForced) await rm(path, { force: true });
    const file = await open(path, 'wx', mode);
    await file.chmod(mode);
    await file.writeFile(text);
    await file.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new CommandError(`${path} is there already; --force replaces it`);
    throw new CommandError(`${path} cannot be written: ${(error as Error).message}`);
  }
}

export const TLS_COMMANDS: readonly CommandEntry[] = [
  {
    name: 'tls self-signed',
    description: 'make a key and a self-signed certificate for a first try of TLS',
    settings: SELF_SIGNED_SETTINGS,
    run: (parsed) => selfSigned(read(SELF_SIGNED_SETTINGS, parsed)),
  },
];
