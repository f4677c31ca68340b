/**
 * The rules behind what the server promises. `npm run mutants` takes each out of its symbol and runs the test that must
 * fail then (bin/mutants.mjs). A rule belongs here when breaking it loses data, doubles it, or shows it to a user
 * without the right. docs/decisions/0004-mutants-of-promises.md says why.
 *
 * A symbol is found in whatever file of src/ it is, a test by the end of its path. Renaming a variable, or moving a
 * file, changes nothing here.
 */
import {
  always,
  dropped,
  gives,
  instead,
  never,
  returns,
  swapped,
  taken,
  unawaited,
  valued,
  without,
} from './operators.ts';
import type { Operator } from './operators.ts';

/** [the rule, the symbol that holds it, what takes it out of the symbol]. */
type Rule = readonly [rule: string, symbol: string, change: Operator];
/** By the test that must fail then, a file of test/ without `.test.ts`. */
type ByTest = Readonly<Record<string, readonly Rule[]>>;

const STORED: ByTest = {
  'group-commit': [
    ['a sender is acknowledged when its group is durable, not before', 'GroupCommit.#commit', unawaited('append')],
    [
      'the actors have a group before its senders are told',
      'GroupCommit.#durable',
      swapped('onDurable', '#acknowledgeBehind'),
    ],
    [
      'what has no record is acknowledged behind what is still to be written',
      'GroupCommit.acknowledgeInOrder',
      never('recordCount'),
    ],
    ['senders of a group that could not be written are told', 'GroupCommit.#failed', instead('failed', 'durable')],
    ['what was told to have failed is not written later', 'GroupCommit.#failed', without('emptyGroup')],
    ['numbers of a lost group are given again', 'GroupCommit.#failed', valued('0', '#nextSeq')],
    ['drained means that everything is durable and handled', 'GroupCommit.drained', always('recordCount')],
    ['a lost command is not answered with the outcome of another', 'CommandBus.#append.failed', without('cancelReply')],
  ],
  'lmdb/journal': [
    ['a batch that is acknowledged is on disk', 'LmdbJournal.append', unawaited('put')],
    [
      'a group is synchronised to the disk before it is acknowledged',
      'openLmdb',
      instead('eventTurnBatching', 'noSync'),
    ],
    ['a batch that does not follow is refused', 'LmdbJournal.append', never('lastSeq')],
    ['numbering goes on where it was after a restart', 'LmdbJournal.constructor', gives('countRecords', '1')],
    ['trimming keeps what is behind the sequence', 'LmdbJournal.trim', taken(1, 'Infinity')],
  ],
  'actors/recovery': [
    ['an answer comes when the state is committed', 'ActorSystem.#commit', unawaited('commit')],
    ['a command sees what those before it decided', 'ActorSystem.#handle', without('apply')],
    ['the position is in the commit of the state', 'LmdbDocuments.commit', never('POSITION_KEY')],
    ['an actor handles its commands one after the other', 'ActorSystem.#deliver', gives('get', 'undefined')],
    ['rows of actors that are not on disk yet are found', 'ProjectorMemory.outbox', gives('uncommittedRows', '[]')],
    ['what a crash left between two actors is sent again', 'ActorSystem.resumeFollowUps', without('resume')],
    ['follow-ups of a replay are appended behind it', 'ActorSystem.#committed', always('isReplay')],
  ],
  'faults/replay': [
    ['what the journal has beyond the documents is handled at the start', 'SingleNode.#replay', never('lastSeq', 1)],
  ],
  'async-documents': [
    ['a group is committed when all of it is decided', 'ActorSystem.#commitFinished', dropped('outstanding')],
    ['what is committed while it is read is read again', 'StateView.#load', never('isStale')],
  ],
  'actors/inventory': [
    ['what one actor sends another is written down with its cause', 'ActorSystem.#handle', gives('map', '[]')],
    ['an answer waits for what its command sent to other actors', 'FollowUps.whenDone', gives('get', 'undefined')],
  ],
  'cluster/once': [
    ['a command that fails does not hold up what is behind it', 'ActorSystem.#handle', always('NotLoaded')],
  ],
  'ingest/projector': [
    ['rows of actors are in the commit that decides them', 'ActorSystem.#commitFinished', never('outboxEntries')],
    ['the position moves behind the insert', 'Projector.#insertBlock', swapped('block', '#move')],
    ['an insert that failed is tried again', 'HistoryInsert.attempt', always('isCertain')],
    ['what did not fit into memory is read from the journal', 'Projector.offer', never('isHeld')],
    ['a query waits for what was acknowledged before it', 'Projector.visible', always('#isPending')],
    ['what is set aside is on disk before anything moves on', 'HistoryInsert.#setAside', unawaited('untilDone')],
    ['what the store refuses is set aside alone', 'HistoryInsert.rows', always('length', 1)],
  ],
  'mqtt/qos': [
    ['a message that the platform cannot take is offered again', 'receivePublish', without('block', 2)],
    ['PUBCOMP is sent when the release is durable', 'Session.release', always('isDurable')],
    ['a release that the store refuses is tried again', 'StoreChanges.carryOut', without('add')],
  ],
  'device-application': [
    [
      'a measurement is acknowledged when its group is durable',
      'PlatformDeviceLink.publish',
      instead('PENDING', 'DONE'),
    ],
    [
      'a message is acknowledged when its group is durable',
      'PlatformDeviceLink.#publishAny',
      instead('PENDING', 'DONE'),
    ],
    ['a message is acknowledged when its actors have answered', 'Acknowledgements.durable', dropped('#unanswered')],
    ['a message whose group fails ends its connection', 'PlatformDeviceLink.failed', without('disconnect')],
  ],
  'mqtt/session': [
    ['a message to the device is stored before it is sent', 'Session.deliver', valued('true', 'isReady')],
    ['queued messages survive a restart', 'Session.restore', without('#push')],
    ['subscriptions survive a restart', 'Session.restore', never('subscriptions')],
    ['a session that is over or discarded leaves the store', 'SessionRegistry.#load', without('remove')],
  ],
  'sessions/documents': [['a queued message is a document of the journal', 'addSessionMessage', without('put')]],
};

