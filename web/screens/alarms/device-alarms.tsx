/** The alarms of one device. */
import type { ScreenProps } from '../../core/route.ts';
import { DevicePage } from '../../parts/device/page.tsx';
import { AlarmList, useAlarmCopy } from './alarm-list.tsx';

export default function DeviceAlarms({ params }: ScreenProps) {
  const { id } = params;
  return (
    <DevicePage id={id} {...useAlarmCopy(id)}>
      {({ device }) => <AlarmList source={device.id} />}
    </DevicePage>
  );
}
