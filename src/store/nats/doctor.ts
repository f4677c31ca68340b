/** What `millrace doctor` finds out about NATS: whether a cluster can run on it, and how to mend what is missing. */
import { AckPolicy, DeliverPolicy, DiscardPolicy, StorageType } from '@nats-io/jetstream';
import { createInbox, nanos, nuid } from '@nats-io/nats-core';
import type { Finding } from '../../ports/finding.ts';
import type { Log } from '../../ports/log.ts';
import { NatsConnection } from './connection.ts';
import { checkNatsRights } from './doctor-rights.ts';
import { findNatsDurability } from './durability.ts';
import { ROOM_REMEDY as FILES_REMEDY, findNatsRoom } from './room.ts';
import { serverNames } from '../../config/nats.ts';
import type { NatsSettings } from '../../config/nats.ts';
import { TLS_REMEDY } from '../../config/tls-files.ts';

const VERSION_MIN = [2, 9] as const;
const PAYLOAD_BYTES_MIN = 1024 * 1024;
const CLOCK_DIFFERENCE_MAX_MS = 1_000;
/** For each step that the server does not answer by itself when it is not allowed. */
const STEP_MS = 2_000;
/** JetStream API: there are not enough servers, or not with enough storage, for the replicas. */
const NO_SUITABLE_PEERS = new Set([10005, 10023, 10047, 10074]);

const ROOM_REMEDY =
  'raise max_file_store of nats-server (and max_file of the account), or lower journal-max-bytes: the journal takes 256 MiB more than that';
const NO_OWN_STREAM =
  'allow the user $JS.API.> and the subjects below the prefix, so that streams can be tried before the server makes its own';

interface Wanted {
  readonly prefix: string;
  readonly replicas: number;
  readonly journalMaxBytes: number;
  /** Of one tenant; 0, the default, sets no bound. */
  readonly tenantFilesMaxBytes?: number;
  /** As in NatsDurabilityOptions. */
  readonly monitors?: string | undefined;
  readonly isLossAccepted?: boolean;
}

/**
 * Connects, looks, tries what the user may do, makes streams and removes them. Stops at what makes the next checks
 * senseless.
 */
export async function checkNats(settings: NatsSettings, wanted: Wanted, log: Log): Promise<Finding[]> {
  let connection: NatsConnection | undefined;
  let other: NatsConnection;
  try {
    connection = await NatsConnection.open(settings, { log, timeoutMs: 0 });
    other = await NatsConnection.open(settings, { log, timeoutMs: 0 });
  } catch (error) {
    await connection?.close();
    return [{ state: 'fail', name: 'NATS', fact: textOf(error), remedy: connectRemedy(error) }];
  }
  try {
    const { version, max_payload: payload, server_name: server } = connection.core.info!;
    const findings: Finding[] = [
      { state: 'ok', name: 'NATS', fact: `connected to ${server} of ${serverNames(settings)}` },
      {
        state: isAtLeast(version) ? 'ok' : 'fail',
        name: 'NATS version',
        fact: version,
        remedy: `install nats-server ${VERSION_MIN.join('.')} or newer`,
      },
      {
        state: payload >= PAYLOAD_BYTES_MIN ? 'ok' : 'fail',
        name: 'NATS messages',
        fact: `${payload} bytes at most`,
        remedy: `set max_payload: ${PAYLOAD_BYTES_MIN} in nats-server's configuration`,
      },
    ];
    const { replicas, monitors, isLossAccepted: isAccepted = false } = wanted;
    const durability = findNatsDurability({ servers: settings.servers, monitors, version, replicas, isAccepted });
    const rights = await checkNatsRights(connection, wanted.prefix);
    const jetStream = await checkJetStream(connection, wanted);
    findings.push(...rights, ...jetStream, await durability);
    if (jetStream.every(({ state }) => state !== 'fail')) {
      const streams = await checkStream(connection, other, wanted);
      findings.push(...streams);
      if (streams.every(({ state }) => state !== 'fail'))
        findings.push(...(await checkRoom(connection, wanted)), await checkFiles(connection, settings, wanted));
    }
    return findings;
  } finally {
    await Promise.all([connection.close(), other.close()]);
  }
}

function connectRemedy(error: unknown): string {
  const text = textOf(error).toLowerCase();
  if (error instanceof TypeError) return 'correct the setting nats';
  if (/authorization|authentication|credential|nkey|jwt/.test(text))
    return 'check user and password in the URL of NATS, or the file of credentials';
  if (/certificate|tls|ssl|self.signed|altname/.test(text)) return `check the scheme tls:// and ${TLS_REMEDY}`;
  return 'start nats-server (with -js), and check host, port and firewall';
}

