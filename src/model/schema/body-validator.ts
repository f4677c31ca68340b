/** The schema of a JSON body as every door checks it: HTTP for all routes, JSON over MQTT for entities. */
import type { TSchema } from 'typebox';
import { joinMembers, requireFewMembers } from '../documents/json-document.ts';
import type { Members } from '../documents/json-document.ts';
import { compileBodyCheck, optionalMembers } from './body-check.ts';
import type { BodyCheck } from './body-check.ts';

export class BodyValidator {
  /** @throws PlatformError `validation/mandatory-fields` or `validation/invalid-field`. */
  readonly checkValue: BodyCheck;
  /** Members that are left out when they are null: of a new entity only, in a change null removes. */
  readonly droppedNulls: ReadonlySet<string>;

  /** @param area first part of the error string. @param isNew the body makes an entity. */
  constructor(schema: TSchema, area: string, isNew: boolean) {
    this.checkValue = compileBodyCheck(schema, area);
    this.droppedNulls = isNew ? optionalMembers(schema) : new Set();
  }

  /** @returns the members without those that are null and dropped. @throws PlatformError as `checkValue` and `requireFewMembers`. */
  checked(members: Members): Members {
    requireFewMembers(members);
    const kept: Members = new Map(
      [...members].filter(([name, value]) => value !== 'null' || !this.droppedNulls.has(name)),
    );
    this.checkValue(JSON.parse(joinMembers(kept)));
    return kept;
  }
}
