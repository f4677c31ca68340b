/** German of text.ts. */
import { numberText, plural } from '../../core/text/language.ts';
import type { GroupTexts } from './text.ts';

const members = (count: number): string =>
  `${numberText(count)} ${plural(count, { one: 'Mitglied', other: 'Mitglieder' })}`;

const de: GroupTexts = {
  title: 'Gruppen',
  group: 'Gruppe',
  tree: 'Baum der Gruppen',
  name: 'Name',
  type: 'Typ',
  state: 'Verbindung',
  kind: 'Art',
  kinds: { static: 'Gruppe', dynamic: 'Dynamische Gruppe' },
  members: 'Mitglieder',
  nameFilter: 'Name beginnt mit',
  emptyText: 'Eine Gruppe hat Geräte und weitere Gruppen. Eine dynamische Gruppe hat, was eine Abfrage findet.',
  create: 'Neue Gruppe',
  createBelow: 'Neue Gruppe hier',
  createTitle: 'Neue Gruppe',
  query: 'Abfrage ihrer Geräte',
  queryHint: "type eq 'pump' and has(c8y_Hardware)",
  created: (name) => `${name} ist angelegt`,
  rename: 'Umbenennen',
  renameTitle: 'Gruppe umbenennen',
  renamed: (name) => `Die Gruppe heißt ${name}`,
  remove: 'Gruppe löschen',
  removeTitle: (name) => `${name} löschen?`,
  removeText: (count) => `${count === undefined ? 'Ihre Mitglieder' : members(count)} bleiben, ohne diese Gruppe.`,
  removeDynamic: 'Die Geräte, die ihre Abfrage findet, bleiben.',
  removed: (name) => `${name} ist gelöscht`,
  noMembers: 'Noch keine Mitglieder.',
  noMembersDynamic: 'Die Abfrage findet kein Gerät.',
  add: 'Mitglieder hinzufügen',
  addTitle: 'Mitglieder hinzufügen',
  search: 'Name enthält',
  searchQuery: 'Abfrage',
  noneFound: 'Nichts gefunden.',
  addCount: (count) => `${numberText(count)} hinzufügen`,
  addAll: (count) => `Alle ${numberText(count)} Treffer hinzufügen`,
  addTooMany: (max) => `Höchstens ${numberText(max)} auf einmal: grenzen Sie die Suche ein`,
  added: (count) => `${members(count)} hinzugefügt`,
  takeOut: (count) => `${numberText(count)} aus der Gruppe entfernen`,
  takenOut: (count) => `${members(count)} entfernt`,
  children: 'Untergeräte',
  childKinds: { childDevices: 'Untergeräte', childAssets: 'Anlagen', childAdditions: 'Zusätze' },
  childTree: 'Baum unter diesem Gerät',
  noChildren: 'Noch keine.',
  childrenText:
    'Ein Gerät hinter diesem sendet seine Daten über dieses. Das Gerät legt eines mit der Zeile 101 auf s/us an.',
  unlink: (count) => `${numberText(count)} ${plural(count, { one: 'Verweis', other: 'Verweise' })} entfernen`,
  unlinked: (count) => `${numberText(count)} ${plural(count, { one: 'Verweis ist', other: 'Verweise sind' })} entfernt`,
};

export default de;
