/** Certificates made by openssl: authorities, devices, what is expired. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Issued {
  readonly key: string;
  readonly certificate: string;
  readonly keyFile: string;
  readonly file: string;
}

export class CertificateFactory {
  readonly #directory: string;
  #serial = 1000;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** A certificate that signs itself. */
  authority(name: string, options: { readonly days?: number; readonly hosts?: string } = {}): Issued {
    return this.#make(name, name, undefined, { isAuthority: true, ...options });
  }

  /** @param options.commonName without one the subject has an organisation only. */
  issue(
    name: string,
    issuer: Issued | undefined,
    options: {
      readonly commonName?: string;
      readonly isAuthority?: boolean;
      readonly days?: number;
      readonly hosts?: string;
      readonly keyId?: string;
    } = {},
  ): Issued {
    return this.#make(name, options.commonName ?? name, issuer, { isAuthority: false, ...options });
  }

  #make(
    name: string,
    commonName: string,
    issuer: Issued | undefined,
    options: {
      readonly isAuthority?: boolean;
      readonly days?: number;
      readonly hosts?: string;
      readonly keyId?: string;
    },
  ): Issued {
    const file = (ending: string): string => join(this.#directory, `${name}.${ending}`);
    const run = (...args: string[]): void => {
      execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    };
    this.#serial += 1;
    const days = options.days ?? 2;
    run('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', file('key'));
    run(
      'req',
      '-new',
      '-key',
      file('key'),
      '-out',
      file('csr'),
      '-subj',
      commonName === '' ? '/O=nobody' : `/O=Plant/CN=${commonName}`,
    );
    writeFileSync(
      file('ext'),
      options.isAuthority === true ? 'basicConstraints=critical,CA:TRUE\n' : 'basicConstraints=CA:FALSE\n',
    );
    if (options.hosts !== undefined) appendFileSync(file('ext'), `subjectAltName=${options.hosts}\n`);
    // In place of a hash of the key: authorities may have the same one.
    if (options.keyId !== undefined) appendFileSync(file('ext'), `subjectKeyIdentifier=${options.keyId}\n`);
    const signer = issuer === undefined ? ['-key', file('key')] : ['-CA', issuer.file, '-CAkey', issuer.keyFile];
    run(
      'x509',
      '-req',
      '-in',
      file('csr'),
      ...signer,
      '-set_serial',
      String(this.#serial),
      '-days',
      String(days),
      '-extfile',
      file('ext'),
      '-out',
      file('pem'),
    );
    return {
      key: readFileSync(file('key'), 'utf8'),
      certificate: readFileSync(file('pem'), 'utf8'),
      keyFile: file('key'),
      file: file('pem'),
    };
  }
}
