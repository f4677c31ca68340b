/** What the pictures show: a small plant, with devices, six hours of values, alarms, events and operations. */

const MINUTE_MS = 60_000;
const HOURS = 6;
const EVERY_MINUTES = 3;
const PLACES = [
  ['Boiler 1', 'boiler', 52.52, 13.4],
  ['Boiler 2', 'boiler', 48.14, 11.58],
  ['Boiler 3', 'boiler', 45.46, 9.19],
  ['Pump station North', 'pump', 59.33, 18.06],
  ['Pump station South', 'pump', 41.9, 12.5],
  ['Gateway hall A', 'gateway', 50.11, 8.68],
  ['Gateway hall B', 'gateway', 48.86, 2.35],
  ['Cold store 4', 'refrigerator', 51.51, -0.13],
  ['Press 11', 'press', 40.42, -3.7],
  ['Wind turbine 5', 'turbine', 55.68, 12.57],
];
const OPERATIONS = ['c8y_Restart', 'c8y_Command', 'c8y_Configuration', 'c8y_SoftwareUpdate', 'c8y_LogfileRequest'];

/** Values of one device: two series that swing, with a peak two hours ago. */
function measurementsOf(id, type, number) {
  const nowMs = Date.now();
  const count = (HOURS * 60) / EVERY_MINUTES;
  return Array.from({ length: count }, (_, index) => {
    const minutesAgo = (count - index) * EVERY_MINUTES;
    const swing = Math.sin((index + number * 7) / 11) * 4 + Math.sin(index / 3.1) * 0.8;
    const peak = Math.max(0, 14 - Math.abs(minutesAgo - 120) / 2) * (number === 0 ? 1 : 0.2);
    return {
      source: { id },
      time: new Date(nowMs - minutesAgo * MINUTE_MS).toISOString(),
      type,
      c8y_Temperature: { T: { value: Number((61 + number * 2 + swing + peak).toFixed(1)), unit: 'C' } },
      c8y_Pressure: { P: { value: Number((3.1 + swing / 12).toFixed(2)), unit: 'bar' } },
    };
  });
}

/** @param api sends JSON: `(method, path, body)`. @returns ids of the devices. */
export async function furnish(api) {
  const ids = [];
  for (const [name, type, lat, lng] of PLACES) {
    const { id } = await api('POST', '/inventory/managedObjects', {
      name,
      type,
      c8y_IsDevice: {},
      com_cumulocity_model_Agent: {},
      c8y_Position: { lat, lng },
      c8y_SupportedOperations: OPERATIONS,
      c8y_RequiredAvailability: { responseInterval: 30 },
      c8y_Hardware: { model: `${type}-2`, serialNumber: `4f2a-${ids.length}`, revision: 'B' },
      c8y_Firmware: { name: 'field-os', version: '4.2.0' },
    });
    ids.push(id);
  }
  for (const [number, id] of ids.slice(0, 3).entries())
    await api('POST', '/measurement/measurements', { measurements: measurementsOf(id, 'water', number) });
  const ago = (minutes) => new Date(Date.now() - minutes * MINUTE_MS).toISOString();
  const alarms = [
    [0, 'CRITICAL', 'c8y_Overpressure', 'Pressure above 4.8 bar', 118],
    [0, 'MAJOR', 'c8y_Overheated', 'Water above 75 C', 121],
    [3, 'MAJOR', 'c8y_FlowLow', 'Flow below 12 l/min', 40],
    [7, 'MINOR', 'c8y_DoorOpen', 'Door open for ten minutes', 22],
    [5, 'WARNING', 'c8y_SignalWeak', 'Signal at -104 dBm', 9],
    [8, 'MINOR', 'c8y_OilLow', 'Oil below a quarter', 65],
  ];
  for (const [at, severity, type, text, minutes] of alarms)
    await api('POST', '/alarm/alarms', { source: { id: ids[at] }, severity, type, text, time: ago(minutes) });
  const events = ['Burner started', 'Valve 3 opened', 'Shift changed', 'Valve 3 closed', 'Filter cleaned'];
  for (const [index, text] of events.entries())
    await api('POST', '/event/events', {
      source: { id: ids[0] },
      type: 'plant_Log',
      text,
      time: ago(150 - index * 28),
    });
  for (const [command, result] of [
    ['uptime', ' 14:03:07 up 41 days,  2:11,  load average: 0.08, 0.11, 0.09'],
    ['df -h /data', 'Filesystem      Size  Used Avail Use% Mounted on\n/dev/mmcblk0p2   29G  6.1G   22G  22% /data'],
  ]) {
    const { id } = await api('POST', '/devicecontrol/operations', { deviceId: ids[0], c8y_Command: { text: command } });
    await api('PUT', `/devicecontrol/operations/${id}`, {
      status: 'SUCCESSFUL',
      c8y_Command: { text: command, result },
    });
  }
  await api('POST', '/devicecontrol/operations', { deviceId: ids[3], c8y_Restart: {} });
  return ids;
}
