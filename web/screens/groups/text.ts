/** Texts of groups and of the children of a device. */
import { defineTexts, numberText, plural } from '../../core/text/language.ts';

const devices = (count: number): string => `${numberText(count)} ${plural(count, { one: 'member', other: 'members' })}`;

const en = {
  title: 'Groups',
  group: 'Group',
  tree: 'Tree of groups',
  name: 'Name',
  type: 'Type',
  state: 'Connection',
  kind: 'Kind',
  kinds: { static: 'Group', dynamic: 'Dynamic group' },
  members: 'Members',
  nameFilter: 'Name begins with',
  emptyText: 'A group holds devices and other groups. A dynamic group holds what a query finds.',
  create: 'New group',
  createBelow: 'New group in here',
  createTitle: 'New group',
  query: 'Query of its devices',
  queryHint: "type eq 'pump' and has(c8y_Hardware)",
  created: (name: string) => `${name} is made`,
  rename: 'Rename',
  renameTitle: 'Rename the group',
  renamed: (name: string) => `The group is called ${name}`,
  remove: 'Delete the group',
  removeTitle: (name: string) => `Delete ${name}?`,
  removeText: (count: number | undefined) =>
    `${count === undefined ? 'Its members' : devices(count)} stay, without this group.`,
  removeDynamic: 'The devices that its query finds stay.',
  removed: (name: string) => `${name} is deleted`,
  noMembers: 'No members yet.',
  noMembersDynamic: 'The query finds no device.',
  add: 'Add members',
  addTitle: 'Add members',
  search: 'Name contains',
  searchQuery: 'Query',
  noneFound: 'Nothing is found.',
  addCount: (count: number) => `Add ${numberText(count)}`,
  addAll: (count: number) => `Add all ${numberText(count)} that match`,
  addTooMany: (max: number) => `At most ${numberText(max)} at once: narrow the search`,
  added: (count: number) => `${devices(count)} added`,
  takeOut: (count: number) => `Remove ${numberText(count)} from the group`,
  takenOut: (count: number) => `${devices(count)} removed`,
  children: 'Children',
  childKinds: { childDevices: 'Child devices', childAssets: 'Assets', childAdditions: 'Additions' },
  childTree: 'Tree below this device',
  noChildren: 'None yet.',
  childrenText: 'A device behind this one sends its data through it. The device makes one with the row 101 on s/us.',
  unlink: (count: number) => `Remove ${numberText(count)} ${plural(count, { one: 'link', other: 'links' })}`,
  unlinked: (count: number) => `${numberText(count)} ${plural(count, { one: 'link is', other: 'links are' })} removed`,
};

export type GroupTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
