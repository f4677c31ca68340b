import type { Row } from '../../fields/row.ts';
import type { Predicate } from '../../predicates/predicate.ts';
import type { EvaluatedModel } from '../model.ts';

/** One segment: its model, when it takes part, and with which weight. */
export interface Segment {
  readonly id: string;
  readonly predicate: Predicate;
  /** The predicate is true of every record. */
  readonly isAlwaysActive: boolean;
  readonly model: EvaluatedModel;
  /** Weight for the record in the row. */
  readonly weight: (row: Row) => number;
  /** Epoch of the row for which its model was evaluated last. */
  epoch: number;
}