const ONCE: ByTest = {
  'actors/recovery': [
    ['what is in the journal twice is handled once', 'ActorSystem.#handledBefore', returns('undefined')],
    [
      'what one actor sent another is done with the commit that handles it',
      'ActorSystem.#handle',
      never('#handledChange'),
    ],
  ],
  'ingest/projector': [
    ['what a block is, is written down before its insert', 'ProjectorMemory.saveIntent', valued('undefined', 'intent')],
    ['the token of an insert is of its block', 'intentBlock', valued("'x'", 'token')],
    ['a block that was begun is built again after a crash', 'Projector.attach', never('isRepeating')],
    ['what is behind a begun block waits for it', 'Track.isHeld', dropped('isRepeating')],
    ['rows that the store lost with their token come again', 'HistoryInsert.#restore', returns('undefined')],
    [
      'rows of actors leave the outbox when they are in the history',
      'ProjectorMemory.savePosition',
      gives('map', '[]'),
    ],
    ['a DELETE ends its block', 'Block.consume', never('isDeletion')],
    ['what is not to be stored leaves no row', 'Block.#addRecord', dropped('isStored')],
  ],
  'history-insert': [
    ['an insert that was tried twice is looked for', 'HistoryInsert.measurements', always('withoutStored')],
  ],
  'cluster/once': [
    ['a shard that is loaded anew tells nothing again', 'ActorSystem.handleGroup', always('toldSeq')],
    [
      'documents that come back older: what is in the history is not inserted again',
      'ShardOwner.#uncertainThrough',
      returns('0'),
    ],
  ],
  'redis/documents': [
    ['a former owner of a shard writes nothing', 'RedisDocuments.#judge', always('OK')],
    ['a later owner is not replaced by an earlier one', 'RedisDocuments.takeOver', never('Fenced')],
  ],
  'large-groups': [
    ['what is handled of a group is not handled again with the rest', 'ShardOwner.#takeParts', always('givenSeq')],
  ],
  'nats/journal': [['a group whose acknowledgement was lost is stored once', 'NatsJournal.append', without('set', 1)]],
  'id-blocks': [
    ['an id is given when its block is reserved on disk', 'IdBlocks.#reserve', unawaited('commit')],
    ['ids go on behind the reserved block after a restart', 'IdBlocks.open', gives('get', 'undefined')],
  ],
  'mqtt/qos': [
    ['a second PUBLISH with the packet identifier goes no further', 'offerQos2', gives('get', 'undefined')],
    ['a second PUBLISH of what is durable is answered with PUBREC', 'offerQos2', without('addAcknowledgement', 1)],
    ['a second PUBLISH of what is not durable is answered when it is', 'offerQos2', without('set', 1)],
    ['a packet identifier is free when its release is durable', 'offerQos2', never('isReleasing')],
    ['packet identifiers survive a restart', 'Session.restore', without('restoreReceived')],
    ['PUBREL after PUBCOMP was lost is answered again', 'receivePubrel', without('addAcknowledgement', 1)],
    ['a QoS 1 message with the packet identifier of a QoS 2 one releases it', 'reuse', without('release')],
    ['a message that could not be made durable is new when it comes again', 'Connection.rejected', without('rejected')],
    [
      'a client that waits over a new connection hears that its message was not stored',
      'Session.rejected',
      without('disconnect'),
    ],
  ],
  'device-application': [
    ['the packet identifier is committed with its message', 'PlatformDeviceLink.#publishAny', never('isPersistent')],
  ],
  'actors/entities': [
    ['the packet identifier is in the document of the session', 'receivePacket', without('save')],
    ['PUBREL removes the packet identifier from the document', 'releasePacket', without('save')],
  ],
  'mqtt/session': [
    ['PUBREC of the device is durable before PUBREL is sent', 'Session.receivedByClient', always('isReleased')],
    ['after PUBREC of the device PUBLISH does not come again', 'Session.resend', always('isReceived')],
    ['after PUBREC of the device PUBLISH does not come again after a restart', 'Session.restore', never('isReleased')],
    ['a message has the same packet identifier after a restart', 'createOutbound', valued('1', 'packetId')],
    ['an acknowledged message leaves the store', 'Session.#complete', without('#forget')],
  ],
  'sessions/documents': [
    ['what a former holder says of a session changes nothing', 'isHeldBy', returns('true')],
    ['nothing of a holder that has lost the session is stored', 'addSessionMessage', without('stateFor')],
  ],
  'session-takeover': [
    ['a session is taken over from another node', 'SessionTakeover.taken', without('request', 2)],
    [
      'a session that was opened elsewhere meanwhile is read again',
      'SessionRegistry.#openAgain',
      never('OPEN_ATTEMPTS'),
    ],
    ['a connection that has gone takes its session from nobody', 'SessionRegistry.#openAgain', dropped('isOver')],
  ],
  'session-receipts': [
    ['what a former holder stores late is no receipt', 'putReceipt', never('isFormerHolder')],
    ['receipts of an earlier session are none of this one', 'SessionReceipts.read', never('isFormerHolder')],
    [
      'a part that was stored before a gateway ended is not stored again',
      'CommandGateway.#missingParts',
      always('stored'),
    ],
    ['a session that comes to another node has what the shards received', 'SessionDocuments.load', without('read')],
    [
      'a session knows where receipts are before the message is stored',
      'PlatformDeviceLink.#announce',
      always('length'),
    ],
    ['PUBREL removes receipts', 'releasePacket', without('removeReceiptsOf')],
    [
      'a message that may be stored is looked for before it is taken again',
      'SessionRegistry.#open',
      never('isUncertain'),
    ],
  ],
};

