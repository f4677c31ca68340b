/** A group of models (docs/spec/scoring.md#groups), of `scoring` under `group\n<name>`. */
export interface StoredGroup {
  readonly groupName: string;
  readonly models: readonly string[];
  readonly primaryModel: string;
}

export const GROUP_PREFIX = 'group\n';
export const groupId = (name: string): string => `${GROUP_PREFIX}${name}`;
