/** What one published message asks for: its records, and what else is to be done once these are taken. */
import { setTimeout as delay } from 'node:timers/promises';
import { NotLoaded } from '../../actors/runtime/state-view.ts';
import type { OfferedRecord } from '../../ingest/journal/command-bus.ts';
import { API_VERSION } from '../../model/api-version.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { SoftwareStep } from '../../model/commands/entities.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import { SOFTWARE_LIMITS } from '../../model/entities/software.ts';
import { INVENTORY_ADMIN, INVENTORY_READ } from '../../model/access/roles.ts';
import { SERIAL_TYPE, serialClaim } from '../../model/access/serial-claim.ts';
import { readRows, type NumberedRow } from '../../smartrest/rows/csv.ts';
import { effectRecord, type EffectTarget } from '../../smartrest/effects/records.ts';
import type { Effect, Reply } from '../../smartrest/effects/effects.ts';
import { encodeRow } from '../../smartrest/rows/csv-encode.ts';
import { shorten, SmartRestError } from '../../smartrest/rows/error.ts';
import {
  CHILD_DEVICE_TYPE,
  childDocument,
  DEVICE_TYPE,
  defaultDeviceName,
  deviceDocument,
} from '../../smartrest/static/inventory-templates.ts';
import { classifyPublish, type PublishTopic } from '../../smartrest/topics.ts';
import { childrenRow, managedObjectIdRow, versionRow } from '../../smartrest/rows/operation-rows.ts';
import {
  documentOf100,
  existingDeviceError,
  interpretRow,
  noOperationError,
  templatesRow,
} from '../../smartrest/static/templates.ts';
import type { DeviceRegistration } from '../../accounts/registration/registration.ts';
import { isDeviceUser } from '../../model/entities/device-request.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { EventSearch } from '../../ports/event-search.ts';
import type { Refusal } from '../sessions/application.ts';
import { isLikeJson } from '../../smartrest/json-topics.ts';
import type { Device, OpeningRight } from './device.ts';
import type { OperationDelivery } from './operation-delivery.ts';
import { isAtOrBelow, MessageRights, rolesOf } from './rights.ts';
import { PathBudget } from '../../smartrest/custom/path-values.ts';
import { planCollection, planCustom } from './custom-messages.ts';
import { hear, planJson, type JsonParts } from './json-messages.ts';
import { MESSAGE_EVENTS_LIMIT, MessageEvents } from './message-events.ts';
import { runTunnel } from './one-rows.ts';
import type { KnownCollection, TemplateCollections } from './template-collections.ts';

/** Replies that a device waits for; its further messages wait until they are sent. */
const REPLIES_MAX = 100;
/** How often, and with which pause, an object is looked for whose external ID is there. */
const LOOKS_MAX = 40;
const LOOK_AGAIN_MS = 50;
const REASON_TOPIC_NAME_INVALID = 0x90;

/** What plans of messages use of the application. */
export interface PlanParts extends JsonParts {
  readonly operations: OperationDelivery;
  readonly templates: TemplateCollections;
  readonly registration: DeviceRegistration | undefined;
  readonly events: EventSearch;
  /** Tokens for HTTP; without it none are given. */
  readonly tokenFor: ((principal: Principal) => Promise<string | undefined>) | undefined;
}

/** Whom the rows of a message concern. */
interface RowsAbout {
  readonly link: Device;
  readonly parts: PlanParts;
  readonly mode: ProcessingMode;
  readonly child: string | undefined;
}

export class MessagePlan {
  readonly records: OfferedRecord[] = [];
  /**
   * A managed object has to be found or created first; then the message is planned again. Where it gives a function the
   * message was carried out: calling that is all that remains.
   */
  needsOpening: (() => Promise<void | (() => void)>) | undefined;
  /** Tells the device of a fault of the message as a whole. */
  tellFault: (error: Error) => void = () => undefined;
  /** The message means nothing: it has no records, and is not acknowledged as taken. */
  refusal: Refusal | undefined;
  /** The collection of a message about the device itself: the next one of its topic may take the hot path. */
  route: { readonly known: KnownCollection; readonly mode: ProcessingMode } | undefined;
  readonly #afterwards: (() => void)[] = [];
  readonly #rights = new MessageRights();
  #eventsMade: MessageEvents | undefined;
  /** Of rows 140 to 142, with the template of the first: one command writes the list once. */
  #software: { readonly messageId: string; readonly steps: SoftwareStep[] } | undefined;

