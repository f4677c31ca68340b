/** The alarms of all devices. */
import { Page } from '../../parts/page.tsx';
import { AlarmList, useAlarmCopy } from './alarm-list.tsx';
import { words as alarmWords } from './text.ts';

export default function Alarms() {
  return (
    <Page title={alarmWords().title} {...useAlarmCopy()}>
      <AlarmList />
    </Page>
  );
}
