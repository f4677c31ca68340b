/** What settings that name files and directories are checked for: that they can be used, before anything is opened. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';

/** A setting's name without the dashes, and its value: nothing is checked when it is not given. */
export interface FileSetting {
  readonly name: string;
  readonly path: string | undefined;
}

const CERTIFICATE = /-----BEGIN (?<kind>(?:X509 |TRUSTED )?CERTIFICATE)-----[^-]+-----END \k<kind>-----/g;

/** @returns the content; undefined, and a mistake more, when the file is missing or cannot be read. */
export function readSettingFile({ name, path }: FileSetting, mistakes: string[]): Buffer | undefined {
  if (path === undefined) return undefined;
  try {
    // Reading a pipe would wait for its writer, and take away what is to be read at the start.
    if (!statSync(path).isFile()) throw new Error('it is not a regular file');
    return readFileSync(path);
  } catch (error) {
    mistakes.push(`--${name} is "${path}"; it takes a file that can be read (${(error as Error).message})`);
    return undefined;
  }
}

/** Checks certificates of authorities: TLS skips what it cannot read, and then trusts no server. */
export function checkAuthorities(file: FileSetting, mistakes: string[]): void {
  parseCertificates(file, readSettingFile(file, mistakes), mistakes);
}

/** Checks a private key and a certificate, each where it is given, and that they belong together. */
export function checkKeyPair(keyFile: FileSetting, certificateFile: FileSetting, mistakes: string[]): void {
  const certificateText = readSettingFile(certificateFile, mistakes);
  const certificate = parseCertificates(certificateFile, certificateText, mistakes);
  const keyText = readSettingFile(keyFile, mistakes);
  const key = parseKey(keyFile, keyText, mistakes);
  if (certificate === undefined || key === undefined) return;
  const [given, other] = [keyFile, certificateFile].map(({ name, path }) => `--${name} is "${path}"`);
  try {
    if (!certificate.checkPrivateKey(key))
      mistakes.push(`${given} and ${other}; they take a key and the certificate of that key`);
    else createSecureContext({ key: keyText, cert: certificateText });
  } catch (error) {
    mistakes.push(`${given} and ${other}; they take what TLS takes (${(error as Error).message})`);
  }
}

/** @returns the first one, which in a chain is the owner's. */
function parseCertificates(
  { name, path }: FileSetting,
  content: Buffer | undefined,
  mistakes: string[],
): X509Certificate | undefined {
  if (content === undefined) return undefined;
  try {
    const texts = content.toString('latin1').match(CERTIFICATE);
    if (texts === null) throw new Error('it holds none');
    return texts.map((text) => new X509Certificate(text))[0];
  } catch (error) {
    mistakes.push(`--${name} is "${path}"; it takes certificates in PEM (${(error as Error).message})`);
    return undefined;
  }
}

function parseKey({ name, path }: FileSetting, content: Buffer | undefined, mistakes: string[]): KeyObject | undefined {
  if (content === undefined) return undefined;
  try {
    return createPrivateKey(content);
  } catch (error) {
    mistakes.push(
      `--${name} is "${path}"; it takes a private key in PEM that is not encrypted (${(error as Error).message})`,
    );
    return undefined;
  }
}

/** Checks the data directory, which may be absent: then the nearest one above that is there has to be a directory. */
export function checkDataDirectory(path: string, mistakes: string[]): void {
  for (let place = resolve(path); ; place = dirname(place)) {
    try {
      if (!statSync(place).isDirectory())
        mistakes.push(`--data is "${path}"; it takes a directory, and ${place} is none`);
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if ((code === 'ENOENT' || code === 'ENOTDIR') && dirname(place) !== place) continue;
      mistakes.push(`--data is "${path}"; it takes a directory that can be reached (${(error as Error).message})`);
      return;
    }
  }
}
