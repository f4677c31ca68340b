/**
 * Availability in a cluster. Devices are heard, connect and disconnect on any node, while the monitor of a tenant runs
 * on the node that owns the tenant's shard. What concerns other owners is gathered and sent to them every second, and
 * kept until they have taken it.
 *
 * Of connections the owner keeps a set for each node and tenant. It is sent whole when the tenant has another owner,
 * afterwards its changes; now and then its size, so that whatever was missed is found. Until the nodes have told it, a
 * new owner does not judge (`isMine`).
 */
import { shardOf } from '../../ingest/journal/command-record.ts';
import type { AvailabilityPort } from '../../ports/availability.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { HeardElsewhere } from './heard-elsewhere.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';
import type { ShardLeases } from '../../ports/cluster/leases.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

const SUBJECT = 'availability';
const STEP_MS = 1_000;
const REQUEST_TIMEOUT_MS = 1_000;
/** Steps between two comparisons of the connections' number. */
const COMPARE_STEPS = 10;
/** A new owner waits this long for what the other nodes know. */
const SETTLE_MS = 5_000;
/** A node that is not a member for this many steps has no connections. */
const MISSING_STEPS = 3;
/** Devices in one message. */
const BATCH_DEVICES = 5_000;
/** Devices whose last message waits to be sent; devices that other nodes have connected. */
const PENDING_MAX = 500_000;
const CONNECTED_MAX = 2_000_000;

/** What the relay wants of jobs/availability/monitor.ts. */
export interface RelayedMonitor extends AvailabilityPort {
  lastHeard(device: number): number | undefined;
  lookAt(tenant: number, device: number): void;
}

export interface AvailabilityRelayOptions {
  readonly messages: NodeMessages;
  readonly leases: Pick<ShardLeases, 'owned' | 'ownerOf' | 'members'>;
  /** Whether the device holds a push connection to this node now. */
  readonly isConnectedHere: (tenant: number, device: number) => boolean;
  readonly refusals: Refusals;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly settleMs?: number;
  readonly pendingMax?: number;
  readonly batchDevices?: number;
}

/** What a node tells about one tenant. */
interface Report {
  readonly tenant: number;
  /** Device and time, one after the other. */
  readonly heard?: number[];
  /** The connections that follow, here and in the next reports up to one without `more`, are all there are. */
  readonly isWhole?: boolean;
  readonly more?: boolean;
  readonly connected?: number[];
  readonly disconnected?: number[];
  /** Connections of the node. */
  readonly size?: number;
}

/** Tenants that the receiver does not own, and those whose connections it wants whole. */
interface ReportAnswer {
  readonly notMine: number[];
  readonly wanted: number[];
}

export class AvailabilityRelay implements AvailabilityPort {
  readonly #options: AvailabilityRelayOptions;
  readonly #elsewhere: HeardElsewhere;
  #monitor: RelayedMonitor | undefined;
  /** Tenant -> device -> time of its last message, for other owners. */
  readonly #pending = new Map<number, Map<number, number>>();
  #pendingCount = 0;
  /** Tenant -> devices that this node has connected. */
  readonly #here = new Map<number, Set<number>>();
  /** Tenant -> devices whose connection has changed since the owner was told. */
  readonly #changed = new Map<number, Set<number>>();
  /** Tenant -> the owner that knows all connections of this node, but for `#changed`. */
  readonly #told = new Map<number, string>();
  /** Node -> tenant -> devices that it has connected. */
  readonly #remote = new Map<string, Map<number, Set<number>>>();
  #remoteCount = 0;
  /** `<node>/<tenant>` -> the part of all connections that has come. */
  readonly #incoming = new Map<string, number[]>();
  /** Node -> steps since it was a member. */
  readonly #missing = new Map<string, number>();
  /** Shards of this node: epoch, and since when. */
  readonly #owned = new Map<number, { readonly epoch: number; readonly since: number }>();
  #steps = 0;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;