async function checkJetStream(connection: NatsConnection, wanted: Wanted): Promise<Finding[]> {
  const name = 'JetStream';
  try {
    const { limits, storage, tiers } = await connection.manager.getAccountInfo();
    const tier = Object.values(tiers ?? {})[0] as { limits?: { max_storage?: number }; storage?: number } | undefined;
    const max = tier?.limits?.max_storage ?? limits.max_storage;
    const used = tier?.storage ?? storage;
    if (max === undefined || max < 0)
      return [{ state: 'ok', name, fact: `enabled, ${mib(used)} MiB used, no limit of the account` }];
    const isEnough = max >= wanted.journalMaxBytes;
    return [
      {
        state: isEnough ? 'ok' : 'fail',
        name,
        fact: `enabled, ${mib(used)} of ${mib(max)} MiB used`,
        remedy: `the journal may have ${mib(wanted.journalMaxBytes)} MiB (journal-max-bytes): raise the account's max_file, or lower the setting`,
      },
    ];
  } catch (error) {
    return [
      {
        state: 'fail',
        name,
        fact: textOf(error),
        remedy:
          'start nats-server with -js or a jetstream block in its configuration, enable JetStream for the account, and allow the user $JS.API.>',
      },
    ];
  }
}

/**
 * Makes a stream as the journal and the buckets are, does what a node does with one, removes it, and asks as nodes ask
 * each other.
 */
async function checkStream(
  connection: NatsConnection,
  other: NatsConnection,
  { prefix, replicas }: Wanted,
): Promise<Finding[]> {
  const id = nuid.next();
  const name = `${prefix.toUpperCase()}_DOCTOR_${id}`;
  const subject = `${prefix}.doctor.${id}`;
  const {
    jetstream,
    manager: { streams, direct },
  } = connection;
  let step = 'make a stream';
  try {
    await streams.add({
      name,
      subjects: [subject],
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      num_replicas: replicas,
      max_bytes: PAYLOAD_BYTES_MIN,
      allow_direct: true,
      allow_rollup_hdrs: true,
    });
    step = 'store a message';
    const sentAt = Date.now();
    const { seq } = await jetstream.publish(subject, 'doctor', { timeout: STEP_MS });
    const storedBy = Date.now();
    step = 'read a message';
    const message = await streams.getMessage(name, { seq });
    step = 'read a message from any replica';
    if ((await direct.getMessage(name, { seq })) === null) throw new Error('it is not found');
    step = 'read with a consumer';
    await follow(connection, name, subject);
    step = 'purge a stream';
    await streams.purge(name);
    step = `tell other nodes something (${prefix}.n.>)`;
    await askOther(connection, other, `${prefix}.n.doctor-${id}.echo`);
    const fact = `can be made with ${replicas} replica${replicas === 1 ? '' : 's'}, written, read, followed, purged; nodes reach each other`;
    return [{ state: 'ok', name: 'NATS streams', fact }, clockFinding(message!.time.getTime(), sentAt, storedBy)];
  } catch (error) {
    // The server may run all the same: its own streams and subjects are looked at by checkNatsRights.
    if (isPermission(error))
      return [
        {
          state: 'warn',
          name: 'NATS streams',
          fact: `cannot ${step} to try it: ${textOf(error)}`,
          remedy: NO_OWN_STREAM,
        },
      ];
    const places =
      replicas === 1
        ? ROOM_REMEDY
        : `${replicas} replicas need as many servers with JetStream and free storage: add servers, or lower the setting of the replicas`;
    const isPlace =
      NO_SUITABLE_PEERS.has((error as { code?: number }).code ?? 0) ||
      /replicas|peers|insufficient/.test(textOf(error));
    return [
      {
        state: 'fail',
        name: 'NATS streams',
        fact: `cannot ${step}: ${textOf(error)}`,
        remedy: isPlace ? places : 'see the log of nats-server',
      },
    ];
  } finally {
    // It may not exist; one that stays is empty and says by its name whose it is.
    await streams.delete(name).catch(() => undefined);
  }
}

/**
 * JetStream reserves what the journal may have, of the account and of the server. The server does not tell how much it
 * has (max_file_store). A stream of the size that is not reserved yet is made and removed; nothing is stored in it.
 */
