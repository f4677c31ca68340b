/** German of text.ts. */
import type { AddTexts } from './text.ts';

const de: AddTexts = {
  title: 'Gerät hinzufügen',
  intro:
    'Gibt dem Gerät einen Benutzer und ein Passwort. Der Befehl unten enthält beides; führen Sie ihn aus und sehen Sie die erste Nachricht ankommen.',
  name: 'Name',
  serial: 'Seriennummer',
  serialHint: 'Wie sich das Gerät nennt: seine MQTT-Client-ID',
  known: 'Ein Gerät mit dieser Seriennummer gibt es schon',
  make: 'Gerät anlegen',
  defaultName: 'Probesensor',
  snippets: 'Programm oder Werkzeug',
  kinds: { mosquitto: 'mosquitto_pub', curl: 'curl', python: 'Python', node: 'Node', c: 'C', 'thin-edge': 'thin-edge' },
  needsTls:
    'thin-edge verbindet sich nur über TLS, und dieser Server hat keinen Port dafür. Rufen Sie `millrace tls self-signed` auf, oder geben Sie --tls-key und --tls-certificate an.',
  command: 'Befehl',
  install: 'Braucht',
  password: 'Passwort',
  passwordHint: 'Es ist sonst nirgends gespeichert. Kopieren Sie es jetzt.',
  waiting: (id) => `Wartet auf die erste Nachricht von ${id} …`,
  arrived: 'Es geht: der Server hat vom Gerät gehört',
  messages: 'Nachrichten',
  simulate: 'Kein Gerät zur Hand: von dieser Seite senden',
  simulated: 'Von dieser Seite über MQTT gesendet',
  open: 'Gerät öffnen',
  removeAgain: 'Wieder entfernen',
  removed: 'Das Gerät ist entfernt',
  checklistTitle: 'Noch nichts?',
  checklist: (host, port) => [
    `Das Gerät erreicht ${host}, Port ${port}: eine Firewall oder ein Container kann den Port verbergen.`,
    'Das Passwort ist vollständig; in einer Shell steht es in einfachen Anführungszeichen.',
    'Ein Client mit TLS braucht den TLS-Port des Servers.',
  ],
  another: 'Noch eines hinzufügen',
};

export default de;
