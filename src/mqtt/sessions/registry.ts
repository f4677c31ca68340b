/**
 * The sessions in memory, by tenant and session key: opening, takeover, end and expiry. The store has the durable ones.
 */
import { randomBytes } from 'node:crypto';
import { isSessionOver, SESSION_EXPIRY_NEVER } from '../../model/sessions/expiry.ts';
import { isElsewhere } from './application.ts';
import { LIMIT } from '../wire/limits.ts';
import { Session } from './session.ts';
import type { SessionContext } from './session.ts';
import type { SessionOwner } from './owner.ts';
import { StoreChanges } from './store-changes.ts';
import type { TimerWheel } from './timer-wheel.ts';

export interface OpenRequest {
  readonly tenantNumber: number;
  readonly key: string;
  /** Clean Session (3.1.1) or Clean Start (5.0): what was there before is discarded [MQTT-3.1.2-4]. */
  readonly isClean: boolean;
  /** Seconds that the session shall outlive its connection; 0 = it ends with it. */
  readonly expirySeconds: number;
}

/** A session in memory; `name` is of the object, another one may have been there before it. */
export type SessionName = Pick<Session, 'tenantNumber' | 'key' | 'name'>;

/** The other nodes of a cluster, where the session may be in memory. */
export interface SessionsElsewhere {
  /**
   * The session is here from now on. Resolves when the node that had it has closed its connection and stored what it
   * knew.
   */
  taken(session: SessionName): Promise<void>;
  /** It is in memory no longer. */
  left(session: SessionName): void;
}

/** A session that another node wants waits this long for what is on its way to the store. */
const GIVE_UP_WAIT_MS = 5_000;
const GIVE_UP_LOOK_MS = 5;
/** Nodes that open a session at the same moment find it changed; each of them reads it so often. */
const OPEN_ATTEMPTS = 3;
const PROCESS_ID_BYTES = 6;

export interface OpenedSession {
  readonly session: Session;
  readonly isPresent: boolean;
}

export class SessionRegistry {
  readonly #sessions = new Map<string, Session>();
  /** Sessions without a connection, the longest first. */
  readonly #offline = new Set<Session>();
  /** Writes in the background, awaited when the server stops. */
  readonly #background = new Map<string, Promise<void>>();
  readonly #context: SessionContext;
  readonly #wheel: TimerWheel;
  readonly #elsewhere: SessionsElsewhere | undefined;
  /** Not of the node, which has others before and after a restart. */
  readonly #processId = randomBytes(PROCESS_ID_BYTES).toString('base64url');
  #created = 0;