async function checkRoom(
  { manager: { streams } }: NatsConnection,
  { prefix, replicas, journalMaxBytes }: Wanted,
): Promise<Finding[]> {
  const name = 'NATS storage';
  const journal = await streams.info(`${prefix.toUpperCase()}_JOURNAL`).catch(() => undefined /* There is none yet. */);
  const bytes = journalMaxBytes - Math.max(0, journal?.config.max_bytes ?? 0);
  if (bytes <= 0) return [{ state: 'ok', name, fact: `the journal has its ${mib(journal!.config.max_bytes)} MiB` }];
  const id = nuid.next();
  const stream = `${prefix.toUpperCase()}_DOCTOR_${id}`;
  try {
    await streams.add({
      name: stream,
      subjects: [`${prefix}.doctor.${id}`],
      storage: StorageType.File,
      num_replicas: replicas,
      max_bytes: bytes,
    });
    return [{ state: 'ok', name, fact: `there is room for a journal of ${mib(journalMaxBytes)} MiB` }];
  } catch (error) {
    if (isPermission(error)) return [];
    return [
      {
        state: 'fail',
        name,
        fact: `not enough room for a journal of ${mib(journalMaxBytes)} MiB: ${textOf(error)}`,
        remedy: ROOM_REMEDY,
      },
    ];
  } finally {
    // It may not exist.
    await streams.delete(stream).catch(() => undefined);
  }
}

/** How much of JetStream files may take, as a node finds it (room.ts). */
async function checkFiles(connection: NatsConnection, { servers }: NatsSettings, wanted: Wanted): Promise<Finding> {
  const { prefix, replicas, monitors, journalMaxBytes, tenantFilesMaxBytes = 0 } = wanted;
  const name = 'NATS files';
  const journal = await connection.manager.streams
    .info(`${prefix.toUpperCase()}_JOURNAL`)
    .catch(() => undefined /* There is none yet. */);
  const journalBytes = (): number => journal?.state.bytes ?? 0;
  const found = await findNatsRoom({
    connection,
    servers,
    monitors,
    replicas,
    journalBytesMax: journalMaxBytes,
    journalBytes,
  });
  const ofTenant = tenantFilesMaxBytes > 0 ? `; a tenant may have ${mib(tenantFilesMaxBytes)} MiB` : '';
  if (found !== undefined) {
    return {
      state: found.bytes > 0 ? 'ok' : 'fail',
      name,
      remedy: ROOM_REMEDY,
      fact:
        `${mib(Math.max(0, found.bytes))} MiB are left for them beside the journal, of ${mib(found.maxBytes)} MiB that the ${found.of} may store` +
        ofTenant,
    };
  }
  return {
    state: tenantFilesMaxBytes > 0 ? 'ok' : 'warn',
    name,
    remedy: FILES_REMEDY,
    fact: `nothing tells how much JetStream may store${ofTenant === '' ? ': files of all tenants together may take as much as journal-max-bytes' : ofTenant}`,
  };
}

/**
 * Reads the first message of the subject as the owner of a shard follows its journal. @throws when it does not come.
 */
async function follow(
  { core, manager: { consumers } }: NatsConnection,
  stream: string,
  subject: string,
): Promise<void> {
  const { name } = await consumers.add(stream, {
    name: `doctor-${nuid.next()}`,
    filter_subject: subject,
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.None,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(STEP_MS),
  });
  // Not by `request`: what is delivered has the subject of the stream.
  const reply = createInbox();
  const subscription = core.subscribe(reply, { max: 1, timeout: STEP_MS });
  core.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, JSON.stringify({ batch: 1, no_wait: true }), { reply });
  for await (const message of subscription)
    if (message.string() !== 'doctor') throw new Error(message.headers?.description ?? 'another message came');
  await consumers.delete(stream, name);
}

/**
 * A request as between nodes, which are connections of their own. @throws when it cannot be sent, heard or answered.
 */
async function askOther({ core }: NatsConnection, other: NatsConnection, subject: string): Promise<void> {
  let refused: Error | undefined;
  other.core.subscribe(subject, {
    callback: (error, message) => {
      if (error) refused = error;
      else message.respond(message.data);
    },
  });
  try {
    await other.core.flush();
    await core.request(subject, 'doctor', { timeout: STEP_MS });
  } catch (error) {
    throw refused ?? error;
  }
}

function clockFinding(storedAt: number, sentAt: number, storedBy: number): Finding {
  const differenceMs = storedAt < sentAt ? sentAt - storedAt : Math.max(0, storedAt - storedBy);
  return {
    state: differenceMs > CLOCK_DIFFERENCE_MAX_MS ? 'warn' : 'ok',
    name: 'NATS clock',
    fact: `differs by ${differenceMs} ms`,
    remedy: 'let NTP set the clocks of all machines: times of creation and updates come from them',
  };
}

function isAtLeast(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  return major > VERSION_MIN[0] || (major === VERSION_MIN[0] && minor >= VERSION_MIN[1]);
}

const isPermission = (error: unknown): boolean => /permission/i.test(textOf(error));
const mib = (bytes: number): number => Math.ceil(bytes / 1024 ** 2);

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === '' ? error.name : error.message;
}