  /** @throws NotLoaded when documents have to be waited for; then the message is planned again. */
  static of(topic: string, payload: Buffer, packetId: number, link: Device, parts: PlanParts): MessagePlan {
    const plan = new MessagePlan();
    const target = classifyPublish(topic);
    if (target.kind === 'static') plan.#planStatic(payload, { link, parts, mode: target.mode, child: target.child });
    else if (target.kind === 'custom' || target.kind === 'default') plan.#planCustom(payload, target, link, parts);
    else if (target.kind === 'templates') plan.#planTemplates(payload, target.xid, link, parts);
    else if (target.kind === 'json') plan.#planJson(target, payload, packetId, link, parts);
    else if (target.kind === 'token') plan.#planToken(link, parts);
    else if (target.kind === 'smartRest1' && parts.hooks.answerRows !== undefined)
      plan.#planRows(payload, target, link, { ...parts, answerRows: parts.hooks.answerRows });
    else plan.#refuse(topic, packetId, link, parts);
    return plan;
  }

  get #events(): MessageEvents {
    return (this.#eventsMade ??= new MessageEvents());
  }

  /** Of a message that is only answered with its fault. */
  static ofFault(tell: () => void): MessagePlan {
    const plan = new MessagePlan();
    plan.#afterwards.push(tell);
    return plan;
  }

  /** Nothing of the message is taken; the device is told. */
  refuse(error: PlatformError): void {
    this.records.length = 0;
    this.#afterwards.length = 0;
    this.refusal = { reasonCode: error.mqttReason, reason: error.message };
    this.#afterwards.push(() => this.tellFault(error));
  }

