/** The events of all devices. */
import { Page } from '../../parts/page.tsx';
import { EventList, useEventCopy } from './event-list.tsx';
import { words as eventWords } from './text.ts';

export default function Events() {
  return (
    <Page title={eventWords().title} {...useEventCopy()}>
      <EventList />
    </Page>
  );
}
