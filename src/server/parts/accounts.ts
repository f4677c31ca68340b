/** Tenants, users and devices that register: options, certificates, usage, mails. */
import { LogMailer } from '../../accounts/mail/mailer.ts';
import type { MailResult, Mailer } from '../../accounts/mail/mailer.ts';
import { SmtpMailer } from '../../accounts/mail/smtp.ts';
import { TOKEN_POLICY } from '../../accounts/options/options.ts';
import { DeviceRegistration, logTokenPolicies } from '../../accounts/registration/registration.ts';
import { removeApplicationsOf } from '../../accounts/applications/service-users.ts';
import { COLLECTIONS } from '../../store/lmdb/documents.ts';
import type { ServerCore } from '../cores/core.ts';
import { TenantServices } from './tenant-services.ts';
import type { Part } from './part.ts';
import { SERVER_WIDE, TENANT_KEY } from '../../model/commands/keys.ts';

export interface AccountsPart extends Part {
  readonly tenantServices: TenantServices;
  readonly registration: DeviceRegistration;
  readonly mailer: Mailer;
}

export async function accountsPart(core: ServerCore): Promise<AccountsPart> {
  const { config, log, metrics, commands, documents, tenants, authenticator, hashes } = core;
  const tenantServices = await TenantServices.open({
    tenants,
    documents,
    commands,
    changed: authenticator.changed,
    secrets: core.secrets,
    secretKey: config.secretKey,
    collections: COLLECTIONS,
    rows: core.tenantRows,
    removeApplications: (tenant, userName) =>
      removeApplicationsOf(
        { documents, commands, tenants, blobs: core.blobs, now: Date.now, refusals: metrics },
        { userName },
        tenant,
      ),
    tenantRate: config.httpTenantRateMax,
    userRate: config.httpUserRateMax,
    history: core.historyReader,
    insertUsage: (table, texts) => core.insertUsage(table, texts),
    isPaused: () => core.backups?.isEngineStopped === true,
    refusals: metrics,
    isMine: () => core.isMine(SERVER_WIDE, TENANT_KEY),
    log,
    now: Date.now,
  });
  core.events.usage = tenantServices.usage;
  core.events.watched.push((tenant) => tenantServices.watched(tenant));
  tenantServices.registerMetrics(metrics);
  const tokenPolicyDefault = config.deviceTokenPolicy;
  const policies = Array.from(tenants.all, ({ number }) =>
    tenantServices.options.get(number, TOKEN_POLICY.category, TOKEN_POLICY.key),
  );
  logTokenPolicies(tokenPolicyDefault, policies, log);
  const registration = new DeviceRegistration({
    commands,
    documents,
    hashes,
    tenants,
    refusals: metrics,
    tokenPolicyDefault,
    now: Date.now,
  });
  const mailer = mailerOf(core);
  return {
    tenantServices,
    registration,
    mailer,
    recordsChanged: (tenant, changes) => tenantServices.recordsChanged(tenant, changes),
    start: () => tenantServices.start(),
    stop: () => Promise.all([tenantServices.stop(), mailer.stop()]),
  };
}

function mailerOf({ config, log, metrics }: ServerCore): Mailer {
  const mails = metrics.counter(
    'millrace_mails_total',
    'Mails to users by what became of them; logged: no mail server is configured',
    ['result'],
  );
  const count = (result: MailResult): void => {
    mails.inc({ result });
  };
  if (config.smtp === undefined || config.mailFrom === undefined) return new LogMailer(log, count);
  return new SmtpMailer({
    url: config.smtp,
    tls: config.smtpTls,
    from: config.mailFrom,
    count,
    refusals: metrics,
    log,
    now: Date.now,
  });
}
