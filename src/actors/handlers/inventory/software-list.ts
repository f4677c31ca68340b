/**
 * The list of software of a device with kinds of software (docs/spec/software.md#lists): a child addition, which the
 * device's actor finds or makes, and whose own actor changes it.
 */
import { COMMAND } from '../../../model/commands/kinds.ts';
import type { SoftwareChange, SoftwareListEnsure } from '../../../model/commands/entities.ts';
import { joinMembers, splitMembers, stringMember } from '../../../model/documents/json-document.ts';
import {
  INSTALLED_SOFTWARE,
  requireSoftwareRoom,
  SOFTWARE_LIST,
  softwareEntries,
  softwareListText,
  withoutSoftware,
  withSoftware,
} from '../../../model/entities/software.ts';
import type { ActorContext } from '../../runtime/context.ts';
import { loadManagedObject, requireSource, updateManagedObject } from './managed-object.ts';

/** At the device. The object exists when this is answered. */
export function ensureSoftwareList(context: ActorContext, body: SoftwareListEnsure): { id: string } {
  const device = requireSource(context, 'inventory');
  const known = context.get('softwareList', device);
  const id = known ?? body.id;
  if (known === undefined) context.put('softwareList', device, id);
  // One that is still on its way is made once.
  else if (context.get('managedObject', id) !== undefined) return { id };
  const owner = stringMember(splitMembers(context.get('managedObject', device) ?? '{}'), 'owner') ?? '';
  context.send({
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    key: Number(id),
    body: {
      id,
      owner,
      doc: joinMembers([
        ['type', JSON.stringify(INSTALLED_SOFTWARE)],
        [SOFTWARE_LIST, '[]'],
      ]),
      parent: { id: device, kind: 'childAdditions', isRequired: true },
    },
  });
  return { id };
}

/** At the object that has the list. @throws PlatformError `software/packages`, `software/list-bytes`. */
export function changeSoftware(context: ActorContext, { steps }: SoftwareChange): { doc: string } {
  let list = softwareEntries(loadManagedObject(context, String(context.command.key)).get(SOFTWARE_LIST));
  for (const { how, packages } of steps) {
    const given = softwareEntries(packages);
    list = how === 'set' ? given : how === 'add' ? withSoftware(list, given) : withoutSoftware(list, given);
  }
  const text = softwareListText(list);
  requireSoftwareRoom(list, text);
  return updateManagedObject(context, { doc: joinMembers([[SOFTWARE_LIST, text]]), mayChangeOwner: false });
}
