/** Entities as REST answers them, for others than REST: with links and what is read beside the stored document. */
export interface EntityViews {
  /** @param id '' when nothing was stored: then there are no links. @param text without `id` and `self`. */
  measurement(id: string, text: string): string;
  /** @param doc as stored. @throws PlatformError `general/page-too-large`. */
  managedObject(tenant: number, id: string, doc: string): Promise<string>;
  /** One that was just made by its external ID, once it is there. @throws PlatformError. */
  newManagedObject(tenant: number, id: string): Promise<string>;
  /** The same of events and alarms. */
  event(tenant: number, id: string, doc: string): Promise<string>;
  alarm(tenant: number, id: string, doc: string): Promise<string>;
  /** @param doc as stored. @throws PlatformError `general/page-too-large`. */
  operation(tenant: number, id: string, doc: string): Promise<string>;
  /** What the processing mode did not store: its id is null, and it has no links. */
  unstored(doc: string): string;
}
