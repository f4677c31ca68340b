/**
 * What all connections of a server share. An interface, so that connection and packet handlers do not import each
 * other.
 */
import type { MqttApplication, SessionStore } from '../sessions/application.ts';
import type { Log } from '../../ports/log.ts';
import type { TrafficTap } from '../../ports/traffic.ts';
import type { Shares } from '../../pacing/shares.ts';
import type { EarlyBytes } from '../transports/early-bytes.ts';
import type { LimitName, MqttLimits } from '../wire/limits.ts';
import type { MqttMetrics } from './metrics.ts';
import type { PacketDecoder } from '../wire/decoder.ts';
import type { PublishScanner } from '../wire/publish-scanner.ts';
import type { RateBucket } from './rate-bucket.ts';
import type { SessionRegistry } from '../sessions/registry.ts';
import type { Session } from '../sessions/session.ts';
import type { SmallOutputPool } from '../transports/small-output.ts';
import type { TimerWheel } from '../sessions/timer-wheel.ts';

/** `C` is always Connection. */
export interface SharedContext<C> {
  readonly application: MqttApplication;
  readonly store: SessionStore;
  readonly sessions: SessionRegistry;
  readonly limits: MqttLimits;
  /** Of connections after login, by tenant and user. */
  readonly shares: Shares;
  /** Connections that count in them. */
  readonly counted: Set<C>;
  readonly log: Log;
  readonly metrics: MqttMetrics;
  /** Where people watch what passes. */
  readonly traffic: TrafficTap | undefined;
  readonly wheel: TimerWheel;
  readonly scanner: PublishScanner;
  readonly decoder: PacketDecoder;
  readonly outputs: SmallOutputPool;
  /** Held by all connections whose CONNECT is not answered. */
  readonly early: EarlyBytes;
  /** A CONNECT arrives: its connection is not silent any more. */
  connecting(connection: C): void;
  /**
   * The sender of the CONNECT is not known at once: until `known` its connection gives way when all places are taken.
   */
  waits(connection: C, address: string): void;
  known(connection: C): void;
  /** More connections than the limit are open, without those of which it is not known who they are. */
  isOverLimit(): boolean;
  /** PUBLISH packets of the present read, by QoS. */
  readonly receivedCounts: number[];
  now(): number;
  /** Handles the PUBLISH at `offset`, which the scanner has just read. @returns false to stop and keep it. */
  publish(connection: C, chunk: Buffer, offset: number): boolean;
  /** Handles the complete packet `chunk[start, end)`. @throws PacketError */
  dispatch(connection: C, chunk: Buffer, start: number, end: number): void;
  /** Reports what `receivedCounts` has. */
  reportReceived(connection: C): void;
  /** A limit was hit without closing the connection. */
  limitHit(limit: LimitName, reason: string, session: Session): void;
  /** The bucket of a new connection; undefined without a rate limit. */
  rateBucket(tenantNumber: number): RateBucket | undefined;
  /** Waits for the rate to allow more. */
  throttle(connection: C): void;
  /** Ends link, will and session. */
  ended(connection: C, isClean: boolean): void;
  /** The transport is closed. */
  gone(connection: C): void;
}