  /**
   * Errors, replies: whatever is done when the records have been taken (once, however often the message is offered).
   */
  finish(): void {
    for (const action of this.#afterwards) action();
  }

  /** `s/uat`: a token for the device's requests over HTTP, as row 71 on `s/dat` (docs/spec/mqtt.md#tokens). */
  #planToken(link: Device, parts: PlanParts): void {
    if (link.replies.due >= REPLIES_MAX) {
      this.needsOpening = () => link.replies.sent();
      return;
    }
    const { principal } = link.connection;
    this.#afterwards.push(() =>
      link.replies.inOrder(async () => {
        // A person may have to show a one-time code, which MQTT cannot ask for.
        const token = isDeviceUser(principal.userName) ? await parts.tokenFor?.(principal) : undefined;
        if (token === undefined)
          link.replies.sendError(new SmartRestError(41, '', 'Tokens are given to users of devices only'), '');
        else link.replies.sendRow('s/dat', `71,${token}`);
      }),
    );
  }

  /** `s/ul/<xid>`: carried out as a body of `POST /s` (docs/spec/smartrest-one.md#mqtt). */
  #planRows(
    payload: Buffer,
    target: { readonly xid: string; readonly mode: ProcessingMode },
    link: Device,
    parts: Parameters<typeof runTunnel>[3],
  ): void {
    // Rows may ask for what messages before them have made.
    if (this.#waitsForAnswers(link)) return;
    this.needsOpening = () => runTunnel(payload, target, link, parts);
  }

  #planStatic(payload: Buffer, about: RowsAbout): void {
    const { link, parts, child } = about;
    const rows = this.#readRows(payload, link);
    const target = this.#targetOf(about, rows[0]?.fields);
    if (target === undefined) return;
    const context = { serial: child ?? link.serial, isChild: child !== undefined, now: target.receivedAt };
    for (const { fields } of rows) {
      try {
        for (const effect of interpretRow(fields, context)) this.#planEffect(effect, fields[0], target, link, parts);
      } catch (error) {
        if (!(error instanceof SmartRestError || error instanceof PlatformError)) throw error;
        this.#afterwards.push(() => {
          if (error instanceof PlatformError) countLimit(error, link, parts);
          link.replies.sendError(error, fields[0]);
        });
      }
    }
    if (this.#software !== undefined) this.#planSoftware(this.#software, target, link, parts);
    if (link.right === 'limited' && this.records.length > 0) hear(target.source, link, parts);
  }

  #planSoftware(
    { messageId, steps }: { readonly messageId: string; readonly steps: readonly SoftwareStep[] },
    target: EffectTarget,
    link: Device,
    parts: PlanParts,
  ): void {
    const list = parts.objects.softwareListOf(link.tenantNumber, target.source);
    if (list === undefined) {
      this.needsOpening = () => parts.objects.ensureSoftwareList(link.tenantNumber, target.source);
      return;
    }
    const onAnswer = {
      resolve: () => undefined,
      reject: (error: Error) => {
        if (error instanceof PlatformError) countLimit(error, link, parts);
        link.replies.sendError(error, messageId);
      },
    };
    this.records.push(effectRecord({ kind: 'software', steps }, target, parts.ids, onAnswer, list));
  }

  /** What a row looks for may come of a message whose answer is still to come: then this one is planned again. */
  #waitsForAnswers(link: Device): boolean {
    if (!link.acknowledgements.hasAnswersDue) return false;
    this.needsOpening = () =>
      new Promise((resolve) => {
        link.acknowledgements.afterAnswers(resolve);
      });
    return true;
  }

  #readRows(payload: Buffer, link: Device): NumberedRow[] {
    const rows = readRows(payload, (error) => {
      this.#afterwards.push(() => link.replies.sendError(error, ''));
    });
    this.tellFault = (error) => link.replies.sendError(error, rows[0]?.fields[0] ?? '');
    return rows;
  }

  /**
   * The object that rows are about. @param first of static rows: a 100 says how an unknown one is made.
   * @returns undefined when the message waits for something, or is refused.
   */
  #targetOf({ link, parts, child, mode }: RowsAbout, first?: readonly string[]): EffectTarget | undefined {
    const now = parts.now();
    // A device that asks faster than its answers can be looked up waits for them.
    if (link.replies.due >= REPLIES_MAX) {
      this.needsOpening = () => link.replies.sent();
      return undefined;
    }
    if (link.source === 0) {
      this.needsOpening = openDevice(link, parts, child === undefined ? first : undefined);
      return undefined;
    }
    let source = link.source;
    if (child !== undefined && child !== link.serial) {
      const known = parts.objects.sourceOf(link.tenantNumber, child);
      try {
        if (known === undefined) parts.objects.requireRoleOfRow(link, source, INVENTORY_ADMIN, this.#rights);
        // Where the connection is limited, each row is asked about.
        else if (link.right !== 'limited') parts.objects.requireGlobalRight(link, known, INVENTORY_ADMIN, this.#rights);
      } catch (error) {
        if (error instanceof NotLoaded) throw error;
        this.#afterwards.push(() => this.tellFault(error as PlatformError));
        return undefined;
      }
      if (known === undefined) {
        this.needsOpening = openChild(link, parts, child, first);
        return undefined;
      }
      source = known;
    }
    if (source !== link.source && link.right !== 'limited') parts.hooks.onHeard?.(link.tenantNumber, source, now);
    return {
      tenantNumber: link.tenantNumber,
      source,
      userName: link.connection.principal.userName,
      mode,
      receivedAt: now,
      ...serialClaim(link.connection.principal),
    };
  }

  /** Rows of a custom collection, or of the default one of the client ID (docs/spec/smartrest.md#custom-rows). */
  #planCustom(
    payload: Buffer,
    { kind, mode, child, ...named }: PublishTopic & { kind: 'custom' | 'default' },
    link: Device,
    parts: PlanParts,
  ): void {
    const rows = this.#readRows(payload, link);
    const xid = 'xid' in named ? named.xid : link.defaultXId;
    const known = this.#collectionOf(xid, rows, link, parts);
    if (known === undefined) return;
    // An object that is named may be one of a message whose answer is still to come.
    const findsObject = rows.some(({ fields: [id] }) => known.collection.requests.get(id)?.findsObject === true);
    if (findsObject && this.#waitsForAnswers(link)) return;
    const target = this.#targetOf({ link, parts, mode, child });
    if (target === undefined) return;
    const topic = kind === 'default' ? 's/dd' : `s/dc/${xid}`;
    const planned = planCustom(
      { target, known, topic, rights: this.#rights, budget: new PathBudget() },
      rows,
      link,
      parts,
    );
    if (planned.needed.size > 0) {
      this.needsOpening = () => parts.objects.makeFirst(link, [...planned.needed], target);
      return;
    }
    this.records.push(...planned.records);
    if (link.right === 'limited' && this.records.length > 0) hear(target.source, link, parts);
    this.#afterwards.push(...planned.afterwards);
    if (child === undefined) this.route = { known, mode };
  }

  /** @returns undefined when the message waits for the collection, or is refused. */
  #collectionOf(
    xid: string,
    rows: readonly NumberedRow[],
    link: Device,
    parts: PlanParts,
  ): KnownCollection | undefined {
    const messageId = rows[0]?.fields[0] ?? '';
    const refuse = (error: Error): undefined => {
      this.#afterwards.push(() => link.replies.sendError(new SmartRestError(41, messageId, error.message), messageId));
    };
    if (xid === '') return refuse(new Error('The client ID names no default template collection'));
    const unknown = new PlatformError('smartrest/unknown-collection', { xid: shorten(xid) });
    try {
      const found = parts.templates.find(link.tenantNumber, xid);
      if (typeof found === 'object') return found;
      if (found === 'unknown') return refuse(unknown);
    } catch (error) {
      if (error instanceof PlatformError) return refuse(error);
      throw error;
    }
    this.tellFault = (error) => link.replies.sendError(new SmartRestError(41, messageId, error.message), messageId);
    this.needsOpening = () => parts.templates.whenThere(link.tenantNumber, xid, unknown);
    return undefined;
  }

  /** `s/ut/<xid>`: a new collection, or with an empty payload the question for one, answered on `s/dt`. */
  #planTemplates(payload: Buffer, xid: string, link: Device, parts: PlanParts): void {
    // Collections are counted when those that were sent before are there.
    if (this.#waitsForAnswers(link)) return;
    let fault: SmartRestError | undefined;
    const rows = readRows(payload, (error) => {
      fault ??= error;
    });
    this.tellFault = (error) => link.replies.refuseTemplates(xid, error.message);
    if (fault !== undefined) {
      const { message } = fault;
      this.#afterwards.push(() => link.replies.refuseTemplates(xid, message));
      return;
    }
    if (rows.length > 0) {
      const onCreated = (): void => parts.operations.collectionCreated(link);
      const fields = rows.map((row) => row.fields);
      const planned = planCollection(xid, fields, link, parts, onCreated);
      this.records.push(...planned.records);
      this.#afterwards.push(...planned.afterwards);
      return;
    }
    let id: string | undefined;
    try {
      const found = parts.templates.find(link.tenantNumber, xid);
      if (found !== 'unknown') id = parts.templates.idOf(link.tenantNumber, xid);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      fault = new SmartRestError(41, '', error.message);
    }
    this.#afterwards.push(() => {
      if (id === undefined) link.replies.refuseTemplates(xid, fault?.message);
      else link.replies.sendRow('s/dt', encodeRow([20, xid, id]));
    });
  }

  /**
   * A message on a topic that means nothing (docs/spec/mqtt.md#acknowledgement): MQTT 5 has the reason with the
   * acknowledgement, and every version a row on `s/e`, or on `error` where the topic is like one of JSON.
   */
  #refuse(topic: string, packetId: number, link: Device, parts: PlanParts): void {
    const error = new PlatformError('mqtt/unknown-topic', { topic });
    parts.refusals.count('mqtt/unknown-topic', link.replies.refused(error.message));
    this.refusal = { reasonCode: REASON_TOPIC_NAME_INVALID, reason: error.message };
    this.#afterwards.push(() => {
      if (isLikeJson(topic)) link.replies.sendJsonError(error, packetId);
      else link.replies.sendError(new SmartRestError(41, '', error.message), '');
    });
  }

  #planEffect(sent: Effect, messageId: string, target: EffectTarget, link: Device, parts: PlanParts): void {
    let effect = sent;
    let existing: number | undefined;
    if (link.right === 'limited')
      for (const roles of rolesOf(effect)) parts.objects.requireRoleOfRow(link, target.source, roles, this.#rights);
    switch (effect.kind) {
      case 'heartbeat':
        return;
      case 'ensureDevice':
        this.#afterwards.push(() => {
          if (link.createdBy100) link.createdBy100 = false;
          else link.replies.sendError(existingDeviceError('100'), '100');
        });
        return;
      case 'reply': {
        const { what } = effect;
        if (target.source !== link.source)
          parts.objects.requireRoleOfRow(link, target.source, INVENTORY_READ, this.#rights);
        this.#afterwards.push(() =>
          link.acknowledgements.afterAnswers(() => link.replies.inOrder(() => reply(what, target.source, link, parts))),
        );
        return;
      }
      case 'service':
        existing = parts.objects.sourceOf(link.tenantNumber, effect.externalId);
        if (existing === undefined) break;
        try {
          parts.objects.requireGlobalRight(link, existing, INVENTORY_ADMIN, this.#rights);
        } catch (error) {
          if (error instanceof NotLoaded) throw error;
          this.#afterwards.push(() => link.replies.sendError(error as PlatformError, messageId));
          return;
        }
        break;
      case 'event': {
        const id = String(parts.ids.nextBeside(target.tenantNumber, target.source));
        this.#events.add(id, effect);
        effect = { ...effect, id };
        break;
      }
      case 'software':
        this.#software ??= { messageId, steps: [] };
        this.#software.steps.push(...effect.steps);
        return;
      case 'eventOfType': {
        // Events of messages before this one are to be there.
        if (this.#waitsForAnswers(link)) return;
        const event = this.#events.newest({ source: target.source, type: effect.type }, link, parts);
        if (event === undefined) throw new PlatformError('event/not-found', { id: `of type ${effect.type}` });
        existing = Number(event.id);
        break;
      }
      default:
        break;
    }
    if (effect.kind === 'operation' && effect.id !== undefined) {
      const fault = this.#faultOfOperation(effect.id, messageId, target, parts);
      if (fault !== undefined) {
        this.#afterwards.push(() => link.replies.sendError(fault, messageId));
        return;
      }
    }
    this.records.push(
      effectRecord(
        effect,
        target,
        parts.ids,
        {
          resolve: (answer) => {
            if (effect.kind === 'ensureChild' && (answer as { created: boolean } | undefined)?.created === false)
              link.replies.sendError(existingDeviceError('101'), '101');
          },
          reject: (error) => {
            link.replies.sendError(faultOf(error, messageId), messageId);
          },
        },
        existing,
      ),
    );
  }

  /** Of 504 to 506, which name an operation by id: it has to be one of the object or of something below it. */
  #faultOfOperation(id: string, messageId: string, target: EffectTarget, parts: PlanParts): Error | undefined {
    const text = parts.objects.known.get('operation', target.tenantNumber, id);
    if (text === undefined) return noOperationError(messageId);
    const device = Number(stringMember(splitMembers(text), 'deviceId'));
    if (device === target.source) return undefined;
    try {
      const isBelow = this.#rights.answer(`below ${target.source} ${device}`, () =>
        isAtOrBelow(parts.objects.known, target.tenantNumber, device, target.source),
      );
      return isBelow ? undefined : noOperationError(messageId);
    } catch (error) {
      if (error instanceof PlatformError) return error;
      throw error;
    }
  }

  #planJson(
    target: Parameters<typeof planJson>[0],
    payload: Buffer,
    packetId: number,
    link: Device,
    parts: PlanParts,
  ): void {
    this.tellFault = (error) => {
      if (error instanceof PlatformError) link.replies.sendJsonError(error, packetId);
    };
    if (link.source === 0) {
      this.needsOpening = openDevice(link, parts, undefined);
      return;
    }
    // An object that is named may be one of a message whose answer is still to come.
    if ((target.id !== undefined || payload.includes('externalSource')) && this.#waitsForAnswers(link)) return;
    let isPlanned = false;
    const onError = (error: PlatformError): void => {
      if (isPlanned) link.replies.sendJsonError(error, packetId);
      else this.#afterwards.push(() => link.replies.sendJsonError(error, packetId));
    };
    try {
      this.records.push(...planJson(target, payload.toString('utf8'), link, parts, onError));
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      onError(error);
    }
    isPlanned = true;
  }
}

