/** What a test process and the host of its nodes (node-host.ts) say to each other, a line of JSON each. */

/** What a test process is told of a node. */
export interface HostedNode {
  readonly httpPort: number;
  readonly mqttPort: number;
  readonly mqttTlsPort?: number;
}
export interface StartRequest {
  readonly do: 'start';
  readonly data?: string;
  readonly flags: readonly string[];
  readonly passwords: { admin: string; management: string };
}
export type HostRequest = StartRequest | { readonly do: 'stop'; readonly data: string };
export type HostAnswer =
  | { readonly data: string; readonly nodes: readonly HostedNode[] }
  | { readonly error: string }
  | { readonly log: string };
