/** Port of tunnels between nodes: the client of a tunnel on one node, its device on another. */
import type { DeviceUser } from './orders.ts';
import type { Tunnel } from './tunnel.ts';

/** A device with a key whose client is not on its node. */
export interface JoinRequest {
  readonly user: DeviceUser;
  readonly connectionKey: string;
  /** Of an operation that was posted: the device that it was posted for. The client may be on any node then. */
  readonly postedFor?: string;
  /** Where that operation leads to. */
  readonly postedTo?: { readonly hostname: string; readonly port: number };
}

/** A client that waits for a device with a posted key, or has got it. */
export interface WaitingClient {
  readonly tenant: number;
  readonly connectionKey: string;
}

/** What other nodes are told of this one. */
export interface LocalTunnels {
  /** @returns the tunnel whose device comes by the other node. @throws PlatformError 403, 404. */
  join(request: JoinRequest): Promise<Tunnel>;
  /** A client waits on that node: a device that waits here goes there. */
  clientWaits(client: WaitingClient): void;
  /** The key cannot be used again. */
  keyUsed(client: WaitingClient): void;
}

export interface TunnelsElsewhere {
  /** How the keys of this node end, so that the others find it. */
  readonly keyEnd: string;
  start(local: LocalTunnels): void;
  /**
   * Has the tunnel's client side be the client that waits on another node. @returns false when there is none.
   * @throws PlatformError 403, 503.
   */
  join(request: JoinRequest, tunnel: Tunnel): Promise<boolean>;
  /** Both tell the other nodes. */
  clientWaits(client: WaitingClient): void;
  keyUsed(client: WaitingClient): void;
  close(): void;
}
