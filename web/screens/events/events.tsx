/** The events of all devices. */
import { Page } from '../../parts/page.tsx';
import { EventList } from './event-list.tsx';
import { words as eventWords } from './text.ts';

export default function Events() {
  return (
    <Page title={eventWords().title}>
      <EventList />
    </Page>
  );
}
