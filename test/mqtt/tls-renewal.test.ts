/** A renewed certificate is served without a restart. */
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import t from 'tap';
import { TlsRenewal } from '../../src/server/parts/tls-renewal.ts';
import { CertificateFactory } from '../helpers/certificates.ts';
import { missing } from '../helpers/tools.ts';
import { Harness } from './helpers/harness.ts';

t.test('key and certificate are read again when their files change', { skip: missing('openssl') }, async (t) => {
  const directory = t.testdir();
  const factory = new CertificateFactory(directory);
  const [first, second] = [factory.authority('first.example'), factory.authority('second.example')];
  const [keyFile, certificateFile] = [join(directory, 'tls.key'), join(directory, 'tls.pem')];
  copyFileSync(first.keyFile, keyFile);
  copyFileSync(first.file, certificateFile);
  const harness = new Harness();
  const log = { info: () => undefined, error: () => undefined } as never;
  const { pair, renewal } = await TlsRenewal.open({
    keyFile,
    certificateFile,
    log,
    apply: (next) => harness.server.renewTls(next),
  });
  t.teardown(() => renewal.stop());
  const { port } = await harness.server.listen({ host: '127.0.0.1', port: 0, tls: pair });
  t.teardown(() => harness.server.close(100));
  const served = async (): Promise<string | string[] | undefined> => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const name = socket.getPeerCertificate().subject.CN;
    socket.destroy();
    return name;
  };
  t.equal(await served(), 'first.example');
  const validTo = renewal.notAfterMs;
  await renewal.look();
  copyFileSync(second.keyFile, keyFile);
  await renewal.look();
  t.equal(await served(), 'first.example', 'one file of the two');
  t.equal(renewal.failuresCount, 1);
  copyFileSync(second.file, certificateFile);
  await renewal.look();
  t.equal(await served(), 'second.example');
  t.ok(renewal.notAfterMs >= validTo);
  writeFileSync(certificateFile, 'no certificate');
  await renewal.look();
  t.equal(await served(), 'second.example', 'what cannot be used is not');
  t.equal(renewal.failuresCount, 2);
  await t.rejects(
    TlsRenewal.open({ keyFile, certificateFile, log, apply: () => undefined }),
    'at the start it is an error',
  );
});
