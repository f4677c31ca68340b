/** German of text.ts. */
import { numberText, plural } from '../../core/text/language.ts';
import type { AlarmTexts } from './text.ts';

const alarms = (count: number): string => `${numberText(count)} ${plural(count, { one: 'Alarm', other: 'Alarme' })}`;

const de: AlarmTexts = {
  title: 'Alarme',
  one: 'Alarm',
  severity: 'Schweregrad',
  text: 'Text',
  status: 'Status',
  source: 'Gerät',
  sourceId: 'Kennung des Geräts',
  type: 'Typ',
  time: 'Zeit',
  first: 'Zuerst',
  count: 'Anzahl',
  open: 'Offen (aktiv und bestätigt)',
  anyStatus: 'Alle',
  statuses: { ACTIVE: 'Aktiv', ACKNOWLEDGED: 'Bestätigt', CLEARED: 'Behoben' },
  verbs: { ACTIVE: 'Wieder aktiv setzen', ACKNOWLEDGED: 'Bestätigen', CLEARED: 'Beheben' },
  changeMany: (count, status) =>
    `${alarms(count)} ${{ ACTIVE: 'wieder aktiv setzen', ACKNOWLEDGED: 'bestätigen', CLEARED: 'beheben' }[status]}`,
  changed: (count, status) =>
    `${alarms(count)} ${plural(count, { one: 'ist', other: 'sind' })} ${{ ACTIVE: 'wieder aktiv', ACKNOWLEDGED: 'bestätigt', CLEARED: 'behoben' }[status]}`,
  changedMeanwhile: 'Er wurde inzwischen geändert und bleibt, wie er ist.',
  notChanged: (count) =>
    `${alarms(count)} nach einer Minute nicht geändert: Der Server arbeitet weiter, oder Sie dürfen sie nicht ändern.`,
  allSelected: (count) => `Alle ${numberText(count)} passenden sind ausgewählt`,
  confirmText: (count) =>
    `Das ändert ${alarms(count)}, auf die die Filter passen, auch die anderer Seiten. Es lässt sich rückgängig machen.`,
  empty: 'Kein Alarm ist offen. Alarme, die Geräte senden, erscheinen hier von selbst.',
  hint: 'Alle Schweregrade zeigen oder nur einen',
  history: 'Verlauf',
  noHistory: 'Niemand hat ihn geändert, seit er gemeldet wurde.',
  user: 'Benutzer',
  activity: 'Was',
  json: 'Als JSON',
  gone: 'Diesen Alarm gibt es nicht',
};

export default de;
