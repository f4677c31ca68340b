/** A row of the route table, and the parameters of its paths. */
import type { Answer, ANSWERED } from './answer.ts';
import type { ApiRequest } from './request.ts';
import type { RouteRules } from './route-rules.ts';

export interface Route extends RouteRules {
  /** Called when everything was checked. Synchronous or not; throws PlatformError. */
  readonly handle: (request: ApiRequest) => Answer | typeof ANSWERED | Promise<Answer | typeof ANSWERED>;
}

/** The parameters in braces by name: a description, an example. */
export const PATH_PARAMETERS: Readonly<Record<string, readonly [description: string, example: string]>> = {
  jobId: ['Number of the scoring job', '1'],
  executionId: ['Number of the run', '1'],
  bindingId: ['Identifier of the binding of a model', '5001'],
  id: ['Identifier of the entity', '1000'],
  childId: ['Identifier of the child', '1001'],
  tenant: ['Tenant id', 't1'],
  userId: ['User name', 'ada'],
  roleId: ['Name of the role', 'ROLE_ALARM_READ'],
  type: ['Type of the external ID', 'c8y_Serial'],
  externalId: ['External ID, percent-encoded', '4711'],
  category: ['Category', 'configuration'],
  key: ['Key', 'theme'],
  name: ['Name', 'Operators'],
  applicationId: ['Identifier of the application', '1136'],
  fingerprint: ['Fingerprint of the certificate, 40 hexadecimal digits', 'f20b1e9c8f1b9c9b7a1d1d1c5e6f7a8b9c0d1e2f'],
  date: ['Day, YYYY-MM-DD', '2024-05-02'],
  month: ['Month, YYYY-MM, or a day in it', '2024-05'],
  binaryId: ['Identifier of the uploaded archive', '1140'],
  version: ['Version', '1.0.0'],
  contextPath: [
    'Context path of the application, with `@` and a version or tag behind it for another than the active one',
    'hello',
  ],
  file: ['Path of a file in the archive', 'index.html'],
  configurationId: ['Identifier of the remote access configuration', '1143'],
  modelName: ['Name of the model', 'Iris'],
  fileName: ['Name of the resource file', 'codes.csv'],
  groupName: ['Name of the model group', 'quality'],
  pipelineName: ['Name of the pipeline', 'readDigits'],
  rest: ['Path within the microservice', 'health'],
};
