/** Collections of templates of SmartREST 1.0, for HTTP and MQTT. */
import { Collections } from '../../smartrest/one/collections.ts';
import type { ServerCore } from '../cores/core.ts';
import type { Part } from './part.ts';

export interface SmartRestPart extends Part {
  readonly collections: Collections;
}

export function smartRestPart({ documents, commands, ids, metrics }: ServerCore): SmartRestPart {
  const collections = new Collections({ documents, commands, ids, refusals: metrics, now: Date.now });
  metrics.gauge(
    'millrace_smartrest_collections',
    'Collections of templates of SmartREST 1.0 that this process remembers, compiled',
    () => collections.rememberedCount,
  );
  return { collections };
}
