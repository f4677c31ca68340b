/**
 * Watches when devices were last heard (docs/spec/availability.md). Times are kept in memory and written sparsely; that
 * a device fell silent, spoke again, connected or disconnected is written at once, by its actor. Everything is decided
 * from stored states, page by page: a restart goes on where the last process was, and takes no device for silent
 * because of the time that the server was down. So does a node of a cluster that has become the owner of the tenant:
 * others have listened before (cluster/peers/availability-relay.ts).
 */
import { UNATTRIBUTED } from '../../ports/refusals.ts';
import type { AvailabilitySet } from '../../model/commands/entities.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import { isSilentSince } from '../../model/entities/availability.ts';
import type { AvailabilityState } from '../../model/entities/availability.ts';
import type { AvailabilityPort } from '../../ports/availability.ts';
import type { Log } from '../../ports/log.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { Refusals } from '../../ports/refusals.ts';

/** Devices looked at in one step. */
const STEP_DEVICES = 200;
const STEP_PAUSE_MS = 25;
const PASS_PAUSE_MS = 15_000;
/** How soon what is urgent is looked at. */
const URGENT_PAUSE_MS = 50;
/** A later time of the last message is written after this time. */
const FLUSH_MS = 600_000;
/** Devices whose last message is in memory; beyond it those that were heard first are forgotten. */
const HEARD_MAX = 1_000_000;

export interface AvailabilityMonitorOptions {
  readonly commands: CommandPort;
  readonly documents: DocumentReader;
  readonly ids: IdSource;
  readonly tenants: () => Iterable<number>;
  /** Whether devices of the tenant are this process's. */
  readonly isMine: (tenant: number) => boolean;
  /**
   * Since when this process listens to the devices of the tenant, where others have done so before. Default: its start.
   */
  readonly ownedSince?: (tenant: number) => number | undefined;
  /** Whether the device holds a push connection now. */
  readonly isConnected: (tenant: number, device: number) => boolean;
  readonly refusals: Refusals;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly stepDevices?: number;
  readonly heardMax?: number;
}

export class AvailabilityMonitor implements AvailabilityPort {
  readonly #options: AvailabilityMonitorOptions;
  readonly #startedAt: number;
  /** Device -> time of its last message: two generations, so that the older half can be forgotten at once. */
  #heard = new Map<number, number>();
  #heardBefore = new Map<number, number>();
  /** Devices that are stored as silent, by what was seen last. */
  readonly #silent = new Set<number>();
  /** Device -> tenant: to be looked at soon. */
  readonly #urgent = new Map<number, number>();
  /** Place of the pass under way. */
  #place: { tenants: number[]; after: string | undefined } | undefined;
  #isStopped = false;
  #isStarted = false;
  #running: Promise<void> = Promise.resolve();
  #wake: (() => void) | undefined;

  constructor(options: AvailabilityMonitorOptions) {
    this.#options = options;
    this.#startedAt = options.now();
  }

  /** A message of the device has come: one look-up and one entry of a map. */
  readonly heard = (tenant: number, device: number, at: number): void => {
    if (this.#heard.size >= (this.#options.heardMax ?? HEARD_MAX) / 2 && !this.#heard.has(device)) {
      if (this.#heardBefore.size > 0) this.#options.refusals.count('availability/heard', UNATTRIBUTED);
      this.#heardBefore = this.#heard;
      this.#heard = new Map();
    }
    this.#heard.set(device, at);
    if (this.#silent.size > 0 && this.#silent.has(device)) this.lookAt(tenant, device);
  };

  /** The device has got or lost a push connection, or should be looked at soon for another reason. */
  lookAt(tenant: number, device: number): void {
    this.#urgent.set(device, tenant);
    this.#wake?.();
  }

  /** Time of the last message in memory. */
  lastHeard(device: number): number | undefined {
    return this.#heard.get(device) ?? this.#heardBefore.get(device);
  }

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#running = this.#run();
  }

  /** Resolves when nothing is under way any more. Times that are not written yet are lost, within FLUSH_MS. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake?.();
    await this.#running;
  }

  /**
   * Looks at what is urgent and at one page of all devices.
   * @returns whether a pass over all of them has ended. Rejects when the store or the journal refuses.
   */
  async step(): Promise<boolean> {
    const limit = this.#options.stepDevices ?? STEP_DEVICES;
    await this.#lookAtUrgent(limit);
    this.#place ??= {
      tenants: [...this.#options.tenants()].filter((tenant) => this.#options.isMine(tenant)),
      after: undefined,
    };
    const [tenant] = this.#place.tenants;
    if (tenant === undefined) {
      this.#place = undefined;
      return true;
    }
    if (!this.#options.isMine(tenant)) {
      this.#place = { tenants: this.#place.tenants.slice(1), after: undefined };
      return false;
    }
    const { after } = this.#place;
    const page = await this.#options.documents.list(
      'availability',
      tenant,
      '',
      after === undefined ? { limit } : { after, limit },
    );
    await Promise.all(
      page.map(({ id, value }) => this.#compare(tenant, Number(id), JSON.parse(value) as AvailabilityState)),
    );
    if (page.length === limit) this.#place.after = page[page.length - 1].id;
    else this.#place = { tenants: this.#place.tenants.slice(1), after: undefined };
    return false;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      let isPassOver = true;
      let hasFailed = false;
      try {
        isPassOver = await this.step();
      } catch (error) {
        this.#options.log.warn(
          { err: error, retryMs: PASS_PAUSE_MS },
          'the availability of devices could not be written',
        );
        hasFailed = true;
      }
      if (hasFailed) await this.#pause(PASS_PAUSE_MS);
      else if (!isPassOver) await this.#pause(STEP_PAUSE_MS);
      else if (this.#urgent.size > 0) await this.#pause(URGENT_PAUSE_MS);
      else await this.#pause(PASS_PAUSE_MS, { untilUrgent: true });
    }
  }

