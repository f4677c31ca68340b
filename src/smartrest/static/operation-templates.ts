/** Static templates 5xx: what a device says about its operations (docs/spec/smartrest.md#operation-templates). */
import type { OperationStatus } from '../../model/entities/operation.ts';
import type { Effect, OperationChange } from '../effects/effects.ts';
import { objectText, parameter, textOrAbsent, type StaticTemplate } from './parameters.ts';

type Selection = Pick<OperationChange, 'id' | 'fragment' | 'fromStatus' | 'all'>;

function move(selection: Selection, status: OperationStatus, failureReason = ''): Effect[] {
  const doc = objectText([
    ['status', JSON.stringify(status)],
    ['failureReason', textOrAbsent(failureReason)],
  ]);
  return [{ kind: 'operation', ...selection, doc }];
}

/** The parameters may be none: some operations have an effect all the same (docs/spec/smartrest.md#results). */
function succeed(selection: Selection, groups: readonly (readonly string[])[]): Effect[] {
  const parameters = groups.map(([text]) => text);
  return [{ kind: 'operation', ...selection, doc: '{"status":"SUCCESSFUL"}', parameters }];
}

const RESULTS = [parameter('parameter')];

export const OPERATION_TEMPLATES: readonly StaticTemplate[] = [
  {
    id: '500',
    effect: 'asks for the pending operations',
    parameters: [],
    interpret: () => [{ kind: 'reply', what: 'pendingOperations' }],
  },
  {
    id: '501',
    effect: 'oldest PENDING operation with the fragment becomes EXECUTING',
    parameters: [parameter('fragment*')],
    interpret: ({ single: [fragment] }) => move({ fragment, fromStatus: 'PENDING' }, 'EXECUTING'),
  },
  {
    id: '502',
    effect: 'oldest EXECUTING operation with the fragment becomes FAILED',
    parameters: [parameter('fragment*'), parameter('failureReason')],
    interpret: ({ single: [fragment, reason] }) => move({ fragment, fromStatus: 'EXECUTING' }, 'FAILED', reason),
  },
  {
    id: '503',
    effect: 'oldest EXECUTING operation with the fragment becomes SUCCESSFUL',
    parameters: [parameter('fragment*')],
    repeated: RESULTS,
    keepsPlaces: true,
    interpret: ({ single: [fragment], groups }) => succeed({ fragment, fromStatus: 'EXECUTING' }, groups),
  },
  {
    id: '504',
    effect: 'the operation becomes EXECUTING',
    parameters: [parameter('operationId*', 'id')],
    interpret: ({ single: [id] }) => move({ id }, 'EXECUTING'),
  },
  {
    id: '505',
    effect: 'the operation becomes FAILED',
    parameters: [parameter('operationId*', 'id'), parameter('failureReason')],
    interpret: ({ single: [id, reason] }) => move({ id }, 'FAILED', reason),
  },
  {
    id: '506',
    effect: 'the operation becomes SUCCESSFUL',
    parameters: [parameter('operationId*', 'id')],
    repeated: RESULTS,
    keepsPlaces: true,
    interpret: ({ single: [id], groups }) => succeed({ id }, groups),
  },
  {
    id: '507',
    effect: 'all EXECUTING operations (with the fragment, if sent) become FAILED',
    parameters: [parameter('fragment'), parameter('failureReason')],
    interpret: ({ single: [fragment, reason] }) =>
      move({ ...(fragment === '' ? {} : { fragment }), fromStatus: 'EXECUTING', all: true }, 'FAILED', reason),
  },
];
