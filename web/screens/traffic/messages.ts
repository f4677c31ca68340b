/** What the server tells of MQTT traffic (docs/reference/own-requests.md, Traffic), and how much of it the page keeps. */

export type TrafficKind = 'in' | 'out' | 'error';

export interface TrafficMessage {
  readonly time: string;
  readonly node: string;
  readonly kind: TrafficKind;
  readonly clientId: string;
  readonly user: string;
  readonly source?: { readonly id: string };
  readonly topic?: string;
  readonly qos?: number;
  readonly size?: number;
  readonly payload?: string;
  readonly encoding?: 'base64';
  readonly error?: { readonly code: string; readonly message: string };
}

/** Data of one message of the channel. */
export interface TrafficBatch {
  readonly matched: number;
  readonly dropped: number;
  readonly messages: readonly TrafficMessage[];
}

export interface TrafficFilter {
  readonly client: string;
  readonly device: string;
  readonly topic: string;
  readonly kind: '' | TrafficKind;
}

/** A message with a number of its own, as lists need one. */
export type Kept = TrafficMessage & { readonly key: number };

/** Messages that the page keeps; the oldest go first. */
const KEPT_MAX = 500;

export interface TrafficState {
  /** The newest first. */
  readonly kept: readonly Kept[];
  readonly matched: number;
  readonly dropped: number;
}

export const NOTHING: TrafficState = { kept: [], matched: 0, dropped: 0 };

export const channelOf = (filter: TrafficFilter): string => {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));
  return query.size === 0 ? '/millrace/traffic' : `/millrace/traffic/${query}`;
};

/** The state with what came. */
export function withBatches(state: TrafficState, batches: readonly TrafficBatch[]): TrafficState {
  let { matched, dropped } = state;
  let lastKey = state.kept[0]?.key ?? 0;
  const arrived: Kept[] = [];
  for (const batch of batches) {
    matched += batch.matched;
    dropped += batch.dropped;
    for (const message of batch.messages) arrived.push({ ...message, key: (lastKey += 1) });
  }
  return { kept: [...arrived.reverse(), ...state.kept].slice(0, KEPT_MAX), matched, dropped };
}

/** A row of SmartREST: its number, and what stands behind it. */
export interface Row {
  readonly id: string;
  readonly rest: string;
}

/** Topics of static templates, whose numbers have one meaning. */
const STATIC_TOPIC = /^[stqc]\/(?:us|ds|e)(?:\/|$)/;
const ROW = /^(\d{2,3})(?:,(.*))?$/;

/** Rows of a payload with static templates; undefined of another one. */
export function rowsOf({ topic = '', payload = '', encoding }: TrafficMessage): readonly Row[] | undefined {
  if (!STATIC_TOPIC.test(topic) || encoding !== undefined) return undefined;
  return payload
    .split(/\r?\n/)
    .filter((line) => line !== '')
    .map((line) => {
      const [, id = '', rest = ''] = ROW.exec(line) ?? ['', '', line];
      return { id, rest };
    });
}