/** What the actor refuses of an operation in the words of rows. */
function faultOf(error: Error, messageId: string): Error {
  if (!(error instanceof PlatformError)) return error;
  if (error.code === 'devicecontrol/no-operation') return noOperationError(messageId);
  return error.code === 'validation/invalid-field' ? new SmartRestError(45, messageId, error.message) : error;
}

/** Limits of single rows, which have the codes of their errors. */
const ROW_LIMITS: ReadonlySet<string> = new Set([MESSAGE_EVENTS_LIMIT, ...SOFTWARE_LIMITS]);

function countLimit({ code, message }: PlatformError, link: Device, { refusals }: PlanParts): void {
  if (ROW_LIMITS.has(code)) refusals.count(code, link.replies.refused(message));
}

/**
 * The first message of an unknown device creates it, with the name and type of a 100 if that is what it is
 * (docs/spec/mqtt.md#new-devices).
 */
function openDevice(link: Device, parts: PlanParts, row: readonly string[] | undefined): () => Promise<void> {
  return async () => {
    const sent = documentOf100(row, link.serial, false);
    const doc = sent ?? deviceDocument(defaultDeviceName(link.serial), DEVICE_TYPE);
    const { tenantNumber, connection } = link;
    const { userName } = connection.principal;
    // Who was registered for a group brings its object there.
    const group = await parts.registration?.groupToJoin(tenantNumber, userName);
    const parent = group === undefined ? {} : { parent: { id: group, kind: 'childAssets' as const } };
    const ensured = await parts.objects
      .ensure(link, { type: SERIAL_TYPE, externalId: link.serial, doc, ...parent })
      .catch(orReserved);
    if (ensured === undefined) return link.refuseSource();
    const { id, created } = ensured;
    if (created && group !== undefined) await parts.registration?.joined(tenantNumber, userName);
    const right = created ? 'lasting' : await rightOverExisting(Number(id), link, parts);
    if (right === 'none') return link.refuseSource();
    link.createdBy100 = created && sent !== undefined;
    link.opened(Number(id), right);
  };
}

