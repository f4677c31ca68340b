/** The state of every node of a cluster: the node that a person asks asks the others. */
import type { NodeState, NodeStates } from '../../ports/node-states.ts';
import type { Member } from '../../ports/cluster/leases.ts';
import { NodeUnreachable } from '../../ports/cluster/node-messages.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';

const SUBJECT = 'node-state';
const TIMEOUT_MS = 2_000;
/** Many people may look at once: they share an answer of this age. */
const FRESH_MS = 1_000;

export interface ClusterNodeStatesOptions {
  readonly messages: Pick<NodeMessages, 'nodeId' | 'request' | 'answer'>;
  readonly leases: { readonly members: readonly Member[] };
  readonly local: () => NodeState;
  readonly now: () => number;
}

export class ClusterNodeStates implements NodeStates {
  readonly #options: ClusterNodeStatesOptions;
  #asked: { readonly atMs: number; readonly states: Promise<readonly NodeState[]> } | undefined;

  /** Begins to answer other nodes. */
  constructor(options: ClusterNodeStatesOptions) {
    this.#options = options;
    options.messages.answer(SUBJECT, () => Buffer.from(JSON.stringify(options.local())));
  }

  all(): Promise<readonly NodeState[]> {
    const atMs = this.#options.now();
    if (this.#asked === undefined || atMs - this.#asked.atMs > FRESH_MS) this.#asked = { atMs, states: this.#askAll() };
    return this.#asked.states;
  }

  async #askAll(): Promise<readonly NodeState[]> {
    const { leases, local, messages } = this.#options;
    const others = leases.members.filter(({ nodeId }) => nodeId !== messages.nodeId);
    const own = leases.members.find(({ nodeId }) => nodeId === messages.nodeId);
    const states = await Promise.all(others.map((member) => this.#ask(member)));
    return [asMember(local(), own), ...states].sort((one, other) => (one.node < other.node ? -1 : 1));
  }

  async #ask(member: Member): Promise<NodeState> {
    try {
      const answer = await this.#options.messages.request(member.nodeId, SUBJECT, new Uint8Array(), TIMEOUT_MS);
      return asMember(JSON.parse(Buffer.from(answer).toString()) as NodeState, member);
    } catch (error) {
      // It may have died, or is of a version that does not know the question.
      if (!(error instanceof NodeUnreachable)) throw error;
      return { node: member.nodeId, state: 'silent', roles: member.roles };
    }
  }
}

const asMember = (state: NodeState, member: Member | undefined): NodeState =>
  member?.isLeaving === true && state.state === 'ready' ? { ...state, state: 'leaving' } : state;
