/** Texts of subscriptions of Notifications 2.0. */
import { defineTexts } from '../../core/text/language.ts';

const en = {
  title: 'Subscriptions',
  hint: 'What consumers of Notifications 2.0 are told: of one object, or of the whole tenant.',
  add: 'Add a subscription',
  name: 'Name',
  nameHint: 'Letters and digits. Subscriptions of one name share a topic.',
  context: 'Of',
  contexts: { mo: 'One object', tenant: 'The tenant' },
  source: 'Id of the object',
  apis: 'Data',
  apiNames: {
    '*': 'All data',
    alarms: 'Alarms',
    events: 'Events',
    measurements: 'Measurements',
    managedobjects: 'Managed objects',
    operations: 'Operations',
  } as Readonly<Record<string, string>>,
  persistence: 'Kept',
  persistent: 'until it is acknowledged',
  volatile: 'not',
  isVolatile: 'Volatile: what no consumer takes at once is dropped',
  added: (name: string) => `${name} is added`,
  remove: 'Delete',
  removeTitle: (name: string) => `Delete ${name}?`,
  removeText: 'Consumers get nothing more of it. What waits for them stays until they have taken it.',
  removed: (name: string) => `${name} is deleted`,
  token: 'Make a token',
  tokenText: 'The token opens the stream for one subscriber, for 24 hours. It is shown once.',
  subscriber: 'Subscriber',
  command: 'Command to read the stream',
  state: 'State',
};

export type SubscriptionTexts = typeof en;
export const words = defineTexts(en, { de: () => import('./text.de.ts') });
