import type { EntityViews } from '../../ports/entity-views.ts';
import type { RowRunner } from './tunnel.ts';

/** What others want to know of devices, and do for them; set when these have started. */
export interface DeviceHooks {
  /**
   * Told of each fault that a device is answered with (`error`) and of each message that ends its connection
   * (`refused`).
   */
  onResult?: (result: 'error' | 'refused') => void;
  /** A device has sent something. */
  onHeard?: (tenantNumber: number, source: number, at: number) => void;
  /** A connection that receives operations of the device has come or gone. */
  onPushChanged?: (tenantNumber: number, source: number) => void;
  /** Without it rows of SmartREST 1.0 are refused. */
  answerRows?: RowRunner;
  /** What templates are tried on; without it they see what is stored. */
  views?: EntityViews;
}
