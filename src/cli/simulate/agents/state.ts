/** What a simulated agent is and has installed; operations change it, and rows report it (docs/spec/smartrest.md). */
import {
  softwareEntries,
  softwareText,
  updatedSoftware,
  type SoftwareEntry,
} from '../../../model/entities/software.ts';
import { encodeRow } from '../../../smartrest/rows/csv-encode.ts';

/** How an agent takes changes of its software: with kinds (529), as actions (528), as whole lists (516). */
export type SoftwareForm = 'kinds' | 'actions' | 'list';
const FORMS: readonly SoftwareForm[] = ['kinds', 'actions', 'list'];

/** Fragments of the operations that agents carry out. */
const OPERATIONS = [
  'c8y_Restart',
  'c8y_Command',
  'c8y_Configuration',
  'c8y_SendConfiguration',
  'c8y_Firmware',
  'c8y_MeasurementRequestOperation',
  'c8y_Relay',
  'c8y_RelayArray',
  'c8y_UploadConfigFile',
  'c8y_DownloadConfigFile',
  'c8y_LogfileRequest',
  'c8y_CommunicationMode',
  'c8y_DeviceProfile',
  'c8y_Network',
];

export interface Firmware {
  readonly name: string;
  readonly version: string;
  readonly url: string;
}

const packageOf = (name: string, version: string, softwareType: string): SoftwareEntry =>
  softwareEntries(JSON.stringify([{ name, version, softwareType, url: '' }]))[0];

export class AgentState {
  readonly serial: string;
  readonly form: SoftwareForm;
  firmware: Firmware = { name: 'sim-os', version: '1.0.0', url: '' };
  configuration = 'interval=60\nlog=info';
  software: readonly SoftwareEntry[] = [packageOf('sim-agent', '1.0', 'apt'), packageOf('nginx', '1.26', 'apt')];
  /** Contents of typed configurations. */
  readonly files = new Map([['sim.conf', 'threshold=80\n']]);
  startedAt: number;
  readonly #index: number;

  /** @param now ms since 1970. */
  constructor(index: number, seed: number, now: number) {
    this.serial = `sim-agent-${seed}-${index}`;
    this.form = FORMS[index % FORMS.length];
    this.startedAt = now;
    this.#index = index;
  }

  /** The rows that make the agent known, and what it can do. */
  hello(): string {
    const softwareOperation = this.form === 'list' ? 'c8y_SoftwareList' : 'c8y_SoftwareUpdate';
    return [
      encodeRow(['100', `Agent ${this.#index}`, 'sim_Agent']),
      encodeRow(['114', ...OPERATIONS, softwareOperation]),
      encodeRow(['110', this.serial, 'sim-box', 'A']),
      encodeRow(['113', this.configuration]),
      this.firmwareRow(),
      '117,10',
      '118,sim',
      encodeRow(['119', ...this.files.keys()]),
      '122,millrace-simulate,1,,millrace',
      ...(this.form === 'kinds' ? ['143,apt,snap'] : []),
      this.softwareRow(),
    ].join('\n');
  }

  firmwareRow(): string {
    const { name, version, url } = this.firmware;
    return encodeRow(['115', name, version, url]);
  }

  /** 140 with kinds, else 116. */
  softwareRow(): string {
    const [id, ...members] =
      this.form === 'kinds' ? ['140', 'name', 'version', 'softwareType', 'url'] : ['116', 'name', 'version', 'url'];
    return encodeRow([id, ...this.software.flatMap((entry) => members.map((name) => softwareText(entry, name)))]);
  }

  /** @param members names of the values of one package. @throws Error for an action that is neither known. */
  updateSoftware(values: readonly string[], members: readonly string[]): void {
    const actions = packagesOf(values, members);
    for (const entry of actions) {
      const action = softwareText(entry, 'action');
      if (action !== 'install' && action !== 'delete')
        throw new Error(`${softwareText(entry, 'name')} has the action ${action}; known are install and delete`);
    }
    const installed = updatedSoftware(this.software, actions);
    for (const entry of installed) entry.delete('action');
    this.software = installed;
  }

  /** These packages and no others. */
  setSoftware(values: readonly string[], members: readonly string[]): void {
    this.software = packagesOf(values, members);
  }
}

/** The values of a row as packages, each with as many of them as it has members. */
function packagesOf(values: readonly string[], members: readonly string[]): SoftwareEntry[] {
  const packages: SoftwareEntry[] = [];
  for (let index = 0; index < values.length; index += members.length)
    packages.push(new Map(members.map((name, place) => [name, JSON.stringify(values[index + place] ?? '')])));
  return packages;
}
