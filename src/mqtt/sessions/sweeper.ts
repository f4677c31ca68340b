/**
 * Ends stored sessions whose time is over while no node holds them in memory, page by page: the session's actor decides
 * and removes. It also notes when the sessions that were connected at a crash lost their connection, so that their time
 * runs.
 */
import type { SessionState } from '../../actors/handlers/sessions/session.ts';
import { BackgroundLoop } from '../../pacing/background-loop.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { SessionExpire } from '../../model/commands/sessions.ts';
import type { Log } from '../../ports/log.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { isSessionOver, SESSION_EXPIRY_NEVER } from '../../model/sessions/expiry.ts';
import type { ExpiryClock } from '../../model/sessions/expiry.ts';

/** Sessions looked at in one step. Each is some 200 bytes, a few kilobytes with many subscriptions. */
const STEP_SESSIONS = 100;
/** Between two steps: 100,000 sessions take 25 s. */
const STEP_PAUSE_MS = 25;
/** Between two passes over everything. */
const PASS_PAUSE_MS = 60_000;

export interface SessionSweeperOptions {
  readonly commands: CommandPort;
  readonly documents: DocumentReader;
  /** Numbers of the tenants. */
  readonly tenants: () => Iterable<number>;
  /** Sessions in memory, of any node, expire there; a change of them may be on its way to the store. */
  readonly isInMemory: (tenantNumber: number, key: string) => boolean | Promise<boolean>;
  /** Whether the session's actor is of this process; the others have sweepers of their own. All of them by default. */
  readonly isMine?: (tenantNumber: number, key: string) => boolean;
  /** Nothing is removed while it gives no time. */
  readonly clock: Pick<ExpiryClock, 'read'>;
  readonly log: Log;
  readonly stepSessions?: number;
}

export class SessionSweeper {
  /** Sessions that were removed. */
  expiredCount = 0;
  readonly #options: SessionSweeperOptions;
  readonly #stepSessions: number;
  readonly #loop = new BackgroundLoop();

  constructor(options: SessionSweeperOptions) {
    this.#options = options;
    this.#stepSessions = options.stepSessions ?? STEP_SESSIONS;
  }

  /** Begins with a pass at once. */
  start(): void {
    this.#loop.repeat(
      PASS_PAUSE_MS,
      () => this.sweep(),
      (error) => {
        this.#options.log.warn(
          { error: (error as Error).message, retryMs: PASS_PAUSE_MS },
          'expired sessions could not be removed',
        );
      },
    );
  }

  /** Resolves when nothing is under way any more. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** One pass over all sessions. Rejects when the store or the journal refuses; the rest is for the next pass. */
  async sweep(): Promise<void> {
    const { documents, tenants, clock } = this.#options;
    // A session that is stored as connected and has no connection has lost it before now.
    const lostAt = await clock.read();
    if (lostAt === undefined) return;
    for (const tenant of tenants()) {
      for (let after: string | undefined; !this.#loop.isStopped; ) {
        const limit = this.#stepSessions;
        const now = await clock.read();
        if (now === undefined) return;
        const page = await documents.list('session', tenant, '', after === undefined ? { limit } : { after, limit });
        await Promise.all(
          page.map(async ({ id, value }) => {
            const state = JSON.parse(value) as SessionState;
            if (await this.#isDue(tenant, id, state, now))
              await this.#expire(tenant, { session: id, lostAt, holder: state.holder }, now);
          }),
        );
        if (page.length < limit) break;
        after = page[page.length - 1].id;
        await this.#loop.pause(STEP_PAUSE_MS, { isIdle: false });
      }
    }
  }

  async #isDue(tenant: number, key: string, state: SessionState, now: number): Promise<boolean> {
    const { isMine, isInMemory } = this.#options;
    if (isMine?.(tenant, key) === false) return false;
    if (state.expirySeconds === SESSION_EXPIRY_NEVER || !(state.disconnectedAt === 0 || isSessionOver(state, now)))
      return false;
    return !(await isInMemory(tenant, key));
  }

  /** In order with what a connection that opens the session now sends: whichever comes first, the session is whole. */
  async #expire(tenant: number, body: SessionExpire, receivedAt: number): Promise<void> {
    const { isRemoved } = await this.#options.commands.request<{ isRemoved: boolean }>({
      kind: COMMAND.SESSION_EXPIRE,
      tenant,
      key: `s:${body.session}`,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt,
      body,
    });
    if (isRemoved) this.expiredCount += 1;
  }
}