/** @returns undefined when the serial was announced for another device, or given to it, since the client connected. */
function orReserved(error: Error): undefined {
  if (!(error instanceof PlatformError) || error.code !== 'identity/reserved') throw error;
}

/**
 * Of the object that the serial turned out to be bound to. In a cluster the binding may be seen before the object, for
 * as long as an election of NATS takes. No fault of the device: its message waits, and is not acknowledged.
 */
async function rightOverExisting(source: number, link: Device, parts: PlanParts): Promise<OpeningRight> {
  for (let tries = 1; ; tries += 1) {
    const right = await parts.objects.known.decide(() => parts.objects.mayOpen(link.connection.principal, source));
    if (right !== undefined) return right;
    if (tries >= LOOKS_MAX) throw refusedBy('identity/object-not-there');
    await delay(LOOK_AGAIN_MS);
  }
}

/** The first message for an unknown child creates it below the connected device, as `openDevice` does. */
function openChild(
  link: Device,
  parts: PlanParts,
  child: string,
  row: readonly string[] | undefined,
): () => Promise<void> {
  return async () => {
    const sent = documentOf100(row, child, true);
    const doc = sent ?? childDocument(defaultDeviceName(child), CHILD_DEVICE_TYPE);
    const parent = { id: String(link.source), kind: 'childDevices' } as const;
    const { created } = await parts.objects.ensure(link, { type: SERIAL_TYPE, externalId: child, doc, parent });
    link.createdBy100 = created && sent !== undefined;
  };
}

async function reply(what: Reply['what'], source: number, link: Device, parts: PlanParts): Promise<void> {
  switch (what) {
    case 'managedObjectId':
      link.replies.sendRow('s/ds', managedObjectIdRow(String(source)));
      break;
    case 'children':
      link.replies.sendRow('s/ds', childrenRow(await parts.objects.childSerials(link.tenantNumber, String(source))));
      break;
    case 'version':
      link.replies.sendRow('s/ds', versionRow(API_VERSION));
      break;
    case 'templates':
      link.replies.sendRow('s/ds', templatesRow());
      break;
    case 'pendingOperations':
      await parts.operations.deliverPending(link, { again: true });
      break;
  }
}
