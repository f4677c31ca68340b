/** The events of one device. */
import type { ScreenProps } from '../../core/route.ts';
import { DevicePage } from '../../parts/device/page.tsx';
import { EventList, useEventCopy } from './event-list.tsx';

export default function DeviceEvents({ params }: ScreenProps) {
  const { id } = params;
  return (
    <DevicePage id={id} {...useEventCopy(id)}>
      {({ device }) => <EventList source={device.id} />}
    </DevicePage>
  );
}
