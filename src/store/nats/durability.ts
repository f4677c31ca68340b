/**
 * What a power failure takes from JetStream of what it has acknowledged. By itself JetStream writes to the operating
 * system, acknowledges, and synchronises every two minutes; `sync_interval` changes that since nats-server 2.10.
 * Clients are not told, so the monitoring port is asked.
 */
import { natsUrlsOf } from '../../config/nats.ts';
import type { Finding } from '../../ports/finding.ts';

/** `isUnknown`: too few servers told how they synchronise. */
export interface DurabilityFinding extends Finding {
  readonly isUnknown?: true;
}

export interface NatsDurabilityOptions {
  /** URLs of NATS, as in the setting. */
  readonly servers: string;
  /** URLs of monitoring ports, comma separated; undefined for port 8222 of the hosts of `servers`. */
  readonly monitors: string | undefined;
  /** Of the server that the process is connected to. */
  readonly version: string;
  readonly replicas: number;
  /** The operator accepts what is lost. */
  readonly isAccepted: boolean;
}

/**
 * `everyMs` is 0 for a server that synchronises before it acknowledges. `storage`: bytes that it may store, and stores.
 */
interface Asked {
  readonly name: string;
  readonly everyMs: number;
  readonly storage?: { readonly max: number; readonly used: number };
}

const NAME = 'NATS durability';
const MONITOR_PORT = 8222;
const ASK_TIMEOUT_MS = 2_000;
/** What nats-server does by itself, and all that it can do before 2.10. */
const DEFAULT_EVERY_MS = 120_000;
const CONFIGURABLE_SINCE = [2, 10] as const;
/** With three replicas that fail one at a time, none of them has to have synchronised everything. */
const REPLICAS_SAFE = 3;
const REPLICATED_EVERY_MAX_MS = 1_000;

const SETTINGS_REMEDY =
  'set jetstream { sync_interval: always } in nats-server 2.10 or newer, or take 3 replicas on machines that do not lose power together ' +
  'with sync_interval: 1s; --accept-power-loss yes accepts the loss';
const MONITOR_REMEDY = 'open the monitoring port of each server (http_port: 8222) and name them with --nats-monitor';

/** Asks every monitoring port. Never rejects. */
export async function findNatsDurability(options: NatsDurabilityOptions): Promise<DurabilityFinding> {
  const { version, replicas } = options;
  const { asked, failures } = await askMonitors(options);
  // What is known of one server without its port.
  if (asked.size === 0 && !isConfigurable(version))
    asked.set('', { name: `nats-server ${version}`, everyMs: DEFAULT_EVERY_MS });
  return judge([...asked.values()], failures, { replicas, isAccepted: options.isAccepted });
}

/** @param asked the servers that told. @param failures those that did not, and why. */
function judge(
  asked: readonly Asked[],
  failures: readonly string[],
  { replicas, isAccepted }: Pick<NatsDurabilityOptions, 'replicas' | 'isAccepted'>,
): DurabilityFinding {
  const copies = `${replicas} replica${replicas === 1 ? '' : 's'}`;
  const slowest = asked.reduce<Asked | undefined>(
    (worst, one) => (worst === undefined || one.everyMs > worst.everyMs ? one : worst),
    undefined,
  );
  const everyMax = replicas >= REPLICAS_SAFE ? REPLICATED_EVERY_MAX_MS : 0;
  if (slowest !== undefined && slowest.everyMs > everyMax) {
    return {
      state: isAccepted ? 'warn' : 'fail',
      name: NAME,
      fact: `${copies}; ${slowest.name} synchronises every ${slowest.everyMs / 1_000} s: a power failure takes what it acknowledged since`,
      remedy: SETTINGS_REMEDY,
    };
  }
  if (slowest === undefined || asked.length < replicas) {
    const state = isAccepted || replicas >= REPLICAS_SAFE ? 'warn' : 'fail';
    const why = failures.length > 0 ? ` (${failures.join('; ')})` : '';
    return {
      state,
      name: NAME,
      isUnknown: true,
      remedy: `${MONITOR_REMEDY}, and ${SETTINGS_REMEDY}`,
      fact:
        `${copies}; ${asked.length} servers told how often they synchronise${why}: by itself NATS loses up to 2 minutes of acknowledged messages ` +
        'in a power failure',
    };
  }
  const how =
    slowest.everyMs === 0
      ? 'what is acknowledged is synchronised'
      : `synchronised every ${slowest.everyMs / 1_000} s: when most replicas lose power at the same time, or one before another has caught up, what was ` +
        'acknowledged that long before is lost';
  return { state: 'ok', name: NAME, fact: `${copies}; ${how}` };
}

/** Asks every monitoring port. @returns the servers by their ids, and why others did not tell. */
export async function askMonitors({ servers, monitors }: Pick<NatsDurabilityOptions, 'servers' | 'monitors'>): Promise<{
  readonly asked: Map<string, Asked>;
  readonly failures: string[];
}> {
  const urls =
    monitors?.split(',').map((url) => url.trim()) ??
    natsUrlsOf({ servers }).map(({ hostname }) => `http://${hostname}:${MONITOR_PORT}`);
  const asked = new Map<string, Asked>();
  const failures: string[] = [];
  await Promise.all(
    urls.map(async (url) => {
      try {
        const { id, ...server } = await ask(url);
        asked.set(id, server);
      } catch (error) {
        failures.push(`${new URL(url).host}: ${textOf(error)}`);
      }
    }),
  );
  return { asked, failures };
}

async function ask(url: string): Promise<Asked & { readonly id: string }> {
  const answer = await fetch(new URL('varz', url.endsWith('/') ? url : `${url}/`), {
    signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
  });
  const {
    server_id: id,
    server_name: name,
    version,
    jetstream,
  } = (await answer.json()) as {
    server_id?: string;
    server_name?: string;
    version?: string;
    jetstream?: {
      config?: { sync_interval?: number; sync_always?: boolean; max_storage?: number };
      stats?: { storage?: number };
    };
  };
  if (!answer.ok || id === undefined || version === undefined)
    throw new Error('no monitoring port of nats-server answers there');
  const { sync_always: isAlways, sync_interval: nanoseconds, max_storage: max = 0 } = jetstream?.config ?? {};
  const everyMs =
    isAlways === true
      ? 0
      : nanoseconds === undefined || !isConfigurable(version)
        ? DEFAULT_EVERY_MS
        : nanoseconds / 1_000_000;
  return {
    id,
    name: name === undefined || name === id ? new URL(url).host : name,
    everyMs,
    ...(max > 0 ? { storage: { max, used: jetstream?.stats?.storage ?? 0 } } : {}),
  };
}

function isConfigurable(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  return major > CONFIGURABLE_SINCE[0] || (major === CONFIGURABLE_SINCE[0] && minor >= CONFIGURABLE_SINCE[1]);
}

function textOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}
