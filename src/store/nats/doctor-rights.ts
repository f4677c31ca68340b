/**
 * What a user of NATS has to be allowed, with the names that a node uses: each subject is tried. NATS checks a user's
 * rights before anything is done with a message, and what is sent here does nothing: groups and entries are refused by
 * a stream's name that cannot be, requests of JetStream are not JSON, and the rest has no subscribers.
 */
import { setImmediate } from 'node:timers/promises';
import { headers, nuid, PermissionViolationError } from '@nats-io/nats-core';
import type { Finding } from '../../ports/finding.ts';
import type { NatsConnection } from './connection.ts';

interface Right {
  readonly kind: 'publish' | 'subscribe';
  readonly subject: string;
  /** What the user is to be allowed. */
  readonly grant: string;
  readonly purpose: string;
}

const NAME = 'NATS rights';
/** JetStream refuses to store what names another stream than the one that has the subject. */
const EXPECTED_STREAM = 'Nats-Expected-Stream';
const NO_JSON = 'doctor';

/** @returns a finding for each right that is missing, or one that says that none is. */
export async function checkNatsRights(connection: NatsConnection, prefix: string): Promise<Finding[]> {
  const refused = new Set<string>();
  const { core } = connection;
  void (async () => {
    for await (const status of core.status()) {
      if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue;
      refused.add(`${status.error.operation === 'publish' ? 'publish' : 'subscribe'} ${status.error.subject}`);
    }
  })();
  const id = `doctor-${nuid.next()}`;
  const rights = rightsOf(prefix, id);
  const subscriptions = rights
    .filter(({ kind }) => kind === 'subscribe')
    .map(({ subject }) => core.subscribe(subject, { callback: () => undefined }));
  const messageHeaders = headers();
  messageHeaders.set(EXPECTED_STREAM, id);
  for (const { kind, subject } of rights)
    if (kind === 'publish') core.publish(subject, NO_JSON, { headers: messageHeaders });
  // The server answers in order: what it refuses of all this has come before the answer to this.
  await core.flush();
  await setImmediate();
  for (const subscription of subscriptions) subscription.unsubscribe();
  const missing = rights.filter(({ kind, subject }) => refused.has(`${kind} ${subject}`));
  if (missing.length === 0)
    return [{ state: 'ok', name: NAME, fact: `the user may do all that a node does as ${prefix}` }];
  return missing.map(({ kind, subject, grant, purpose }) => ({
    state: 'fail',
    name: NAME,
    fact: `the user may not ${kind}${kind === 'publish' ? '' : ' to'} ${subject} (${purpose})`,
    remedy: `allow the user to ${kind} ${grant}`,
  }));
}

function rightsOf(prefix: string, id: string): Right[] {
  const journal = `${prefix.toUpperCase()}_JOURNAL`;
  const [leases, nodes] = [`KV_${prefix}_leases`, `KV_${prefix}_nodes`];
  const blobs = `OBJ_${prefix}_blobs`;
  const publish = (subject: string, grant: string, purpose: string): Right => ({
    kind: 'publish',
    subject,
    grant,
    purpose,
  });
  const subscribe = (subject: string, grant: string, purpose: string): Right => ({
    kind: 'subscribe',
    subject,
    grant,
    purpose,
  });
  const api = (request: string, stream: string, purpose: string, rest = ''): Right => {
    const subject = `$JS.API.${request}.${stream}`;
    return publish(subject + rest, rest === '' ? subject : `${subject}.>`, purpose);
  };
  const made = [journal, leases, nodes, blobs].flatMap((stream) => [
    api('STREAM.CREATE', stream, 'it is made at the first start'),
    api('STREAM.UPDATE', stream, 'settings are changed at a start'),
  ]);
  const followed = (
    [
      [journal, `${prefix}.j.0`],
      [leases, `$KV.${prefix}_leases.${id}`],
      [nodes, `$KV.${prefix}_nodes.${id}`],
    ] as const
  ).flatMap(([stream, filter]) => [
    api('CONSUMER.CREATE', stream, 'it is followed', `.${id}.${filter}`),
    api('CONSUMER.MSG.NEXT', stream, 'it is followed', `.${id}`),
    api('CONSUMER.DELETE', stream, 'following it ends', `.${id}`),
  ]);
  return [
    publish(`${prefix}.j.0`, `${prefix}.j.>`, 'groups are stored in the journal'),
    publish(`$KV.${prefix}_leases.${id}`, `$KV.${prefix}_leases.>`, 'shards are taken and handed over'),
    publish(`$KV.${prefix}_nodes.${id}`, `$KV.${prefix}_nodes.>`, 'a node says that it lives'),
    publish(`$O.${prefix}_blobs.C.${id}`, `$O.${prefix}_blobs.>`, 'content is stored'),
    publish(`$O.${prefix}_blobs.M.${id}`, `$O.${prefix}_blobs.>`, 'content is described'),
    publish(`${prefix}.n.${id}.${id}`, `${prefix}.n.>`, 'a node tells another one something'),
    publish(`${prefix}.all.${id}`, `${prefix}.all.>`, 'a node tells all others something'),
    publish(`${prefix}.live.${id}.${id}`, `${prefix}.live.>`, 'live data reach the subscribers of other nodes'),
    publish(`_INBOX.${id}.${id}`, '_INBOX.>', 'a node answers another one'),
    subscribe(`${prefix}.n.${id}.>`, `${prefix}.n.>`, 'a node hears what others tell it'),
    subscribe(`${prefix}.all.>`, `${prefix}.all.>`, 'a node hears what is told to all'),
    subscribe(`${prefix}.live.${id}.${id}`, `${prefix}.live.>`, 'live data of other nodes'),
    subscribe(`_INBOX.${id}.>`, '_INBOX.>', 'answers and what is followed'),
    ...made,
    ...followed,
    api('STREAM.INFO', journal, 'its size is looked at'),
    api('STREAM.PURGE', journal, 'it is trimmed'),
    api('STREAM.MSG.GET', journal, 'it is read'),
    api('DIRECT.GET', journal, 'it is read'),
    api('STREAM.MSG.GET', nodes, 'it is asked whether a node lives'),
    api('STREAM.PURGE', nodes, 'a node leaves'),
    api('STREAM.INFO', blobs, 'what is stored is listed'),
    api('STREAM.PURGE', blobs, 'content is removed'),
    api('STREAM.MSG.GET', blobs, 'content is read'),
    api('DIRECT.GET', blobs, 'content is read'),
    api('DIRECT.GET', blobs, 'descriptions of content are read', `.$O.${prefix}_blobs.M.${id}`),
  ];
}
