/** Port to what looks at measurements as they become durable (scoring by bindings). */

export interface MeasurementListener {
  /**
   * Told of each MEASUREMENT record once, where subscribers are told; damaged ones too. It neither throws nor waits.
   * @param records of a group; they may change after the call. @param at where the record begins
   */
  take(records: Buffer, at: number): void;
}
