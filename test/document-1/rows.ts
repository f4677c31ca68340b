/**
 * How the rows of document 1 (1-core-rest.md) are written down here: a file for each of its parts, in its order and
 * under its headings, so that the two can be laid side by side. The runners `*.test.ts` of this folder exercise each
 * row on a running server.
 */
import type { Test } from 'tap';
import type { Reply, Rest } from '../helpers/running/server.ts';
import type { World } from './world.ts';

/** A rule in words of its own, or one that another test holds. */
export interface RuleRow {
  /** Short name of the row: number or first cell of the document, and what it is about. */
  readonly row: string;
  readonly check?: (t: Test, world: World) => Promise<unknown>;
  /** The file below `test/` and the whole title of its test; the runner looks whether the file runs it. */
  readonly heldBy?: readonly (readonly [file: string, title: string])[];
}

export interface RuleTable {
  readonly heading: string;
  readonly rows: readonly RuleRow[];
}

/** What a POST or a PUT makes of a field. */
export type Use = 'mandatory' | 'optional' | 'no';
export type FieldType = 'string' | 'boolean' | 'integer' | 'number' | 'object' | 'array' | 'timestamp';

export interface FieldRow {
  readonly field: string;
  /** Another name, or an example, in the line of the row before. */
  readonly isSameLine?: boolean;
  readonly type: FieldType;
  /** Columns POST and PUT; where the document has none, what its notes say. */
  readonly post: Use;
  readonly put: Use;
  /** The section of document 4 that takes in a PUT what document 1 does not. */
  readonly putBy?: string;
  /** Column Visibility of tenants. */
  readonly visibility?: 'public' | 'private';
  /** A value for POST and another for PUT. A function makes values that have to be new. */
  readonly values?:
    | readonly [post: unknown, put: unknown]
    | ((world: World) => readonly [unknown, unknown] | Promise<readonly [unknown, unknown]>);
  /** The only values there are. */
  readonly oneOf?: readonly string[];
  /** Refused on POST, beside what is of another JSON type. */
  readonly refused?: readonly unknown[];
  readonly lengthMax?: number;
  /** A text of a length, where the field does not take any letters. */
  readonly ofLength?: (length: number) => string;
  /** Taken and never shown. */
  readonly isWriteOnly?: boolean;
  /** Nobody else may have the same value. */
  readonly isUnique?: boolean;
  /** What a POST has to hold beside it. */
  readonly along?: object;
  /** In a new entity that does not say it: the value, or its form. */
  readonly initially?: unknown;
  /** The PUT that sets it, where others do not. */
  readonly putWith?: object;
  /** Shown only in some states: not looked for in a new entity. */
  readonly isSometimes?: boolean;
  /** Any JSON is taken: fragments. */
  readonly isAny?: boolean;
  /** What becomes of the row is more than a value: the test that holds the rest. */
  readonly heldBy?: RuleRow['heldBy'];
}

export interface Resource {
  readonly heading: string;
  readonly path: string;
  /** A valid body with nothing optional in it. */
  readonly body: (world: World) => object | Promise<object>;
  /** Where one is read and changed. */
  readonly one: (entity: any) => string;
  /** What every PUT has to hold. */
  readonly always?: object;
  readonly hasPut?: boolean;
  readonly by?: (world: World) => Rest;
  /** Where POST answers something else. */
  readonly status?: number;
  /** Members that a PUT may change beside what it holds. */
  readonly moves?: readonly string[];
  readonly rows: readonly FieldRow[];
}

export interface Call {
  readonly path?: string;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A call that was answered as its row says. */
export interface Answered {
  readonly world: World;
  readonly rest: Rest;
  readonly sent: Call;
  readonly reply: Reply;
}

export interface EndpointRow {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** As the document has it. */
  readonly path: string;
  /** Makes what the call needs, anew each time: the path with ids in it, the body. */
  readonly call?: (world: World) => Call | Promise<Call>;
  readonly status: number;
  readonly hasLocation?: boolean;
  /** Vendor name of the answer. */
  readonly answer?: string;
  /** Members of the answer. */
  readonly has?: readonly string[];
  /** Column Role; without it the document names none. */
  readonly roles?: readonly string[];
  /** What the server takes beside them, for the callers of the public API that count on it. */
  readonly furtherRoles?: readonly string[];
  /** Every user may, whatever the column says; why is beside the row. */
  readonly isForEverybody?: boolean;
  /** The owner of the source object may, too. */
  readonly orOwner?: boolean;
  /** What has happened when the answer is there. */
  readonly check?: (t: Test, answered: Answered) => Promise<unknown>;
  /** Who calls where it is not the administrator of the first tenant. */
  readonly by?: 'management' | 'bootstrap' | 'serviceBootstrap';
}

export interface EndpointTable {
  readonly heading: string;
  readonly rows: readonly EndpointRow[];
}