  constructor(options: AvailabilityRelayOptions) {
    this.#options = options;
    const { messages, leases, refusals, log } = options;
    this.#elsewhere = new HeardElsewhere({
      messages,
      leases,
      refusals,
      log,
      lastHeardHere: (device) => this.#monitor?.lastHeard(device),
    });
    messages.answer(SUBJECT, (payload, from) =>
      Buffer.from(JSON.stringify(this.#take(JSON.parse(Buffer.from(payload).toString()) as Report[], from))),
    );
    messages.onReconnected(() => {
      this.#told.clear();
    });
  }

  /** @param monitor made with `isMine`, `isConnected` and `ownedSince` of this relay. */
  start(monitor: RelayedMonitor): void {
    this.#monitor = monitor;
    this.#timer = setInterval(() => {
      if (this.#isRunning) return;
      this.#isRunning = true;
      this.#running = this.step()
        .catch((error: Error) => {
          this.#options.log.warn(
            { error: error.message, retryMs: STEP_MS },
            'the availability of devices could not be told to other nodes; it is kept',
          );
        })
        .finally(() => {
          this.#isRunning = false;
        });
    }, STEP_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Devices whose last message waits to be sent, and those that other nodes have connected. */
  get pendingCount(): number {
    return this.#pendingCount;
  }
  get remoteCount(): number {
    return this.#remoteCount;
  }

  readonly heard = (tenant: number, device: number, at: number): void => {
    this.#monitor?.heard(tenant, device, at);
    if (!this.#options.leases.owned.has(shardOf(tenant, TENANT_KEY))) this.#keep(tenant, device, at);
  };

  lastHeard(device: number): Promise<number | undefined> {
    return this.#elsewhere.lastHeard(device);
  }

  /** The device has got or lost a push connection to this node. */
  readonly pushChanged = (tenant: number, device: number): void => {
    if (this.#options.isConnectedHere(tenant, device)) ofTenant(this.#here, tenant).add(device);
    else this.#here.get(tenant)?.delete(device);
    // To an owner that does not know the others, all are sent.
    if (this.#told.has(tenant)) ofTenant(this.#changed, tenant).add(device);
    this.#monitor?.lookAt(tenant, device);
  };

  /** For the monitor: this node owns the tenant's shard, and the other nodes have had time to tell what they know. */
  readonly isMine = (tenant: number): boolean => {
    const since = this.ownedSince(tenant);
    return since !== undefined && this.#options.now() - since >= (this.#options.settleMs ?? SETTLE_MS);
  };

  /** For the monitor: before this time others have listened to the devices of the tenant. */
  readonly ownedSince = (tenant: number): number | undefined => {
    this.#lookAtLeases();
    return this.#owned.get(shardOf(tenant, TENANT_KEY))?.since;
  };

  readonly isConnected = (tenant: number, device: number): boolean => {
    if (this.#options.isConnectedHere(tenant, device)) return true;
    for (const tenants of this.#remote.values()) if (tenants.get(tenant)?.has(device)) return true;
    return false;
  };

  /** Tells the owners what is new. */
  async step(): Promise<void> {
    this.#lookAtLeases();
    this.#lookAtMembers();
    this.#steps += 1;
    const { messages, leases } = this.#options;
    const owners = new Map<string, number[]>();
    for (const tenant of new Set([...this.#pending.keys(), ...this.#here.keys(), ...this.#told.keys()])) {
      const owner = leases.ownerOf(shardOf(tenant, TENANT_KEY));
      if (owner === messages.nodeId) {
        this.#told.delete(tenant);
        this.#changed.delete(tenant);
        this.#hand(tenant);
      } else if (owner !== undefined) {
        const tenants = owners.get(owner);
        if (tenants) tenants.push(tenant);
        else owners.set(owner, [tenant]);
      }
    }
    await Promise.all([...owners].map(([owner, tenants]) => this.#tell(owner, tenants)));
  }

  #keep(tenant: number, device: number, at: number): void {
    const devices = this.#pending.get(tenant) ?? new Map<number, number>();
    const known = devices.get(device);
    if (known !== undefined) {
      if (at > known) devices.set(device, at);
      return;
    }
    if (this.#pendingCount >= (this.#options.pendingMax ?? PENDING_MAX)) {
      this.#options.refusals.count('availability/relay', { tenant, device: String(device) });
      return;
    }
    this.#pending.set(tenant, devices.set(device, at));
    this.#pendingCount += 1;
  }

  /** The tenant has become this node's: its monitor has heard all of it. */
  #hand(tenant: number): void {
    this.#pendingCount -= this.#pending.get(tenant)?.size ?? 0;
    this.#pending.delete(tenant);
  }

  /** Message by message, so that an owner takes them in order; what fails stays for the next step. */
  async #tell(owner: string, tenants: readonly number[]): Promise<void> {
    const reports = this.#reports(owner, tenants);
    while (reports.length > 0) {
      const part = batchOf(reports, this.#options.batchDevices ?? BATCH_DEVICES);
      try {
        const answer = await this.#options.messages.request(
          owner,
          SUBJECT,
          Buffer.from(JSON.stringify(part)),
          REQUEST_TIMEOUT_MS,
        );
        const { notMine, wanted } = JSON.parse(Buffer.from(answer).toString()) as ReportAnswer;
        for (const tenant of notMine) this.#keepAll(part.filter((report) => report.tenant === tenant));
        for (const tenant of [...notMine, ...wanted]) this.#told.delete(tenant);
      } catch (error) {
        this.#options.log.debug(
          { owner, error: (error as Error).message },
          'the availability of devices is told to its owner later',
        );
        this.#notTold([...part, ...reports]);
        return;
      }
    }
  }

  #notTold(reports: readonly Report[]): void {
    this.#keepAll(reports);
    // Some of it may have come: the next time all connections are sent.
    for (const { tenant } of reports) this.#told.delete(tenant);
  }

  #keepAll(reports: readonly Report[]): void {
    for (const { tenant, heard } of reports) {
      for (let index = 0; heard && index < heard.length; index += 2) this.#keep(tenant, heard[index], heard[index + 1]);
    }
  }

  /** Takes what is to be told to the owner. */
  #reports(owner: string, tenants: readonly number[]): Report[] {
    const reports: Report[] = [];
    for (const tenant of tenants) {
      const pending = this.#pending.get(tenant);
      this.#hand(tenant);
      const changed = this.#changed.get(tenant);
      this.#changed.delete(tenant);
      const here = this.#here.get(tenant);
      const heard = pending ? [...pending].flat() : undefined;
      if (this.#told.get(tenant) !== owner) {
        // An owner that was told nothing of this node has nothing of it.
        if (here) this.#told.set(tenant, owner);
        reports.push({ tenant, ...(heard ? { heard } : {}), ...(here ? { isWhole: true, connected: [...here] } : {}) });
      } else if (heard || changed || this.#steps % COMPARE_STEPS === 0) {
        const connected = [...(changed ?? [])].filter((device) => here?.has(device));
        const disconnected = [...(changed ?? [])].filter((device) => here?.has(device) !== true);
        reports.push({
          tenant,
          ...(heard ? { heard } : {}),
          ...(changed ? { connected, disconnected } : {}),
          size: here?.size ?? 0,
        });
      }
    }
    return reports.filter(
      ({ heard, connected, size }) => heard !== undefined || connected !== undefined || size !== undefined,
    );
  }

  #take(reports: readonly Report[], from: string): ReportAnswer {
    this.#lookAtLeases();
    const notMine = new Set<number>();
    const wanted = new Set<number>();
    for (const report of reports) {
      const { tenant, heard = [] } = report;
      if (!this.#owned.has(shardOf(tenant, TENANT_KEY))) {
        notMine.add(tenant);
        continue;
      }
      for (let index = 0; index < heard.length; index += 2) {
        if ((this.#monitor?.lastHeard(heard[index]) ?? 0) < heard[index + 1])
          this.#monitor?.heard(tenant, heard[index], heard[index + 1]);
      }
      if (!this.#takeConnections(report, from)) wanted.add(tenant);
    }
    return { notMine: [...notMine], wanted: [...wanted] };
  }

  /** @returns false when the node has to send all of them. */
  #takeConnections({ tenant, isWhole, more, connected = [], disconnected = [], size }: Report, from: string): boolean {
    const key = `${from}/${tenant}`;
    const incoming = isWhole ? [] : this.#incoming.get(key);
    if (incoming) {
      // Not before all of them are here: those that are still to come are not disconnected.
      for (const device of connected) incoming.push(device);
      if (more) this.#incoming.set(key, incoming);
      else this.#incoming.delete(key);
      if (more) return true;
    }
    const devices = this.#devicesOf(from, tenant);
    const gone = incoming ? new Set(devices) : new Set(disconnected);
    for (const device of incoming ?? connected) {
      gone.delete(device);
      if (devices.has(device)) continue;
      if (this.#remoteCount >= CONNECTED_MAX) {
        this.#options.refusals.count('availability/connections', { tenant, device: String(device) });
        continue;
      }
      devices.add(device);
      this.#remoteCount += 1;
      this.#monitor?.lookAt(tenant, device);
    }
    for (const device of gone) {
      if (!devices.delete(device)) continue;
      this.#remoteCount -= 1;
      this.#monitor?.lookAt(tenant, device);
    }
    return size === undefined || size === devices.size || this.#remoteCount >= CONNECTED_MAX;
  }

  #devicesOf(from: string, tenant: number): Set<number> {
    const tenants = this.#remote.get(from) ?? new Map<number, Set<number>>();
    this.#remote.set(from, tenants);
    return ofTenant(tenants, tenant);
  }

  /** What nodes have told an owner is of no use to it once the shard was another's. */
  #lookAtLeases(): void {
    const { owned } = this.#options.leases;
    for (const [shard, { epoch }] of this.#owned) {
      if (owned.get(shard) === epoch) continue;
      this.#owned.delete(shard);
      for (const key of this.#incoming.keys())
        if (shardOf(Number(key.slice(key.lastIndexOf('/') + 1)), TENANT_KEY) === shard) this.#incoming.delete(key);
      for (const tenants of this.#remote.values()) {
        for (const [tenant, devices] of tenants) {
          if (shardOf(tenant, TENANT_KEY) !== shard) continue;
          tenants.delete(tenant);
          this.#remoteCount -= devices.size;
        }
      }
    }
    if (this.#owned.size === owned.size) return;
    for (const [shard, epoch] of owned)
      if (!this.#owned.has(shard)) this.#owned.set(shard, { epoch, since: this.#options.now() });
  }

  /** Devices of a node that is gone are disconnected. */
  #lookAtMembers(): void {
    const members = new Set(this.#options.leases.members.map(({ nodeId }) => nodeId));
    // A node whose report is on its way may not be seen as a member yet.
    for (const [nodeId, tenants] of this.#remote) {
      const steps = members.has(nodeId) ? 0 : (this.#missing.get(nodeId) ?? 0) + 1;
      this.#missing.set(nodeId, steps);
      if (steps < MISSING_STEPS) continue;
      this.#missing.delete(nodeId);
      for (const key of this.#incoming.keys()) if (key.startsWith(`${nodeId}/`)) this.#incoming.delete(key);
      this.#remote.delete(nodeId);
      for (const [tenant, devices] of tenants) {
        this.#remoteCount -= devices.size;
        for (const device of devices) this.#monitor?.lookAt(tenant, device);
      }
    }
  }
}

function ofTenant(map: Map<number, Set<number>>, tenant: number): Set<number> {
  const known = map.get(tenant);
  if (known) return known;
  const set = new Set<number>();
  map.set(tenant, set);
  return set;
}

/**
 * Takes reports of at most `devicesMax` devices from the list, and cuts one that has more. The number of connections comes
 * with the last of them.
 */
function batchOf(reports: Report[], devicesMax: number): Report[] {
  const batch: Report[] = [];
  let left = devicesMax;
  while (reports.length > 0 && left > 0) {
    const { tenant, heard = [], isWhole, connected = [], disconnected = [], size } = reports[0];
    const heardNow = heard.slice(0, left * 2);
    left -= heardNow.length / 2;
    const connectedNow = connected.slice(0, left);
    left -= connectedNow.length;
    const disconnectedNow = disconnected.slice(0, left);
    left -= disconnectedNow.length;
    const rest = {
      heard: heard.slice(heardNow.length),
      connected: connected.slice(connectedNow.length),
      disconnected: disconnected.slice(disconnectedNow.length),
    };
    const isCut = rest.heard.length + rest.connected.length + rest.disconnected.length > 0;
    batch.push({
      tenant,
      heard: heardNow,
      connected: connectedNow,
      disconnected: disconnectedNow,
      ...(isWhole ? { isWhole } : {}),
      ...(isCut ? { more: true } : {}),
      ...(isCut || size === undefined ? {} : { size }),
    });
    if (isCut) reports[0] = { tenant, ...rest, ...(size === undefined ? {} : { size }) };
    else reports.shift();
    if (left === 0) break;
    left -= 1;
  }
  return batch;
}
