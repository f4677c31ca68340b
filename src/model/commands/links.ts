/** Bodies of commands that link managed objects. */

export type ChildKind = 'childDevices' | 'childAssets' | 'childAdditions';
export interface ChildLink {
  readonly kind: ChildKind;
  readonly child: string;
  readonly parent: string;
}
/**
 * Several links of one parent, decided together. The sender has looked at each child. `maker` is what the links are
 * stored with that are made by it; a removal with it leaves what has another one: links that were there before, and
 * those that another request has asked for since.
 */
export interface ChildLinks {
  readonly kind: ChildKind;
  readonly children: readonly string[];
  readonly parent: string;
  readonly maker?: string;
}
/** `isNew`: the child was made for this link, and goes again when the link is refused. */
export interface ChildAdd extends ChildLink {
  readonly isNew?: boolean;
}
/** `isWritten`: the child has noted its parent, and looks again whether there is a cycle now that others can see it. */
export interface ParentAdd extends ChildLink {
  readonly isWritten?: boolean;
}
