/** Bounds of tunnels, by name; docs/spec/remote-access.md#bounds has them for users. */

/** Tunnels of a node, in shares of tenants and users; `…-of-tenant` and `…-of-user` of pacing/shares.ts. */
export const TUNNELS_LIMIT = 'remote-access/tunnels';
/** Bytes that wait for a slow end: of all tunnels in the same shares, and of one direction of a tunnel. */
export const BYTES_LIMIT = 'remote-access/held-bytes';
export const BYTES_OF_TUNNEL_LIMIT = 'remote-access/held-bytes-of-tunnel';
export const IDLE_LIMIT = 'remote-access/idle-time';
export const DEVICE_LIMIT = 'remote-access/device-time';
/** Keys of a user that were not found, within the time that a key lives: further ones are not looked for. */
export const KEYS_LIMIT = 'remote-access/unknown-keys';
export const STALLED_LIMIT = 'remote-access/stalled-end';
export const SSH_LOGIN_LIMIT = 'remote-access/ssh-login-time';

export interface TunnelLimits {
  readonly tunnels: number;
  readonly heldBytes: number;
  /** A sender that can be stopped stays far below; uWebSockets.js cannot stop one. */
  readonly heldBytesOfTunnel: number;
  /** Without a byte in either direction. */
  readonly idleMs: number;
  readonly unknownKeys: number;
  /** A connection key is good for this time; the device has to come within it. */
  readonly keyMs: number;
  /** From the permission to open a WebSocket until it is open. */
  readonly attachMs: number;
  /** When one end has closed, the other has to take its last bytes within it. */
  readonly endMs: number;
  /** From the opening of an SSH session until its user is logged in: what the user types, too. */
  readonly loginMs: number;
}

export const TUNNEL_LIMITS: TunnelLimits = {
  tunnels: 500,
  heldBytes: 134_217_728,
  heldBytesOfTunnel: 8_388_608,
  idleMs: 3_600_000,
  unknownKeys: 10,
  keyMs: 60_000,
  attachMs: 10_000,
  endMs: 10_000,
  loginMs: 180_000,
};

/** Close codes of RFC 6455 section 7.4.1. */
export const CLOSE = { normal: 1000, goingAway: 1001, policy: 1008, failed: 1011, tryAgain: 1013 } as const;
