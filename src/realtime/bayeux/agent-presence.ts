/**
 * Which agents are connected for their operations: `c8y_Connection` (docs/spec/availability.md#connection). An agent is
 * connected by a session of the operations' URLs that its owner has subscribed to its channel `/{agentId}`, from the
 * session's first connect until its client is known to be gone: the socket closed while a connect was held, or no
 * connect came until the session ended. Between two polls it stays connected.
 */
import type { BayeuxSession } from './session.ts';

export class AgentPresence {
  /** `<tenant>/<agent>` -> its sessions whose clients are there. Bounded by the subscriptions of all sessions. */
  readonly #sessions = new Map<string, Set<BayeuxSession>>();
  /** The agent has got its first connection or lost its last one. */
  onChanged: ((tenant: number, agent: number) => void) | undefined;

  isConnected(tenant: number, agent: number): boolean {
    return this.#sessions.has(`${tenant}/${agent}`);
  }

  /** @param agent id of the managed object, whose owner has the session. */
  subscribed(session: BayeuxSession, agent: string): void {
    session.agents.add(agent);
    if (session.isPresent) this.#add(session, agent);
  }

  unsubscribed(session: BayeuxSession, agent: string): void {
    if (session.agents.delete(agent)) this.#remove(session, agent);
  }

  /** The session's client has come or gone. */
  presenceChanged(session: BayeuxSession): void {
    for (const agent of session.agents) {
      if (session.isPresent) this.#add(session, agent);
      else this.#remove(session, agent);
    }
  }

  #add(session: BayeuxSession, agent: string): void {
    const { tenantNumber } = session.principal;
    const key = `${tenantNumber}/${agent}`;
    const sessions = this.#sessions.get(key);
    if (sessions !== undefined) {
      sessions.add(session);
      return;
    }
    this.#sessions.set(key, new Set([session]));
    this.onChanged?.(tenantNumber, Number(agent));
  }

  #remove(session: BayeuxSession, agent: string): void {
    const { tenantNumber } = session.principal;
    const key = `${tenantNumber}/${agent}`;
    const sessions = this.#sessions.get(key);
    if (sessions?.delete(session) !== true || sessions.size > 0) return;
    this.#sessions.delete(key);
    this.onChanged?.(tenantNumber, Number(agent));
  }
}
