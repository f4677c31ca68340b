/** An SSH server for tests. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import ssh2 from 'ssh2';
import type { AuthContext, Connection } from 'ssh2';
import { fingerprintOf } from '../../../src/remote-access/ssh-login.ts';

export const FLOOD_BYTES = 12_000_000;
export const SSH_PASSWORD = 'Shell-pass-1';
export const SSH_USER_KEY = ssh2.utils.generateKeyPairSync('ed25519');

/** @returns the keys, and the fingerprint of the public one. */
export function newHostKey() {
  const pair = ssh2.utils.generateKeyPairSync('ed25519');
  return { ...pair, fingerprint: fingerprintOf(Buffer.from(pair.public.split(' ')[1], 'base64')) };
}

function isUserKey(context: AuthContext): boolean {
  const key = ssh2.utils.parseKey(SSH_USER_KEY.public);
  if (context.method !== 'publickey' || key instanceof Error || !key.getPublicSSH().equals(context.key.data))
    return false;
  return (
    context.signature === undefined || key.verify(context.blob as Buffer, context.signature, context.hashAlgo) === true
  );
}

function authenticate(context: AuthContext): void {
  const { method, username } = context;
  if (method === 'password' && username === 'root' && context.password === SSH_PASSWORD) context.accept();
  else if (username === 'root' && isUserKey(context)) context.accept();
  else if (method === 'keyboard-interactive' && username === 'ann')
    context.prompt([{ prompt: 'Code: ', echo: true }], 'One more', (answers) => {
      if (answers[0] === '42') context.accept();
      else context.reject();
    });
  else context.reject(username === 'ann' ? ['keyboard-interactive'] : ['password', 'publickey']);
}

/** Tells the terminal and its sizes, echoes, writes much for `flood`, and ends at ^D. */
function serve(connection: Connection): void {
  connection.on('error', () => connection.end());
  connection.on('authentication', authenticate);
  connection.on('session', (accept) => {
    const session = accept();
    let terminal = '';
    session.on('pty', (taken, _refuse, { cols, rows, term }) => {
      terminal = `${term} ${cols}x${rows}`;
      taken?.();
    });
    session.on('shell', (taken) => {
      const shell = taken();
      shell.write(`${terminal}\r\n`);
      session.on('window-change', (sized, _refuse, { cols, rows }) => {
        shell.write(`now ${cols}x${rows}\r\n`);
        sized?.();
      });
      shell.on('data', (data: Buffer) => {
        if (String(data) === 'flood') shell.write(Buffer.alloc(FLOOD_BYTES, 'x'));
        else if (String(data) === '\x04') {
          shell.exit(0);
          shell.end();
        } else shell.write(data);
      });
    });
  });
}

/** Takes root's password and key, and asks ann by the keyboard. @returns its port. */
export async function startSshd(t: { teardown(callback: () => void): void }, hostKey = newHostKey()): Promise<number> {
  const connections: Connection[] = [];
  const sshd = new ssh2.Server({ hostKeys: [hostKey.private], banner: 'Welcome\n' }, (connection) => {
    connections.push(connection);
    serve(connection);
  });
  sshd.listen(0, '127.0.0.1');
  await once(sshd, 'listening');
  t.teardown(() => {
    for (const connection of connections) connection.end();
    sshd.close();
  });
  return (sshd.address() as AddressInfo).port;
}
