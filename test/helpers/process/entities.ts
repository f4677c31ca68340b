/**
 * Load of entities over HTTP, each with its number: events, alarms, managed objects, operations; and the account of
 * their lists.
 */
import { delay } from './server.ts';
import { Ledger } from './load.ts';
import type { LoadTarget, Sender } from './load.ts';

const RETRY_MS = 20;

export type EntityKind = 'events' | 'alarms' | 'managed_objects' | 'operations';

const PATHS: Readonly<Record<EntityKind, string>> = {
  events: '/event/events',
  alarms: '/alarm/alarms',
  managed_objects: '/inventory/managedObjects',
  operations: '/devicecontrol/operations',
};
const KINDS = Object.keys(PATHS) as EntityKind[];

/** POSTs one entity of each kind in turn, of one device, and changes every second one by a PUT. */
export class EntitySender implements Sender {
  readonly name: string;
  device = '';
  readonly created: Readonly<Record<EntityKind, Ledger>> = {
    events: new Ledger(),
    alarms: new Ledger(),
    managed_objects: new Ledger(),
    operations: new Ledger(),
  };
  /** Numbers whose change was acknowledged. */
  readonly changed: Readonly<Record<EntityKind, Set<number>>> = {
    events: new Set(),
    alarms: new Set(),
    managed_objects: new Set(),
    operations: new Set(),
  };
  readonly otherAnswers = new Map<string, number>();
  readonly #server: LoadTarget;
  #isStopped = false;

  constructor(server: LoadTarget, name: string) {
    this.#server = server;
    this.name = name;
  }

  get acknowledgedCount(): number {
    return KINDS.reduce((sum, kind) => sum + this.created[kind].acknowledged.size, 0);
  }

  /** Before `run`, on a running server. */
  async open(): Promise<void> {
    this.device = await this.#server.createDevice(this.name);
    await this.#server.http('PUT', `/inventory/managedObjects/${this.device}`, { com_cumulocity_model_Agent: {} });
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    for (let turn = 0; !this.#isStopped && !this.#server.isDisposed; turn += 1) {
      try {
        await this.#one(KINDS[turn % KINDS.length]);
      } catch {
        // No connection: the server is being started again.
        await delay(RETRY_MS);
      }
    }
  }

  async #one(kind: EntityKind): Promise<void> {
    const number = this.created[kind].next();
    const answer = await this.#server.http('POST', PATHS[kind], this.#bodyOf(kind, number));
    if (answer.status !== 201) {
      this.#note(`POST ${PATHS[kind]}: ${answer.status} ${answer.text}`);
      await delay(RETRY_MS);
      return;
    }
    this.created[kind].acknowledged.add(number);
    if (number % 2 !== 0) return;
    const id = answer.headers.location?.split('/').at(-1);
    const changed = await this.#server.http(
      'PUT',
      `${PATHS[kind]}/${id}`,
      kind === 'operations' ? { status: 'EXECUTING' } : { powerCut_Changed: number },
    );
    if (changed.status === 200) this.changed[kind].add(number);
    else this.#note(`PUT ${PATHS[kind]}: ${changed.status} ${changed.text}`);
  }

  #note(what: string): void {
    this.otherAnswers.set(what, (this.otherAnswers.get(what) ?? 0) + 1);
  }

  #bodyOf(kind: EntityKind, number: number): object {
    const source = { id: this.device };
    const time = new Date().toISOString();
    switch (kind) {
      case 'events':
        return { source, time, type: 'powerCut_Event', text: `${number}` };
      // Each has a type of its own: equal ones are counted in one alarm.
      case 'alarms':
        return { source, time, type: `powerCut_${number}`, text: `${number}`, severity: 'MINOR', status: 'ACTIVE' };
      case 'managed_objects':
        return { type: `powerCut_Of${this.name}`, name: `${number}` };
      case 'operations':
        return { deviceId: this.device, description: `${number}`, powerCut_Operation: { number } };
    }
  }

  /** Selects `kind`, `source`, `number`, `isChanged` and `place` (its order) of each row in the list's table. */
  selectOf(kind: EntityKind): string {
    const [number, where] = {
      events: [`JSONExtractString(doc, 'text')`, `source = ${this.device} AND type = 'powerCut_Event'`],
      alarms: [`JSONExtractString(doc, 'text')`, `source = ${this.device} AND type LIKE 'powerCut_%' AND count = 1`],
      managed_objects: ['name', `type = 'powerCut_Of${this.name}'`],
      operations: [`JSONExtractString(doc, 'description')`, `source = ${this.device}`],
    }[kind];
    const changed = kind === 'operations' ? `status = 'EXECUTING'` : `JSONHas(doc, 'powerCut_Changed')`;
    // Not another name for a column that the condition asks for.
    const source = kind === 'managed_objects' ? `toUInt64(${this.device}) AS source` : 'source';
    return `SELECT '${kind}' AS kind, ${source}, toUInt32(${number}) AS number, ${changed} AS isChanged, id AS place FROM ${kind} FINAL WHERE ${where}`;
  }

  /** What is wrong with the changes, in words. */
  changesMissing(kind: EntityKind, rows: readonly { number: number; isChanged: number }[]): string[] {
    const stored = new Set(rows.filter(({ isChanged }) => isChanged === 1).map(({ number }) => number));
    const missing = [...this.changed[kind]].filter((number) => !stored.has(number));
    return missing.length === 0
      ? []
      : [
          `${this.name}: ${missing.length} acknowledged changes of ${kind} are missing, first ${missing.slice(0, 5).join(', ')}`,
        ];
  }
}

export const ENTITY_KINDS: readonly EntityKind[] = KINDS;
