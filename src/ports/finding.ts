/** What `millrace doctor` found out by one check: of the machine, or of a server of a cluster. */
export interface Finding {
  readonly state: 'ok' | 'warn' | 'fail';
  readonly name: string;
  readonly fact: string;
  /** Of warn and fail: how to mend it. */
  readonly remedy?: string;
}