const TENANTS: ByTest = {
  'lmdb/documents': [
    ['documents of a tenant are apart from those of all others', 'LmdbDocuments:keyOf', taken(2, '0')],
  ],
  'redis/documents': [['documents of a tenant are apart from those of all others in Redis', 'fieldOf', taken(1, '0')]],
  'api/inventory': [['every list asks for the rows of its tenant', 'HistoryFilter.conditions', valued('[]')]],
  'api/measurements': [['a measurement by its id is of its tenant', 'measurementRows', valued('0', 'tenant')]],
  'api/request-rules': [['the id of a tenant is no subdomain', 'tenantOfHost', never('login/tenant-id-as-subdomain')]],
  'api/subtenants': [
    ['a tenant with the id of a former parent has none of its tenants', 'isParentOf', dropped('parentNumber')],
  ],
  'e2e/tenants': [['a tenant is changed by those above it', 'isAbove', returns('true')]],
  'e2e/tenants-and-roles': [
    ['a request is of the tenant of its user', 'ApiRequest.tenant', returns('1')],
    ['DELETE by filters deletes in its tenant', 'deletionFilter', taken(2, '1')],
  ],
  'e2e/applications': [
    ['an application is changed by its owner', 'loadOwn', never('ownerNumber')],
    ['an application is seen by tenants that have it or are offered it', 'loadVisible', never('notFound', 2)],
  ],
  'measurement-intake': [['a remembered source of another tenant is none', 'Sources.find', always('tenant')]],
  'api/entities': [['users of another tenant are out of reach', 'requireOwnTenant', returns('undefined')]],
  'mqtt/session': [['sessions are of a tenant', 'SessionRegistry:nameOf', taken(1, '0')]],
  'bayeux/delivery': [['subscribers of a tenant get nothing of another', 'BayeuxRouter.add', taken(1, '1')]],
  authenticator: [
    ['the user name names the tenant before the slash', 'CachingAuthenticator.#byPassword', never('byId')],
    ['an unknown tenant has no users', 'CachingAuthenticator.#byPassword', instead('byId', 'byNumber')],
  ],
};

