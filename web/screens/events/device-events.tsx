/** The events of one device. */
import type { ScreenProps } from '../../core/route.ts';
import { DevicePage } from '../../parts/device/page.tsx';
import { EventList } from './event-list.tsx';

export default function DeviceEvents({ params }: ScreenProps) {
  return <DevicePage id={params['id']}>{({ device }) => <EventList source={device.id} />}</DevicePage>;
}