  constructor(
    context: Omit<SessionContext, 'expired' | 'lost' | 'changes'>,
    wheel: TimerWheel,
    elsewhere?: SessionsElsewhere,
  ) {
    const lost = (session: Session): void => this.#lose(session);
    const changes = new StoreChanges(wheel, { limitHit: context.limitHit, lost });
    this.#context = {
      ...context,
      changes,
      lost,
      expired: (session) => {
        this.#end(session);
      },
    };
    this.#wheel = wheel;
    this.#elsewhere = elsewhere;
  }

  get sessionsCount(): number {
    return this.#sessions.size;
  }

  /** Whether the session has a connection on this node, which the next one ends. */
  isConnected(tenantNumber: number, key: string): boolean {
    return this.#sessions.get(nameOf(tenantNumber, key))?.owner !== undefined;
  }

  /**
   * Makes `owner` the connection of the session; an earlier one is closed first [MQTT-3.1.4-3]. What is in memory
   * counts only while the store says that the session has had no other holder since.
   * @returns undefined when yet another connection took the session while it was being read.
   * @throws what the store throws.
   */
  async open(owner: SessionOwner, request: OpenRequest, attempt = 1): Promise<OpenedSession | undefined> {
    const name = nameOf(request.tenantNumber, request.key);
    this.#sessions.get(name)?.owner?.takenOver();
    let session = this.#sessions.get(name);
    if (session === undefined) {
      session = this.#create(name, request);
      session.loading = this.#load(session, request.isClean);
    } else if (request.isClean) {
      const wasRead = session.loading === undefined;
      const former = session;
      const removal = this.#end(former);
      session = this.#create(name, request);
      // Nothing of the old session may come back after CONNACK, not even after a crash.
      session.loading = wasRead ? this.#removed(session, former, removal) : this.#load(session, true);
    } else {
      session.waitingWill?.sessionContinues();
    }
    session.owner = owner;
    session.opening = owner;
    this.#wheel.cancel(session);
    this.#offline.delete(session);
    try {
      return await this.#open(session, owner, request, attempt);
    } finally {
      if (session.opening === owner) session.opening = undefined;
    }
  }

  async #open(
    session: Session,
    owner: SessionOwner,
    request: OpenRequest,
    attempt: number,
  ): Promise<OpenedSession | undefined> {
    let isPresent = false;
    try {
      if (session.loading !== undefined) await this.#loaded(session);
      if (session.owner !== owner) return undefined;
      isPresent = session.isEstablished;
      await this.#save(session, owner, request.expirySeconds);
      while (session.isUncertain && session.owner === owner) await this.#lookAgain(session, owner);
    } catch (error) {
      if (!isElsewhere(error)) throw error;
      session.isLost = true;
    }
    if (session.isLost) return this.#openAgain(session, owner, request, attempt);
    if (session.owner !== owner) return undefined;
    session.isEstablished = true;
    return { session, isPresent };
  }

  /** What was opened is old. */
  async #openAgain(
    session: Session,
    owner: SessionOwner,
    request: OpenRequest,
    attempt: number,
  ): Promise<OpenedSession | undefined> {
    if (session.owner === undefined || session.owner === owner) this.#forget(session);
    // A connection that has given up must not take it from a later one.
    if (session.owner !== owner || owner.isOver) return undefined;
    if (attempt < OPEN_ATTEMPTS) return this.open(owner, request, attempt + 1);
    owner.takenOver();
    return undefined;
  }

  /** The connection has ended. */
  detach(session: Session, owner: SessionOwner): void {
    if (session.owner !== owner) return;
    session.owner = undefined;
    if (session.expirySeconds === 0) {
      this.#end(session);
      return;
    }
    session.disconnectedAt = this.#endOfConnection();
    this.#saveInBackground(session);
    this.#becameOffline(session);
  }

  /** Whether the session is here, with a connection or without, or a change of it is on its way to the store. */
  isInMemory(tenantNumber: number, key: string): boolean {
    const name = nameOf(tenantNumber, key);
    return this.#sessions.has(name) || this.#background.has(name);
  }

  /** Every session that is here, for a registry that has forgotten it. */
  inMemory(): IterableIterator<SessionName> {
    return this.#sessions.values();
  }

  /**
   * Another node has a connection of the session: ours is closed, and what we know of the session is stored and leaves
   * memory. Resolves when the other node can read it. A will that waits is not sent: the session continues.
   */
  async giveUp(tenantNumber: number, key: string): Promise<void> {
    const name = nameOf(tenantNumber, key);
    const session = this.#sessions.get(name);
    if (session?.loading !== undefined) {
      // Two nodes open it at the same time, and each waits for the other: the later claim has it.
      session.owner?.takenOver();
      session.owner = undefined;
      this.#forget(session);
    } else if (session !== undefined) {
      session.owner?.takenOver();
      const end = performance.now() + GIVE_UP_WAIT_MS;
      while (
        !session.hasEnded &&
        (session.hasPendingReceived || session.hasPendingMessages) &&
        performance.now() < end
      ) {
        await new Promise((resolve) => {
          setTimeout(resolve, GIVE_UP_LOOK_MS);
        });
      }
      // Opened here again meanwhile: the other node is asked in its turn.
      if (session.owner === undefined && !session.hasEnded) {
        session.waitingWill?.sessionContinues();
        this.#forget(session);
      }
    }
    await this.#background.get(name);
  }

  /** Sends the wills that still wait: they would be lost with the process. */
  sendWaitingWills(): void {
    for (const session of this.#sessions.values()) session.waitingWill?.sessionEnds();
  }

  /** The ends of sessions that were under way are in the store, or were reported as failed. */
  async settled(): Promise<void> {
    await Promise.all(this.#background.values());
  }

  /**
   * Writes subscriptions and expiry of a durable session. One that has gone on elsewhere leaves memory, its connection
   * is closed.
   */
  async saved(session: Session): Promise<void> {
    try {
      await this.#store(session);
    } catch (error) {
      if (isElsewhere(error)) this.#lose(session);
      throw error;
    }
  }

  /** The same for a session that has not changed since its last save. @returns undefined when the store has it. */
  lastSaved(session: Session): Promise<void> | undefined {
    return session.isSaved ? undefined : (session.saving ?? this.saved(session));
  }

  async #store(session: Session): Promise<void> {
    if (!session.isDurable || session.hasEnded) return;
    const { tenantNumber, key, subscriptions = new Map(), expirySeconds, disconnectedAt, holder, heldBy } = session;
    const saving = this.#context.store.save(tenantNumber, key, {
      subscriptions,
      expirySeconds,
      disconnectedAt,
      holder,
      after: heldBy,
    });
    session.saving = saving;
    session.isSaved = false;
    try {
      await saving;
      session.heldBy = holder;
      session.isSaved = session.saving === saving;
    } finally {
      if (session.saving === saving) session.saving = undefined;
    }
  }

  #create(name: string, request: { tenantNumber: number; key: string }): Session {
    const { tenantNumber, key } = request;
    const session = new Session(this.#context, {
      tenantNumber,
      key,
      name: `${this.#processId}${(this.#created++).toString(36)}`,
    });
    this.#sessions.set(name, session);
    return session;
  }

  async #load(session: Session, isClean: boolean): Promise<void> {
    const { store } = this.#context;
    // A read may overtake writes: what ended a moment ago must not come back.
    await this.#background.get(nameOf(session.tenantNumber, session.key));
    await this.#elsewhere?.taken(session);
    const stored = await store.load(session.tenantNumber, session.key, (former) => session.follow(former));
    if (stored === undefined || session.hasEnded) return;
    // The clock is looked at for those alone that seem to be over.
    const isOver =
      isSessionOver(stored, this.#context.now()) && isSessionOver(stored, await this.#context.clock.read());
    if (!isClean && !isOver) {
      session.restore(stored);
      return;
    }
    await store.remove(session.tenantNumber, session.key, { holder: session.holder, after: session.heldBy });
    session.heldBy = '';
  }

  /** What this node had of the session is discarded: if another has it now, that is. */
  #removed(session: Session, former: Session, removal: Promise<void> | undefined): Promise<void> | undefined {
    session.follow(former.holder);
    session.heldBy = '';
    if (this.#elsewhere === undefined) return removal;
    return (removal ?? Promise.resolve()).then(
      () => this.#elsewhere?.taken(session),
      (error: Error) => {
        if (!isElsewhere(error)) throw error;
        return this.#load(session, true);
      },
    );
  }

  /** What the store has of QoS 2 messages whose commit was not acknowledged. */
  async #lookAgain(session: Session, owner: SessionOwner): Promise<void> {
    // Before the look: what fails meanwhile is looked for again.
    session.isUncertain = false;
    try {
      const stored = await this.#context.store.load(session.tenantNumber, session.key);
      if (stored !== undefined) session.restoreReceived(stored);
    } catch (error) {
      session.isUncertain = true;
      if (session.owner === owner) this.#notOpened(session, session);
      throw error;
    }
  }

  async #loaded(session: Session): Promise<void> {
    try {
      await session.loading;
    } catch (error) {
      this.#forget(session);
      throw error;
    } finally {
      session.loading = undefined;
    }
  }

  async #save(session: Session, owner: SessionOwner, expirySeconds: number): Promise<void> {
    const before = { expirySeconds: session.expirySeconds, disconnectedAt: session.disconnectedAt };
    session.expirySeconds = expirySeconds;
    session.disconnectedAt = 0;
    // A session that ends with its connection is not stored, unless it continues a stored one.
    if (expirySeconds > 0) session.isDurable = true;
    try {
      await this.#store(session);
    } catch (error) {
      if (session.owner === owner && !isElsewhere(error)) this.#notOpened(session, before);
      throw error;
    }
  }

  /** The session is as it was before CONNECT: without a connection, or none. */
  #notOpened(session: Session, before: { expirySeconds: number; disconnectedAt: number }): void {
    session.owner = undefined;
    if (!session.isEstablished) {
      this.#forget(session);
      return;
    }
    session.expirySeconds = before.expirySeconds;
    // 0 after a crash, whose moment is not known: its time runs from now.
    session.disconnectedAt = before.disconnectedAt || this.#endOfConnection();
    this.#becameOffline(session);
  }

  /**
   * @returns ms since 1970, or 0 while the clock is not believed: then the time of the session runs from the moment at
   * which it is.
   */
  #endOfConnection(): number {
    return this.#context.clock.isBelieved ? this.#context.now() : 0;
  }

  #saveInBackground(session: Session): void {
    this.#inBackground(session, this.saved(session), 'stored');
  }

  #becameOffline(session: Session): void {
    this.#offline.add(session);
    if (session.expirySeconds !== SESSION_EXPIRY_NEVER) {
      const passedMs = session.disconnectedAt === 0 ? 0 : this.#context.now() - session.disconnectedAt;
      this.#wheel.schedule(session, session.expirySeconds - passedMs / 1_000);
    }
    if (this.#offline.size <= this.#context.limits.offlineSessions) return;
    for (const oldest of this.#offline) {
      // What it has is in the store, except for a will and for messages that are not durable yet.
      if (
        oldest === session ||
        oldest.waitingWill !== undefined ||
        oldest.hasPendingReceived ||
        oldest.hasPendingMessages
      )
        continue;
      return this.#forget(oldest);
    }
  }

  /**
   * The session is over: what it has is discarded. @returns when the store has forgotten it, undefined if it never knew
   * it.
   */
  #end(session: Session): Promise<void> | undefined {
    if (session.hasEnded) return undefined;
    this.#forget(session);
    session.waitingWill?.sessionEnds();
    if (!session.isDurable) return undefined;
    const removal = this.#context.store.remove(session.tenantNumber, session.key, {
      holder: session.holder,
      after: session.heldBy,
    });
    this.#inBackground(session, removal, 'removed');
    return removal;
  }

  #inBackground(session: Session, write: Promise<void>, what: string): void {
    const name = nameOf(session.tenantNumber, session.key);
    const reported = write.catch((error: Error) => {
      if (isElsewhere(error)) return;
      this.#context.limitHit(LIMIT.SESSION_STORE, `the session could not be ${what}: ${error.message}`, session);
    });
    const settled = Promise.all([this.#background.get(name), reported]).then(() => {
      if (this.#background.get(name) === settled) this.#background.delete(name);
    });
    this.#background.set(name, settled);
  }

  /** See SessionContext. */
  #lose(session: Session): void {
    const { owner } = session;
    session.isLost = true;
    if (session.hasEnded || session.opening !== undefined) return;
    session.owner = undefined;
    this.#forget(session);
    owner?.takenOver();
    // Also that of the connection which has just ended.
    session.waitingWill?.sessionContinues();
  }

  /** Leaves memory. */
  #forget(session: Session): void {
    session.hasEnded = true;
    this.#wheel.cancel(session);
    this.#offline.delete(session);
    const name = nameOf(session.tenantNumber, session.key);
    if (this.#sessions.get(name) !== session) return;
    this.#sessions.delete(name);
    this.#elsewhere?.left(session);
  }
}

function nameOf(tenantNumber: number, key: string): string {
  return `${tenantNumber}/${key}`;
}
