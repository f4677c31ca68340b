/**
 * What the server keeps and runs for its tenants: options in memory, the key of secrets, the deletion of tenants that
 * are gone.
 */
import { BasicRestrictions } from '../../accounts/login/options.ts';
import type { ChangedUsers } from '../../accounts/users/changed-users.ts';
import { CertificateLogins } from '../../accounts/certificates/login.ts';
import { TrustedCertificates } from '../../accounts/certificates/certificates.ts';
import type { StoredCertificate } from '../../accounts/certificates/certificates.ts';
import type { Platform } from '../../api/request/platform.ts';
import type { TextCipher } from '../../accounts/options/cipher.ts';
import { openCipher } from '../../accounts/options/cipher.ts';
import { ALLOW_ORIGIN, TOKEN_POLICY, WatchedOptions } from '../../accounts/options/options.ts';
import { TenantDeletion } from '../../accounts/tenants/deletion.ts';
import type { TenantDeletionOptions } from '../../accounts/tenants/deletion.ts';
import type { Tenant, Tenants } from '../../accounts/tenants/tenants.ts';
import { RequestRates, USER_RATE_OPTION, tenantLimit } from '../../accounts/login/request-rates.ts';
import { Usage } from '../../accounts/tenants/usage.ts';
import type { UsageOptions } from '../../accounts/tenants/usage.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import type { RecordCollection } from '../../model/commands/collections.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { SecretsStore } from '../../ports/secrets.ts';
import type { Metrics } from '../../operate/metrics.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';

export interface TenantServicesOptions {
  readonly tenants: Tenants;
  readonly documents: DocumentReader;
  readonly commands: CommandPort;
  readonly changed: Pick<ChangedUsers, 'generation'>;
  readonly secrets: SecretsStore;
  readonly refusals: Refusals;
  /** Requests a second of a tenant and of a user; 0 for no limit. */
  readonly tenantRate: number;
  readonly userRate: number;
  readonly history: HistoryReader;
  readonly insertUsage: UsageOptions['insert'];
  readonly isPaused: () => boolean;
  readonly secretKey: string | undefined;
  readonly collections: TenantDeletionOptions['collections'];
  readonly rows: TenantDeletionOptions['rows'];
  readonly removeApplications: TenantDeletionOptions['removeApplications'];
  /** Whether the records of the whole server are of this process. */
  readonly isMine: () => boolean;
  readonly log: Log;
  readonly now: () => number;
}

export class TenantServices {
  readonly cipher: TextCipher;
  readonly options: WatchedOptions;
  readonly deletion: TenantDeletion;
  readonly basicRestrictions = new BasicRestrictions();
  readonly certificates = new TrustedCertificates();
  readonly certificateLogins: CertificateLogins;
  readonly rates: RequestRates;
  readonly usage: Usage;
  /** A trusted certificate was disabled or removed: who came by it has to go. */
  onCertificateEnded: ((tenant: number, fingerprint: string) => void) | undefined;

  /** Certificates with these serial numbers were revoked: who came by one has to go. */
  onRevoked: ((tenant: number, serials: ReadonlySet<string>) => void) | undefined;

  readonly #tenants: Tenants;

  private constructor(settings: TenantServicesOptions, cipher: TextCipher) {
    this.cipher = cipher;
    this.#tenants = settings.tenants;
    this.options = new WatchedOptions([ALLOW_ORIGIN, USER_RATE_OPTION, TOKEN_POLICY]);
    const { tenantRate, userRate, history, insertUsage, isPaused } = settings;
    const { documents, commands, collections, rows, removeApplications, tenants, changed, refusals, isMine, log, now } =
      settings;
    this.certificateLogins = new CertificateLogins({
      certificates: this.certificates,
      documents,
      commands,
      tenants,
      changed,
      refusals,
      now,
    });
    this.rates = new RequestRates({ tenants, options: this.options, tenantRate, userRate, refusals, now });
    this.usage = new Usage({
      history,
      insert: insertUsage,
      isPaused,
      tenants: () => tenants.numbers,
      isMine,
      log,
      now,
    });
    this.deletion = new TenantDeletion({
      documents,
      commands,
      collections,
      rows,
      removeApplications,
      isMine,
      log,
      now,
    });
  }