  async #lookAtUrgent(limit: number): Promise<void> {
    // There may be millions when a node has become the owner of a tenant.
    const due: [number, number][] = [];
    for (const entry of this.#urgent) {
      if (due.length === limit) break;
      due.push(entry);
    }
    for (const [device] of due) this.#urgent.delete(device);
    await Promise.all(
      due.map(async ([device, tenant]) => {
        if (!this.#options.isMine(tenant)) {
          // A new owner that does not judge yet: what nothing is stored about would be seen in no pass.
          if (this.#options.ownedSince?.(tenant) !== undefined) this.#urgent.set(device, tenant);
          return;
        }
        try {
          const text = await this.#options.documents.get('availability', tenant, String(device));
          await this.#compare(tenant, device, text === undefined ? undefined : (JSON.parse(text) as AvailabilityState));
        } catch (error) {
          this.#urgent.set(device, tenant);
          throw error;
        }
      }),
    );
  }

  /** Writes what is not as it is stored. @param state undefined for a device that nothing is stored about. */
  async #compare(tenant: number, device: number, state: AvailabilityState | undefined): Promise<void> {
    const { commands, ids, isConnected, now } = this.#options;
    const at = now();
    const heardAt = Math.max(state?.lastMessage ?? 0, this.lastHeard(device) ?? 0);
    // Messages while the server was down, or while another node owned the tenant, are not known here.
    const listensSince = Math.max(this.#startedAt, this.#options.ownedSince?.(tenant) ?? 0);
    const isSilent = isSilentSince(
      state?.interval,
      state?.isSilent === true ? heardAt : Math.max(heardAt, listensSince),
      at,
    );
    if (isSilent) this.#silent.add(device);
    else this.#silent.delete(device);
    const connection = isConnected(tenant, device)
      ? 'CONNECTED'
      : state?.connection === undefined
        ? undefined
        : 'DISCONNECTED';
    if (
      state === undefined
        ? connection === undefined
        : isSilent === state.isSilent && connection === state.connection && heardAt - state.lastMessage < FLUSH_MS
    )
      return;
    const body: AvailabilitySet = {
      lastMessage: heardAt || at,
      isSilent,
      ...(connection === undefined ? {} : { connection }),
      ...(isSilent && state?.isSilent === false ? { alarmId: String(ids.nextBeside(tenant, device)) } : {}),
    };
    await commands.request({
      kind: COMMAND.AVAILABILITY_SET,
      tenant,
      key: device,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: at,
      body,
    });
  }

  #pause(durationMs: number, options: { untilUrgent?: boolean } = {}): Promise<void> {
    if (this.#isStopped || (options.untilUrgent === true && this.#urgent.size > 0)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#wake = undefined;
        resolve();
      }, durationMs);
      timer.unref();
      this.#wake = () => {
        if (options.untilUrgent !== true && !this.#isStopped) return;
        this.#wake = undefined;
        clearTimeout(timer);
        // A little later, so that more comes together.
        setTimeout(resolve, this.#isStopped ? 0 : URGENT_PAUSE_MS);
      };
    });
  }
}
