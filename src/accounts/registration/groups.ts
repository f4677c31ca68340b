/**
 * Groups that files with devices name by their path (docs/spec/device-registration.md#files): found, or made once,
 * however many files want them on however many nodes.
 */
import { createHash } from 'node:crypto';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { ActorKey } from '../../model/commands/command.ts';
import type { CommandKind } from '../../model/commands/kinds.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { ManagedObjectCreate } from '../../model/commands/entities.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { groupNamed } from '../../history/devices.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { changeRecords, retried, tryChange } from '../../records/records.ts';

/** Records `g\n<parent>\n<hash of the name>` with the id of a group that is being made. */
const CLAIMS = 'bulkRegistration';

export interface DeviceGroupParts {
  readonly commands: CommandPort;
  readonly documents: DocumentReader;
  readonly history: HistoryReader;
  readonly ids: IdSource;
  readonly refusals: Refusals;
  now(): number;
}

/** A group by its place. `parent` undefined: one without any. */
interface GroupPlace {
  readonly tenant: number;
  readonly parent: string | undefined;
  readonly name: string;
}
interface Claim {
  readonly key: string;
  readonly value: string;
}

export class DeviceGroups {
  readonly #parts: DeviceGroupParts;
  /** By tenant and path, of one file. */
  readonly #known = new Map<string, Promise<string>>();

  constructor(parts: DeviceGroupParts) {
    this.#parts = parts;
  }

  /** @returns the last group of a path, undefined for none; what is missing of it is made. */
  async last(path: readonly string[], tenant: number, owner: string): Promise<string | undefined> {
    let group: string | undefined;
    for (let length = 1; length <= path.length; length += 1) {
      const key = JSON.stringify([tenant, ...path.slice(0, length)]);
      let known = this.#known.get(key);
      if (known === undefined) {
        known = this.#findOrMake({ tenant, parent: group, name: path[length - 1] }, owner);
        this.#known.set(key, known);
        // A later line tries again.
        known.catch(() => {
          this.#known.delete(key);
        });
      }
      group = await known;
    }
    return group;
  }

  /**
   * The tenant's actor decides whose id the group gets. Who holds a claim, his own or one that he found, looks once
   * more: before it, another process may have made the group and ended its claim. All who hold one create the same
   * object, which is made once; so the claim of a process that was killed is used.
   */
  async #findOrMake(place: GroupPlace, owner: string): Promise<string> {
    const found = await this.#find(place);
    if (found !== undefined) return found;
    const claim = await this.#claim(place);
    const id = (await this.#find(place)) ?? (await this.#make(claim.value, place, owner));
    await this.#endClaim(place.tenant, claim);
    return id;
  }

  #find(place: GroupPlace): Promise<string | undefined> {
    return groupNamed(this.#parts.history, place);
  }

  #claim({ tenant, parent, name }: GroupPlace): Promise<Claim> {
    // A name may be longer than a key.
    const key = `g\n${parent ?? ''}\n${createHash('sha256').update(name).digest('hex')}`;
    return retried(this.#parts, async () => {
      const standing = await this.#parts.documents.get(CLAIMS, tenant, key);
      if (standing !== undefined) return { key, value: standing };
      const value = String(this.#parts.ids.next());
      await changeRecords(this.#parts, tenant, [{ collection: CLAIMS, id: key, expected: undefined, value }]);
      return { key, value };
    });
  }

  async #make(id: string, { tenant, parent, name }: GroupPlace, owner: string): Promise<string> {
    const body: ManagedObjectCreate = {
      id,
      owner,
      doc: JSON.stringify({
        name,
        type: parent === undefined ? 'c8y_DeviceGroup' : 'c8y_DeviceSubGroup',
        c8y_IsDeviceGroup: {},
      }),
      ...(parent === undefined ? {} : { parent: { id: parent, kind: 'childAssets' as const } }),
    };
    await this.#command(COMMAND.MANAGED_OBJECT_CREATE, tenant, Number(id), body);
    return id;
  }

  async #endClaim(tenant: number, { key, value }: Claim): Promise<void> {
    // False: another import with the same claim was faster.
    await tryChange(this.#parts, tenant, [{ collection: CLAIMS, id: key, expected: value, value: undefined }]);
  }

  async #command(kind: CommandKind, tenant: number, key: ActorKey, body: object): Promise<void> {
    await this.#parts.commands.request({
      kind,
      tenant,
      key,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: this.#parts.now(),
      body,
    });
  }
}