  static async open(settings: TenantServicesOptions): Promise<TenantServices> {
    const services = new TenantServices(settings, await openCipher(settings.secretKey, settings.secrets));
    const { numbers } = settings.tenants;
    await services.options.open(settings.documents, numbers);
    await services.basicRestrictions.open(settings.documents, numbers);
    await services.certificates.open(settings.documents, numbers);
    return services;
  }

  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    this.options.recordsChanged(tenant, changes);
    this.basicRestrictions.recordsChanged(tenant, changes);
    this.certificates.recordsChanged(tenant, changes);
    for (const { collection, id, value } of changes) {
      const isEnded =
        collection === 'certificate' &&
        (value === undefined || (JSON.parse(value) as StoredCertificate).status === 'DISABLED');
      if (isEnded) this.onCertificateEnded?.(tenant, id);
    }
    const revoked = changes
      .filter(({ collection, value }) => collection === 'revocation' && value !== undefined)
      .map(({ id }) => id);
    if (revoked.length > 0) this.onRevoked?.(tenant, new Set(revoked));
    if (tenant === SERVER_WIDE && changes.some(({ collection }) => collection === 'job')) this.deletion.wake();
  }

  /** What is kept in memory, with the ids that may have been deleted: to be read again when changes were missed. */
  watched(tenant: number): readonly (readonly [RecordCollection, readonly string[]])[] {
    return [
      ['option', this.options.names],
      ['certificate', this.certificates.fingerprints(tenant)],
      ['revocation', []],
      ['loginOption', ['BASIC']],
    ];
  }

  /** A tenant is gone, with what was in memory of it. */
  forgetTenant(tenant: number): void {
    this.certificates.forgetTenant(tenant);
    this.basicRestrictions.forgetTenant(tenant);
  }

  /** What the HTTP resources need. */
  get platform(): Required<Pick<Platform, 'cipher' | 'allowedOrigins' | 'usage' | 'rates' | 'basicRestrictions'>> {
    return {
      cipher: this.cipher,
      basicRestrictions: this.basicRestrictions,
      usage: this.usage,
      rates: this.rates,
      allowedOrigins: (tenantNumber) => this.options.get(tenantNumber, ALLOW_ORIGIN.category, ALLOW_ORIGIN.key),
    };
  }

  registerMetrics(metrics: Metrics): void {
    metrics.total(
      'millrace_tenant_documents_removed_total',
      'Documents of deleted tenants that were removed',
      () => this.deletion.removedDocumentsCount,
    );
  }

  /** MQTT messages a second of a connection of the tenant, when its properties say so. */
  streamRate(
    tenantNumber: number,
  ): { readonly messagesPerSecond: number; readonly queueMessages: number | undefined } | undefined {
    const tenant = this.#tenants.byNumber(tenantNumber);
    const messagesPerSecond = tenant === undefined ? undefined : tenantLimit(tenant, 'limit.stream.requests');
    if (tenant === undefined || messagesPerSecond === undefined) return undefined;
    return { messagesPerSecond, queueMessages: tenantLimit(tenant, 'limit.stream.queue') };
  }

  start(): void {
    this.deletion.start();
    this.usage.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.deletion.stop(), this.usage.stop()]);
  }
}

/** What is connected for a tenant that is suspended or deleted. */
export interface TenantConnections {
  readonly mqtt: { disconnectTenant(tenantNumber: number): void };
  readonly bayeux: { endTenant(tenant: number): void };
  readonly tunnels: { endTenant(tenant: number): void };
}

export function endConnections({ mqtt, bayeux, tunnels }: TenantConnections, ended: readonly Tenant[]): void {
  for (const { number } of ended) {
    mqtt.disconnectTenant(number);
    bayeux.endTenant(number);
    tunnels.endTenant(number);
  }
}
