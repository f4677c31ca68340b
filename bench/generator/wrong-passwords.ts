/**
 * Logins with wrong passwords of invented names, each a new one: every one of them costs the server a hash, and none is
 * locked.
 */
import { Agent, request } from 'node:http';
import type { WrongPasswordsJob } from './job.ts';
import { answer, untilFinish } from './channel.ts';
import { basicAuthorization } from './http-request.ts';
import { MqttConnection } from './mqtt-connection.ts';

/** Sends logins, `concurrent` at a time, until told to finish. @returns how many were answered. */
export async function runWrongPasswords({
  target,
  protocol,
  concurrent,
}: WrongPasswordsJob): Promise<{ answered: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrent });
  let names = 0;
  let answered = 0;
  let isOver = false;
  const overHttp = (authorization: string): Promise<void> =>
    new Promise((resolve) => {
      const { host, port } = target;
      request({ host, port, path: '/user/currentUser', agent, headers: { authorization } }, (response) =>
        response.resume().once('end', () => resolve()),
      )
        .once('error', () => resolve())
        .end();
    });
  const overMqtt = (userName: string): Promise<void> =>
    new Promise((resolve) => {
      const connection = new MqttConnection({ ...target, userName }, names, `bench-wrong-${names}`, () => {
        connection.socket.destroy();
        resolve();
      });
    });
  const login = async (): Promise<void> => {
    while (!isOver) {
      const userName = `t1/invented-${++names}`;
      await (protocol === 'http' ? overHttp(basicAuthorization({ ...target, userName })) : overMqtt(userName));
      answered++;
    }
  };
  for (let index = 0; index < concurrent; index++) void login();
  answer({ kind: 'connected', count: concurrent });
  await untilFinish();
  isOver = true;
  agent.destroy();
  return { answered };
}
