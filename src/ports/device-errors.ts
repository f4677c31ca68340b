/** The last error of each device, for people who look why one sends nothing: kept in memory, of a bounded number. */
export interface DeviceError {
  /** ms since 1970. */
  readonly time: number;
  /** What the device spoke. */
  readonly protocol: 'smartrest' | 'json' | 'mqtt' | 'rest';
  /** Of SmartREST its number, else the code of the error or the limit. */
  readonly code: string;
  readonly message: string;
  /** Errors of the device since it was remembered. */
  readonly count: number;
}

export interface DeviceErrors {
  note(tenant: number, source: number, error: Omit<DeviceError, 'time' | 'count'>): void;
  last(tenant: number, source: number): DeviceError | undefined;
}