const RIGHTS: ByTest = {
  'roles-table': [
    ['a route with roles answers 403 without one of them', 'authorise', never('isPrivileged')],
    ['one of the roles of a route is enough', 'ApiRequest.hasRole', instead('some', 'every')],
    ['without credentials every route is refused that is not public', 'requireCredentials', never('challenge')],
  ],
  'api/request-rules': [
    ['wrong credentials are refused', 'refuseOtherSites:identify', always('optional', 1)],
    ['without the role only the owner of the source writes its data', 'requireOwner', never('isOwner')],
    ['without the role a list of data shows what its user may read', 'limitSources', without('ofPart')],
    ['a managed object is read with the role or by its owner', 'requireReadable', returns('')],
    [
      'a managed object is deleted with the role or by its owner',
      'managedObjectRoutes:remove',
      without('requireOwner'),
    ],
    [
      'another owner is named by administrators of the inventory',
      'managedObjectRoutes:createManagedObject',
      dropped('hasRole'),
    ],
    [
      'PUT of another owner is for administrators of the inventory',
      'managedObjectRoutes:put',
      valued('true', 'mayChangeOwner'),
    ],
  ],
  'e2e/tenants-and-roles': [
    ['a managed object is changed with the role or by its owner', 'managedObjectRoutes:put', without('requireOwner')],
    ['an event is deleted with the role or by the owner of its source', 'eventRoutes:remove', without('requireOwner')],
    ['an alarm is created with the role or by the owner of its source', 'alarmRoutes:post', without('requireOwner')],
    ['an alarm is changed with the role or by the owner of its source', 'alarmRoutes:put', without('requireOwner')],
    ['an alarm is read with the role or by the owner of its source', 'alarmRoutes:get', never('isOwner')],
    [
      'a measurement is deleted with the role or by the owner of its source',
      'measurementRoutes:remove',
      without('requireOwner'),
    ],
  ],
  'e2e/events': [
    ['an event is read with the role or by the owner of its source', 'eventRoutes:get', never('isOwner')],
    ['an event is changed with the role or by the owner of its source', 'eventRoutes:put', without('requireOwner')],
  ],
  'e2e/identity': [
    ['an external ID is bound with the role or by the owner', 'identityRoutes:post', without('requireOwner')],
    ['an external ID is read with the role or by the owner', 'identityRoutes:get', never('isOwner')],
    ['an external ID is unbound with the role or by the owner', 'identityRoutes:remove', without('requireOwner')],
  ],
  'api/measurements': [
    ['a measurement is read with the role or by the owner of its source', 'measurementRoutes:get', never('isOwner')],
    ['series are read with the role or by the owner of the source', 'series', never('security/forbidden')],
  ],
  'measurement-intake': [
    [
      'the intake asks for the role or the owner of the source',
      'JsonMeasurementIntake.#checkSource',
      gives('#grantedTypes', 'undefined'),
    ],
  ],
  'api/inventory': [
    ['children are linked with a right to the parent', 'childRoutes:post', without('requireOwner', 1)],
    ['children are linked with a right to each child', 'childRoutes:post', without('requireOwner', 2)],
    ['without the role a list of managed objects shows what its user may read', 'limitObjects', without('ofPart')],
  ],
  'e2e/alarms': [['without the role a list of alarms shows what its user may read', 'alarmFilter', never('access')]],
  authenticator: [
    ['the password has to be right', 'CachingAuthenticator.#checkPassword', gives('verify', 'true')],
    ['a disabled user does not log in', 'isAdmitted', returns('true')],
    ['a user that was changed is checked again', 'CachingAuthenticator.forget', without('userChanged')],
  ],
  'device-application': [
    ['a user without the role of devices does not connect', 'DeviceApplication.mayConnect', never('ROLE_DEVICE')],
    ['a device connects as no device of another owner', 'DeviceApplication.mayConnect', gives('mayOpen', "'lasting'")],
    [
      'a device writes itself, what is below it and what is its own',
      'DeviceObjects.#requireRightOf',
      gives('isAtOrBelow', 'true'),
    ],
  ],
  'stolen-device': [
    [
      'a device connects under no serial of another one',
      'DeviceApplication.mayConnect',
      gives('isSerialOfOther', 'false'),
    ],
    ['roles of a registered device count for its own objects', 'globalRoles', gives('has', 'false', 1)],
  ],
  'actors/inventory': [
    [
      'templates of a collection change only by a command that says so',
      'updateManagedObject',
      never('changesTemplates'),
    ],
    ['an external ID is bound to one object', 'bindExternalId', never('boundTo')],
    ['a registered device binds no serial of another one', 'bindExternalId', without('requireClaim')],
    ['a registered device creates no object under the serial of another one', 'ensureDevice', without('requireClaim')],
  ],
  'bootstrap-link': [['the bootstrap user publishes on s/ucr only', 'BootstrapLink.publish', never('REQUEST_TOPIC')]],
  'mqtt/connect': [['a user who may not connect is refused', 'receiveConnect:connect', never('NOT_AUTHORIZED', 2)]],
  'bayeux/protocol': [
    ['without right credentials there is no handshake', 'BayeuxProtocol.#identify', never('UNAUTHORIZED')],
    ['a session is for its user alone', 'BayeuxSessions.find', always('userKey')],
    [
      'without credentials a session is found by its secret id when its handshake had them',
      'BayeuxSessions.find',
      always('isAuthenticatedByMessage'),
    ],
    ['a channel takes its role', 'BayeuxProtocol.#subscribe', gives('openedBy', '[]')],
    ['the sessions of a changed user end', 'BayeuxSessions.endUser', without('end')],
  ],
  tokens: [
    ['a token ends with its logout', 'Tokens.authenticate', never('revocationKey')],
    ['a token ends with a new password', 'Tokens.authenticate', dropped('tokenGeneration')],
  ],
  'inventory-roles': [
    ['an inventory role counts at its object and below', 'isGranted', returns('true')],
    ['you grant only permissions that you hold', 'requireGrants', returns('')],
  ],
  'users-and-groups': [['you grant only roles that you hold', 'requireRoles', returns('')]],
};

