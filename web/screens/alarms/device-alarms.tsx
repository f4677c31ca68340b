/** The alarms of one device. */
import type { ScreenProps } from '../../core/route.ts';
import { DevicePage } from '../../parts/device/page.tsx';
import { AlarmList } from './alarm-list.tsx';

export default function DeviceAlarms({ params }: ScreenProps) {
  return <DevicePage id={params['id']}>{({ device }) => <AlarmList source={device.id} />}</DevicePage>;
}
