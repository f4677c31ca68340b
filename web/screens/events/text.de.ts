/** German of text.ts. */
import { numberText, plural } from '../../core/text/language.ts';
import type { EventTexts } from './text.ts';

const de: EventTexts = {
  title: 'Ereignisse',
  one: 'Ereignis',
  timeline: 'Zeitachse',
  text: 'Text',
  type: 'Typ',
  source: 'Gerät',
  sourceId: 'Kennung des Geräts',
  time: 'Zeit',
  file: 'Datei',
  view: 'Ansicht',
  past: 'Vergangene, in Seiten',
  stream: 'Live, wie sie eintreffen',
  pause: 'Anhalten',
  resume: 'Weiter',
  waiting: 'Es wird auf Ereignisse gewartet. Hier erscheinen die, die eintreffen, während diese Ansicht offen ist.',
  kept: (count) => `${numberText(count)} behalten, höchstens 1.000`,
  pausedNew: (count) =>
    `${numberText(count)} ${plural(count, { one: 'Ereignis', other: 'Ereignisse' })} seit dem Anhalten`,
  empty: 'Ereignisse, die Geräte senden, erscheinen hier von selbst.',
  gone: 'Dieses Ereignis gibt es nicht',
  json: 'Als JSON',
  older: 'Ältere',
  latest: 'Neueste',
  jump: 'Zu einer Zeit springen',
  kinds: { alarm: 'Alarme', event: 'Ereignisse', operation: 'Operationen', audit: 'Protokoll' },
  kind: { alarm: 'Alarm', event: 'Ereignis', operation: 'Operation', audit: 'Protokoll' },
  kindsLabel: 'Arten',
  kindColumn: 'Art',
  what: 'Was',
  state: 'Zustand',
  user: 'Benutzer',
  nothingBefore: 'Vor dieser Zeit ist nichts geschehen',
  newEntries: (count) => `${numberText(count)} neue zeigen`,
};

export default de;