const LIMITS: ByTest = {
  'group-commit': [
    ['nothing more is taken when the journal has reached its bytes', 'GroupCommit.refusal', never('journalBytesMax')],
    ['nothing is taken while the disk is nearly full', 'GroupCommit.refusal', without('refusal')],
    ['a request is refused while the journal takes no writes', 'CommandBus.request', without('#refuseWhenFull')],
  ],
  'measurement-intake': [
    ['a body is refused while the journal takes no writes', 'JsonMeasurementIntake.#post', never('refusedBy')],
  ],
  'device-application': [
    ['a message of a device is refused while the disk is nearly full', 'PlatformDeviceLink.publish', never('#refuse')],
    [
      'the journal at its bound holds devices back without a disconnect',
      'Suspension.holdsBack',
      dropped('journal/bytes'),
    ],
  ],
  shares: [
    ['a user has a share of a pool', 'Shares.refusal', never('ofUser')],
    ['a tenant has a share of a pool', 'Shares.refusal', never('ofTenant')],
  ],
  turns: [
    ['queries of a user run in a share of all turns', 'Turns.#mayRun', returns('true')],
    ['of too many that wait one of the largest is refused', 'Turns.#wait', without('#refuseOne')],
  ],
  'mqtt/qos': [
    ['QoS 2 packet identifiers that are not released have a limit', 'offerQos2', never('receivedIdentifiers')],
    ['what waits while the platform is busy has a limit', 'Connection.#hold', never('heldBytes')],
  ],
  'mqtt/limits': [
    ['the payload has a limit', 'receivePublish', never('payloadBytes')],
    ['messages over the rate are delayed', 'receivePublish', never('take')],
    ['what a client does not read has a limit', 'Connection.#afterWrite', always('writeBytes')],
  ],
  'mqtt/session': [['messages that wait for a device are bounded', 'Session.deliver', without('#boundQueue')]],
  'bayeux/queue': [['what waits for a subscriber is bounded', 'DeliveryQueue.push', never('messageCount', 1)]],
  'bayeux/protocol': [['the sessions of a user are bounded', 'BayeuxSessions.#limitOf', never('sessionsPerUser')]],
  'disk-guard': [['writes are refused below the free bytes', 'DiskGuard.check', valued('undefined', 'refusal')]],
};

const PROMISES = {
  'acknowledged = stored': STORED,
  'exactly once': ONCE,
  'tenants apart': TENANTS,
  rights: RIGHTS,
  'limits that protect all': LIMITS,
};

export const RULES = Object.entries(PROMISES).flatMap(([promise, byTest]) =>
  Object.entries(byTest).flatMap(([test, rules]) =>
    rules.map(([rule, symbol, change]) => ({ promise, test, rule, symbol, change })),
  ),
);
